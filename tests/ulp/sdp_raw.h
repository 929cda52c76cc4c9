/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A peer of SDP of which each message is written by hand, on plain rdma_cm and verbs: it breaks rules, or keeps an order. */
#ifndef TESTS_ULP_SDP_RAW_H
#define TESTS_ULP_SDP_RAW_H

#include "sdp_ends.h"

#include "ulp/sdp/msg.h"

#include <rdma/rdma_verbs.h>

#define RAW_RECEIVES 32
#define RAW_SIZE 1024
#define RAW_SENDS 64            /* messages of one peer at most: each has memory of its own */
#define RAW_SEND_SIZE 64

struct raw {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t memory[RAW_SIZE * RAW_RECEIVES + RAW_SENDS * RAW_SEND_SIZE];
	uint32_t seq;
	uint8_t adverts;        /* MaxAdverts of its Hello */
};

extern struct raw raw;

/* Connects with this Hello, or with a good one, which is put to data, if that begins with zeros. Returns as rdma_connect(). */
int raw_connect(struct ends *e, uint8_t *data, size_t len);
/* The same with a good Hello; the connection must stand. */
void raw_dial(struct ends *e);
/* Listens at a free port of the loopback address. */
struct rdma_cm_id *raw_listen(void);
/* Closes the connection, then takes over the one that comes to the listener, which goes. */
void raw_move(struct rdma_cm_id *listener);
void raw_close(void);

/* Sends a message; the number, the credits and the payload of it are filled in where they are 0. `add` octets too many follow. */
void raw_send(struct sdp_msg m, size_t add);
/* Waits until the peer's adapter has all that has been sent. */
void raw_arrived(void);

/* The next message, or the next one of this kind; the receive is posted again. */
struct sdp_msg raw_next(void);
struct sdp_msg raw_await(uint8_t mid);
/* The peer answers ChRcvBuf, and has sent nothing but updates of credits before. */
void raw_expect_nothing(void);
void raw_await_end(void);

#endif
