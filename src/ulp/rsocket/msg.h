/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The wire formats of rsockets, as plain host-order structs, and the checks of received ones. They
 * need neither verbs nor sockets; tests and the fuzzer run them alone.
 *
 * A message is 32 bits, the immediate of an RDMA Write (or, on iWARP, a four-byte Send behind it):
 * the operation in the top 3 bits, a value in the other 29.
 */
#ifndef ULP_RSOCKET_MSG_H
#define ULP_RSOCKET_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum rs_op {
	RS_OP_DATA = 0,      /* value: bytes written behind the previous ones */
	RS_OP_SGL = 4,       /* value: the sequence number up to which data may be sent */
	RS_OP_IOMAP = 6,     /* value: index of the I/O map entry that was written */
	RS_OP_CTRL = 7,      /* value: enum rs_ctrl */
};

enum rs_ctrl {
	RS_CTRL_DISCONNECT = 0,
	RS_CTRL_KEEPALIVE = 1,
	RS_CTRL_SHUTDOWN = 2,
};

#define RS_MSG_VALUE_BITS 29
#define RS_MSG_VALUE_MAX ((1u << RS_MSG_VALUE_BITS) - 1)

static inline uint32_t rs_msg(enum rs_op op, uint32_t value)
{
	return (uint32_t)op << RS_MSG_VALUE_BITS | (value & RS_MSG_VALUE_MAX);
}

static inline unsigned rs_msg_op(uint32_t msg)
{
	return msg >> RS_MSG_VALUE_BITS;
}

static inline uint32_t rs_msg_value(uint32_t msg)
{
	return msg & RS_MSG_VALUE_MAX;
}

/*
 * A piece of the peer's memory. Lists of these lie in registered memory and are filled by the peer
 * in the byte order of the host that reads them.
 */
struct rs_sge {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
};

struct rs_iomap {
	uint64_t offset;
	struct rs_sge sge;
};

_Static_assert(sizeof(struct rs_sge) == 16, "wire format");
_Static_assert(sizeof(struct rs_iomap) == 24, "wire format");

#define RS_SGL_SIZE 2                       /* entries of our own target list */
#define RS_SGL_MAX 64                       /* of a peer's; every known one has 2 */
#define RS_BUF_MAX (1u << 30)               /* longest buffer that a peer may announce */

bool rs_sge_sane(const struct rs_sge *sge);
struct rs_sge rs_sge_swap(struct rs_sge sge);

/* Connection data: private data of request and reply. */
#define RS_CONN_LEN 40
#define RS_CONN_VERSION 1

struct rs_conn {
	bool big_endian;
	bool iomap;
	uint16_t credits;      /* messages that the sender of this can queue */
	uint16_t iomap_size;
	struct rs_sge sgl;     /* length counts entries */
	struct rs_sge data;    /* the first buffer to fill */
};

/* The size of an I/O map travels in 8 bits: exact up to 128, in steps of 256 above. */
uint8_t rs_scale(uint16_t value);
uint16_t rs_unscale(uint8_t value);

void rs_conn_put(uint8_t out[RS_CONN_LEN], const struct rs_conn *conn);
/* Returns 0, -EPROTO for invalid data, -EPROTONOSUPPORT for another version. */
int rs_conn_get(struct rs_conn *ret_conn, const void *data, size_t len);

/* In front of each datagram on the queue pair: the sender's address. */
#define RS_DGRAM_MAX 2048                   /* header and payload */
#define RS_DGRAM_HDR_MAX 24

size_t rs_dgram_put(uint8_t out[RS_DGRAM_HDR_MAX], const struct sockaddr *from);
/* Returns the length of the header, or -EPROTO. */
int rs_dgram_get(struct sockaddr_storage *ret_from, const void *data, size_t len);

/* By UDP: the sender's QPN, in front of the first datagrams. */
#define RS_UDP_HDR_MAX 28

struct rs_udp {
	enum rs_op op;         /* RS_OP_DATA requests an answer, RS_OP_CTRL is one */
	uint32_t qpn;
};

size_t rs_udp_put(uint8_t out[RS_UDP_HDR_MAX], const struct rs_udp *udp,
		  const struct sockaddr *from);
int rs_udp_get(struct rs_udp *ret_udp, int family, const void *data, size_t len);

socklen_t rs_addr_len(const struct sockaddr *addr);
/* Compares address and port; scope and flow label are ignored. */
bool rs_addr_equal(const struct sockaddr *a, const struct sockaddr *b);
bool rs_addr_any(const struct sockaddr *addr);

#endif
