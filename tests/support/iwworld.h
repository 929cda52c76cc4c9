/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two adapters that run iWARP on pipes, without a connection manager: streams are handed to the
 * QPs as MPA would do it. A third place is for raw peers, whose FPDUs a test writes byte by byte.
 * Virtual time.
 */
#ifndef TESTS_SUPPORT_IWWORLD_H
#define TESTS_SUPPORT_IWWORLD_H

#include "engine/cq.h"
#include "engine/dev.h"
#include "engine/event.h"
#include "engine/mkey.h"
#include "engine/qp.h"
#include "proto/iwarp/iwp.h"
#include "proto/iwarp/qp.h"
#include "support/pipes.h"

#define IW_RAW 2
#define IW_SGE 8

struct iw_world;

struct iw_host {
	struct iw_world *w;
	struct eng_dev dev;
	struct eng_ctx *ctx;
	struct eng_pd *pd;
	struct pipe_place *place;
};

struct iw_world {
	struct pipes net;
	struct iw_host h[2];
	uint64_t now;
};

struct iw_options {
	bool no_crc, markers_a, markers_b; /* a sends with markers, b does */
	bool local; /* the stream has left the wire, where markers let it; SIM_LOCAL in the environment: all */
	uint16_t ird, ord;                 /* 8 */
	bool zero_depth;                   /* really 0 */
	enum proto_rtr rtr;
	bool awaits_first;
	bool initiator_b;                  /* else a is the initiator */
	uint32_t depth, cqe, inline_data;  /* 64, 4 * depth, 64 */
	struct eng_srq *srq_b;
	unsigned access;                   /* of the QPs; 0 = all */
};

struct iw_end {
	struct iw_host *h;
	struct eng_cq *scq, *rcq;
	struct eng_qp *qp;
	struct link_stream *s; /* gone when `ended` */
	int ready, ended, error; /* what the owner was told */
	uint8_t *mem;
	size_t mem_len;
	struct eng_mkey *mr;
};

/* mulpdu 0: as the pipes' segments allow. */
struct iw_world *iw_open(uint64_t seed, uint32_t mulpdu);
void iw_close(struct iw_world *w); /* demands that nothing is left */
/* Until nothing more happens at this time; iw_pass: then ns of time go by. */
void iw_run(struct iw_world *w);
void iw_pass(struct iw_world *w, uint64_t ns);

/* An end in INIT with memory of its own (all rights). */
void iw_end_create(struct iw_end *e, struct iw_host *h, const struct iw_options *o,
		   struct eng_srq *srq, size_t memory);
void iw_end_attach(struct iw_end *e, struct link_stream *s, const struct iw_options *o, bool is_a);
void iw_end_close(struct iw_end *e);
/* The QP only; the rest goes with iw_end_close(). */
void iw_end_destroy_qp(struct iw_end *e);
/* Ends a on host 0 and b on host 1, in RTS. */
void iw_pair(struct iw_world *w, struct iw_end *a, struct iw_end *b, const struct iw_options *o,
	     size_t memory);
/* End a on host 0 against a raw peer. */
struct pipe_stream *iw_solo(struct iw_world *w, struct iw_end *a, const struct iw_options *o,
			    size_t memory);

struct iw_op {
	enum ibv_wr_opcode code;
	uint64_t id;
	size_t at;    /* in the end's memory */
	uint32_t len;
	uint32_t lkey; /* 0 = of the end's memory */
	int pieces;   /* the bytes as so many entries; 0 = one */
	uint64_t remote;
	uint32_t rkey, imm;
	unsigned flags;
	bool quiet;   /* not signaled */
	uint64_t add, swap;
};

int iw_post(struct iw_end *e, const struct iw_op *o);
int iw_recv(struct iw_end *e, uint64_t id, size_t at, uint32_t len);
/* Address of a byte of the end's memory, as peers name it. */
static inline uint64_t iw_at(const struct iw_end *e, size_t off)
{
	return (uintptr_t)e->mem + off;
}
/* Runs, then takes the next completion, which must be there and have this id and status. */
struct ibv_wc iw_wc(struct iw_end *e, struct eng_cq *cq, uint64_t id, enum ibv_wc_status status);
void iw_no_wc(struct iw_end *e, struct eng_cq *cq);
/* The next asynchronous event of the host must be this; -1: there is none. */
void iw_event(struct iw_host *h, int type);
int iw_state(struct iw_end *e);
/* The owner was told of the end, once, with this errno. */
void iw_ended(struct iw_end *e, int error);

/* --- raw peers; no markers --- */

/* The ULPDU in hex (spaces allowed) becomes an FPDU with length, pad and CRC. */
void iw_put(struct pipe_stream *s, const char *hex);
void iw_put_bytes(struct pipe_stream *s, const uint8_t *ulpdu, size_t n);
/* Bytes as they are. */
void iw_put_hex(struct pipe_stream *s, const char *hex);
/* Takes the bytes that have arrived, which must be exactly these. "": none has. */
void iw_got_hex(struct pipe_stream *s, const char *hex);
/* Takes the one FPDU that has arrived, which must have this ULPDU. */
void iw_got(struct pipe_stream *s, const char *hex);
size_t iw_hex(const char *text, uint8_t *out, size_t max);

#endif
