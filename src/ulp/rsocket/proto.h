/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What rsockets say to each other: the private data of a connection, the 32-bit messages that
 * accompany the data, and the headers of datagrams. Pure: bytes in, verdicts out; whatever a
 * peer sent is checked here, once.
 */
#ifndef ULP_RSOCKET_PROTO_H
#define ULP_RSOCKET_PROTO_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSP_VERSION     1
#define RSP_CONN_LEN    40
#define RSP_FLAG_BIG    1 /* a big-endian host: it writes descriptors in its own order */
#define RSP_FLAG_IOMAP  2
#define RSP_SGL_ENTRIES 2
#define RSP_SGE_LEN     16
#define RSP_IOMAP_LEN   24
#define RSP_MSG_LEN     4

/* Operations in bits 31..29 of a message. */
enum rsp_op {
	RSP_DATA = 0,  /* value: bytes */
	RSP_SGL = 4,   /* value: the credits' end; perhaps a descriptor was written before it */
	RSP_IOMAP = 6, /* value: index that was written */
	RSP_CTRL = 7,  /* value: enum rsp_ctrl */
};

enum rsp_ctrl { RSP_DISCONNECT = 0, RSP_KEEPALIVE = 1, RSP_SHUTDOWN = 2 };

#define RSP_VALUE_MASK 0x1fffffffu

static inline uint32_t rsp_msg(enum rsp_op op, uint32_t value)
{
	return (uint32_t)op << 29 | (value & RSP_VALUE_MASK);
}

static inline unsigned rsp_msg_op(uint32_t msg)
{
	return msg >> 29;
}

static inline uint32_t rsp_msg_value(uint32_t msg)
{
	return msg & RSP_VALUE_MASK;
}

/* Memory of the peer. */
struct rsp_sge {
	uint64_t addr;
	uint32_t key;
	uint32_t len;
};

struct rsp_iomap {
	uint64_t offset;
	struct rsp_sge sge;
};

struct rsp_conn {
	bool big_endian, has_iomap;
	uint16_t credits;
	uint32_t iomap_entries;
	struct rsp_sge sgl;  /* where descriptors go; its length counts entries */
	struct rsp_sge data; /* where the first bytes go */
};

/* Returns RSP_CONN_LEN. */
size_t rsp_conn_put(const struct rsp_conn *c, uint8_t out[RSP_CONN_LEN]);
/* 0, or -EPROTO for what no honest peer sends. `ret` is set on success only. */
int rsp_conn_get(const uint8_t *p, size_t len, struct rsp_conn *ret);

/* A descriptor as it lies in a peer's memory, in the peer's order of bytes. */
void rsp_sge_put(const struct rsp_sge *s, bool swap, uint8_t out[RSP_SGE_LEN]);
void rsp_iomap_put(const struct rsp_iomap *m, bool swap, uint8_t out[RSP_IOMAP_LEN]);
/* One that a peer has written into ours: always in our order. */
void rsp_sge_load(const volatile uint8_t *p, struct rsp_sge *ret);
void rsp_iomap_load(const volatile uint8_t *p, struct rsp_iomap *ret);

/* The eight bits that carry the number of I/O mappings: exact to 128, then in units of 256. */
uint8_t rsp_scale(uint32_t value);
uint32_t rsp_unscale(uint8_t scaled);

bool rsp_host_big(void);

/* In front of every datagram: who sent it. */
#define RSP_DG_V4_LEN  8
#define RSP_DG_V6_LEN  24
#define RSP_DG_MAX_LEN RSP_DG_V6_LEN

union rsp_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Its length. */
size_t rsp_dg_put(const union rsp_addr *from, uint8_t out[RSP_DG_MAX_LEN]);
/* Length of the header, or -EPROTO. */
int rsp_dg_get(const uint8_t *p, size_t len, union rsp_addr *ret);

/* The UDP side channel that learns queue pair numbers and carries what comes before. */
#define RSP_SVC_TAG     0x55555555u
#define RSP_SVC_V4_LEN  16
#define RSP_SVC_V6_LEN  28
#define RSP_SVC_MAX_LEN RSP_SVC_V6_LEN

enum rsp_svc_op { RSP_SVC_DATA = 0, RSP_SVC_ANSWER = 7 };

struct rsp_svc {
	uint8_t op;
	uint32_t qpn;
	union rsp_addr from; /* no port: the datagram tells */
};

size_t rsp_svc_put(const struct rsp_svc *s, uint8_t out[RSP_SVC_MAX_LEN]);
int rsp_svc_get(const uint8_t *p, size_t len, struct rsp_svc *ret);

#endif
