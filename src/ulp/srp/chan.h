/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An RDMA channel of SRP, as both roles have it: one RC queue pair, receives and messages to be sent in one region of memory,
 * and the state of the connection. A channel belongs to one thread.
 */
#ifndef ULP_SRP_CHAN_H
#define ULP_SRP_CHAN_H

#include "ulp/conn.h"
#include "ulp/srp/iu.h"

#include <poll.h>

#define SRP_CHAN_FDS 2

/* Kinds of work requests are numbers below 2^16 of the role. SRP_WORK_RECEIVE is the channel's. */
enum { SRP_WORK_RECEIVE };

struct srp_chan_sizes {
	uint32_t nr_recv, recv_size;
	uint32_t nr_send, send_size;
	uint32_t sq_depth;
};

struct srp_chan {
	struct ulp_conn rdma;
	struct srp_chan_sizes sizes;
	uint32_t room;                  /* work requests that the send queue takes now */
	bool established, disconnected;
};

/* Makes queues, memory and the queue pair of a channel with an identifier, and posts all receives. */
int srp_chan_make(struct srp_chan *ch, const struct srp_chan_sizes *sizes);
/* Disconnects, and destroys the queue pair; regions of the role may go then, and srp_chan_free() frees the rest. */
void srp_chan_end(struct srp_chan *ch);
void srp_chan_free(struct srp_chan *ch);

uint8_t *srp_chan_recv_at(const struct srp_chan *ch, uint32_t i);
uint8_t *srp_chan_send_at(const struct srp_chan *ch, uint32_t i);
int srp_chan_post_recv(struct srp_chan *ch, uint32_t i);
/* Sends the len octets of message i; its completion has this kind. */
int srp_chan_send(struct srp_chan *ch, uint32_t i, size_t len, uint32_t kind);
/* Posts an RDMA operation; its completion has this kind and index. */
int srp_chan_rdma(struct srp_chan *ch, enum ibv_wr_opcode opcode, const struct srp_memory *remote, uint8_t *local, uint32_t lkey,
		  uint32_t kind, uint32_t index);

struct srp_done {
	uint32_t kind, index, len;
};

typedef int srp_done_fn(struct srp_chan *ch, const struct srp_done *d);
/* Takes completions and events. Returns 0, or a negative errno when the channel has ended. */
int srp_chan_progress(struct srp_chan *ch, srp_done_fn *done);
void srp_chan_fds(const struct srp_chan *ch, struct pollfd fds[SRP_CHAN_FDS]);
/* Ends the channel because of a rule that the peer broke. */
int srp_chan_end_rule(struct srp_chan *ch, enum srp_verdict v);

/* Access of memory into which RDMA Reads are made: those of iWARP want a key that the peer may write by. */
int srp_chan_read_access(const struct srp_chan *ch);

#endif
