/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of the carrier that outlives its process: a memfd that the owner of the connections and its standby have mapped.
 *
 *   sockets[], connections[]    rows with two copies of a state: the one not in force is written, then put in force by one store
 *   slots of 512, 1024, ... 2 MiB octets, for messages and works; the first word of a slot says whether it is in use (ulp/rds/keep.h)
 *
 * The owner alone writes. Its lists of free slots are its own: the next owner makes them anew. One slot names another by its
 * place, as processes have the memory at different addresses. What the next owner reads may be anything, since the one before may have
 * been killed for what it wrote: each number is bounded before it is used (ulp/rds/takeover.c), and what does not fit is dropped.
 */
#ifndef ULP_RDS_STORE_H
#define ULP_RDS_STORE_H

#include "ulp/preload/name.h"
#include "ulp/rds/cong.h"
#include "wire/rds_fields.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDS_STORE_CONNS 256             /* of both transports; more than there may be */

struct rds_sock_state {
	struct rsp_addr bound, peer;
	uint64_t sndbuf, rcvbuf, cong_mask;
	int32_t transport;
	bool monitor, recverr, seen;
};

struct rds_store_sock {
	_Atomic uint64_t id;            /* number of the socket; 0: the row is free */
	_Atomic uint64_t pending, taken; /* the program's record that is being taken, and the last one that is */
	_Atomic uint32_t number;        /* of the record that the program was given last */
	_Atomic uint32_t which;         /* of the states is in force */
	struct rds_sock_state state[2];
};

struct rds_conn_state {
	struct rsp_addr local, peer;
	int32_t type;                   /* of the transport */
	bool has_stood;
	uint32_t peer_generation;
	uint64_t next_rx;
	uint64_t arrival;               /* the last message that counts as taken */
	bool up;                        /* the peer may have the connection */
	/* Over TCP: the place in the stream up to which its octets are here, and the message that they end in. */
	uint64_t stream;
	uint32_t got;
	uint8_t head[WIRE_RDS_HEADER_LEN];
	uint64_t in;                    /* its place; 0: none */
};

struct rds_store_conn {
	_Atomic uint32_t used;
	_Atomic uint32_t which;
	_Atomic uint64_t next_tx;
	struct rds_conn_state state[2];
};

struct rds_store {
	_Atomic uint64_t next_sock;     /* no socket has had a higher number */
	_Atomic int64_t deaths_since;   /* of owners: counted from that time on, ulp_now_ms() */
	_Atomic uint32_t deaths;
	struct rds_store_sock socks[RDS_SOCKS_MAX];
	struct rds_store_conn conns[RDS_STORE_CONNS];
};

/* Makes it, once; or maps that of another process, which has this descriptor (-1: none). Returns 0 or a negative errno. */
int rds_store_make(int fd);
int rds_store_fd(void);
struct rds_store *rds_store(void);

/* Memory of a message or work, or NULL; and back. If all slots are in use it is memory of this process alone. */
void *rds_store_get(size_t len);
void rds_store_put(void *m);
/* The place of a slot's memory, never 0; 0: it is NULL, or of this process alone. And back; NULL: no slot that has been in use begins there. */
uint64_t rds_store_place(const void *m);
void *rds_store_at(uint64_t place);
/* The octets of the slot that memory is in; 0: it is in none. */
size_t rds_store_room(const void *m);
/* The next owner: looks at each slot that has ever been in use, in any order. */
void rds_store_look(void (*look)(void *m, void *arg), void *arg);
/* Then, once: the same, and a slot is free from now on if this returns false. */
void rds_store_each(bool (*is_in_use)(void *m, void *arg), void *arg);

#endif
