/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two programs of a test of RPC over RDMA: a server of NFSv3's READ and WRITE and of echoes, and the calls of its client, with
 * a connection for each thread. What a reply has to be is known by its xid.
 */
#ifndef TESTS_ULP_RPCRDMA_ENDS_H
#define TESTS_ULP_RPCRDMA_ENDS_H

#include "listens.h"

#include "ulp/rpcrdma/conn.h"

#define RPR_ENDS_MS 60000
#define ECHO_PROGRAM 200000
#define ECHO_TOO_LONG 9        /* the procedure whose reply has as many octets as the call says */
#define CALL_ARGS 40           /* the header of a call without credentials */
#define REPLY_RESULTS 24
#define BACK_PROGRAM 0x40000000
#define BACK_XID 500           /* of the first call of the backward direction */
#define BACK_LEN 200           /* octets of such a call, and of its reply */

/* What a reply has to be. */
struct rpr_expected {
	uint32_t len;
	uint32_t opaque, bytes;        /* where its data is, and how long */
	bool failure;
};

/* The connection of a thread. */
struct side {
	struct rpr_conn *c;
	unsigned calls, replies, back_calls, back_replies, most_out;
	struct rpr_buf *held[64];      /* calls that are not answered yet */
	unsigned nr_held, hold;
	struct rpr_expected expected[256];
	bool may_fail;                 /* a buffer may be missing, a call may fail: the connection ends then */
	bool failed;
};

extern _Thread_local struct side side;

/* --- messages --- */

/* The data of every call and reply. In each process once, before all threads. */
void rpr_ends_fill(void);
uint32_t rpr_ends_word(const uint8_t *data, size_t len, size_t at);
size_t rpr_ends_put_call(uint8_t *p, uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure);
size_t rpr_ends_put_reply(uint8_t *p, uint32_t xid);
size_t rpr_ends_put_opaque(uint8_t *p, uint32_t len);
/* The message ends with the opaque at `at`. */
void rpr_ends_see_opaque(const uint8_t *data, size_t len, size_t at, uint32_t opaque);

/* Write a call whose xid is below 256, and what is expected of its reply. */
size_t rpr_ends_write(uint8_t *p, uint32_t xid, uint32_t len);
size_t rpr_ends_read(uint8_t *p, uint32_t xid, uint32_t len);
size_t rpr_ends_echo(uint8_t *p, uint32_t xid, uint32_t len);

/* The server's answer to a call; returns its length. */
size_t rpr_ends_answer(uint8_t *p, const uint8_t *call, size_t len);
/* A call of the backward direction, and the answer to one. */
size_t rpr_ends_back_call(uint8_t *p, uint32_t xid);
size_t rpr_ends_back_answer(uint8_t *p, const uint8_t *call, size_t len);
/* The reply is what its call expects. */
void rpr_ends_see_reply(const uint8_t *data, size_t len);

/* --- connections --- */

extern const struct rpr_ops rpr_ends_server, rpr_ends_client;

/* Waits and does what is due. Returns whether the connection lives. */
bool rpr_ends_step(void);
/* Sends what `put` writes. Returns false if the connection has ended. */
bool rpr_ends_call(size_t (*put)(uint8_t *p, uint32_t xid, uint32_t len), uint32_t xid, uint32_t len);
/* Returns false if the connection has ended before. */
bool rpr_ends_await(unsigned replies);
/* Gives back what is held, and closes. */
void rpr_ends_close(void);

#endif
