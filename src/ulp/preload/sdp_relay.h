/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The relay between a program's stream and its connection of SDP. One thread serves a connection: octets go from the program's
 * stream into a message that is about to leave, and from a received message to the program's stream, without a copy between. As
 * many as are worth it are advertised: to be fetched by the peer, or in the memory that this end offers the peer to write to.
 *
 * In the carrier the thread alone has the connection. In the program's own process (own.h) calls of the program have it too, in
 * turn: whoever holds the lock. A call that blocks leases the connection: until LEASE_NS after the last such call the relay's
 * thread sleeps, however much comes.
 */
#ifndef ULP_PRELOAD_SDP_RELAY_H
#define ULP_PRELOAD_SDP_RELAY_H

#include "ulp/sdp/conn.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/un.h>

/* All fields but next and atomic ones are guarded by lock. */
struct sdp_relay {
	pthread_mutex_t lock;
	pthread_cond_t turn;            /* the lease has ended, or the relay has looked at the connection */
	struct sdp_relay *next;         /* of the list of own.c, which never frees one */
	int un;
	struct sdp_conn *c;             /* NULL: the relay has ended */
	bool up_ended, down_ended;      /* the program's octets; the peer's, and the program knows */
	bool filled;                    /* the last message has been filled */
	bool full;                      /* the program's stream takes no more now */
	bool hung;                      /* the program has closed its end */
	int64_t until;                  /* for the peer to end, once the program has gone */
	uint8_t *offered;               /* memory in which the peer writes; NULL in the program's process */
	struct ibv_mr *mr;
	uint64_t large, discarded;      /* counts as they were when an offer was last discarded */
	/* In the program's own process: */
	bool own;
	bool fed;                       /* octets were given to the program's stream since it was last seen empty */
	bool shared;                    /* the stream is the only way: a direction has been shut down, or */
	bool forked;                    /* another process may hold the descriptor */
	bool leaving;                   /* the process ends */
	/*
	 * The thread waits for the end of a lease by a lock of its own: at that of the connection it would be woken each time that a call lets
	 * go of it, and hardly ever get it.
	 */
	pthread_mutex_t park_lock;      /* below lock */
	pthread_cond_t park_end;
	atomic_bool parked;             /* set with park_lock */
	bool deaf;                      /* the thread sleeps, and octets of the program do not wake it */
	unsigned inside;                /* calls of the program, which may have let go of the lock; they end before the relay */
	unsigned receiving;             /* of them, those that take what has been received: it goes to the stream by nothing else */
	atomic_uint busy;               /* calls that have the lock or are about to, and do not sleep: the thread waits for their end */
	_Atomic int64_t leased_ns;      /* until then; 0: no lease */
	int kick;                       /* an eventfd that wakes the thread; -1: none */
	bool blocks;                    /* calls of the program's descriptor do, as it was before the lease */
	uint64_t inode;                 /* of the program's descriptor; 0: not known yet */
	struct sockaddr_un name;        /* of un: what the program's descriptor has as its peer */
	socklen_t name_len;
};

/* What connections of this process begin with: sdp_conf_default, or of own.c sdp_conf_stream. */
extern const struct sdp_conf *rsp_sdp_conf;

/* Copies until both directions have ended, and closes the stream; the connection stays the caller's. */
void sdp_relay(int un, struct sdp_conn *c);
/* Gives a relay its end of the program's stream, before the first octet is read: urgent octets are read in their place from here on, and
 * are lost otherwise. */
void sdp_relay_stream(struct sdp_relay *r, int un);
/* As sdp_relay(), for a relay that is set up. */
void sdp_relay_run(struct sdp_relay *r);
/* The connection is no longer the program's. Without sdp_relay_run() the stream stays the caller's. */
void sdp_relay_end(struct sdp_relay *r);
/* In the program's own process: makes the relay of a connection whose stream has its name, or returns NULL. */
extern struct sdp_relay *(*rsp_sdp_new)(int un, struct sdp_conn *c);

/* The rest needs the lock. */

/* Gives the program's stream what has been received. Returns true if octets have moved. */
bool sdp_relay_down(struct sdp_relay *r);
/* Sends what the program has left in its stream, as much as there is room for. Returns true if octets or an end have moved. */
bool sdp_relay_up(struct sdp_relay *r);
/* Lets the thread have its turn, at once. */
void sdp_relay_release(struct sdp_relay *r);

#endif
