/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An interface's UD queue pair, by verbs alone: buffers in two rings, one completion queue. A frame is built in the buffer
 * of the next send (ud_frame()) and then sent, or sent from elsewhere by a copy.
 */
#ifndef IPOIB_UD_H
#define IPOIB_UD_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/list.h"

#define UD_SENDS 256u
#define UD_RECEIVES 512u
#define UD_FRAME_MAX 4096u    /* of the greatest MTU */

struct ud_address {
	struct ibv_ah *ah;
	uint32_t qpn;
};

struct ud {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t qkey;
	uint64_t posted, done;     /* sends */
	bool is_up;
	struct ut_list retired;    /* address handles of sends that may be under way */
};

/* A frame that has come: behind its GRH. */
typedef void ud_take(void *ctx, const uint8_t *frame, size_t len, const struct ibv_wc *wc);

/* Makes the objects on an opened adapter. Returns 0 or a negative errno. */
int ud_open(struct ud *u, struct ibv_context *verbs);
void ud_close(struct ud *u);
/* Makes it ready to send and receive, from whatever state; what was under way is lost. Returns 0 or a negative errno. */
int ud_start(struct ud *u, unsigned pkey_index, uint32_t qkey);

/* The buffer of the next send, UD_FRAME_MAX bytes; NULL: all are under way. */
uint8_t *ud_frame(struct ud *u);
/* Sends the frame in that buffer, or a copy of another one. It is lost if there is no room. */
void ud_send(struct ud *u, const uint8_t *frame, size_t len, const struct ud_address *to);
/* Destroys an address handle when the sends that may use it have ended. */
void ud_retire(struct ud *u, struct ibv_ah *ah);

/* Takes completions; at most max frames. Returns how many completions there were. */
unsigned ud_poll(struct ud *u, unsigned max, ud_take *take, void *ctx);
/* Asks for an event, and takes the events that have come. */
void ud_arm(struct ud *u);

#endif
