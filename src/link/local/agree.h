/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The agreement of the two ends of a connection within one host to leave the wire: by a rendezvous
 * connection between their processes. Below: its names, messages and listeners. */
#ifndef LINK_LOCAL_AGREE_H
#define LINK_LOCAL_AGREE_H

#include "link/local/place.h"

/* link_streams_ops. */
bool local_agree(struct link_stream *l, bool active);
void local_agree_hurry(struct link_stream *l);

/* Returns true if the stream may send; false: its way is not known yet, and writable() follows when
 * it is. */
bool local_agree_may_send(struct local_stream *s);
/* The stream keeps to the wire from now on, unless it has left it. */
void local_agree_wire(struct local_stream *s);
/* To be called in ANSWERED when bytes have come by the lower stream: decides the way. */
void local_agree_decide(struct local_stream *s);
/* To be called when the stream is closed: ends its rendezvous and its offer. */
void local_agree_end(struct local_stream *s);
/* Frees the stream's segment. */
void local_agree_free(struct local_stream *s);
/* A rendezvous connection is readable. Returns the number of events handled. */
int local_agree_ready(struct link_watch *w, uint64_t now);
/* Ends rendezvous connections whose time limit has passed. */
void local_agree_expired(struct local_place *p);

/* --- rendezvous connections --- */

/* The active end's message; the passive one answers with the magic alone. Its form never changes; the magic is
 * LOCAL_HELLO_MAGIC plus the layout of the writer (host/layout.h). */
struct local_hello {
	uint32_t magic;
	uint16_t from_port, to_port;
	uint8_t from[16], to[16];
};
#define LOCAL_HELLO_MAGIC 0x44504931u
#define LOCAL_HELLO_MAGICS 256u

/* Finds this process's own credentials. Returns 0 or -errno. */
int local_rdv_init(struct local_place *p);
/* Closes all rendezvous connections; forget: in a child of fork(), whose parent keeps them. */
void local_rdv_fini(struct local_place *p);
void local_rdv_forget(struct local_place *p);

/* --- connections --- */
/* Connects to the listener of this end. Returns a descriptor, or -errno: there is none, or of another user. */
int local_rdv_connect(struct local_place *p, const struct link_end *at);
/* Returns a connection that owns fd, or NULL. s NULL: the peer process has not named its stream
 * yet. */
struct local_rendezvous *local_rdv_new(struct local_place *p, struct local_stream *s, int fd);
/* The peer process has named its stream; the connection itself is the time limit from now on. */
void local_rdv_belongs(struct local_rendezvous *c, struct local_stream *s);
void local_rdv_over(struct local_rendezvous *c);
/* Returns the next connection whose time limit has passed, or NULL. */
struct local_rendezvous *local_rdv_expired(struct local_place *p);
/* Returns the next time limit, or UT_NEVER. */
uint64_t local_rdv_deadline(struct local_place *p);
void local_rdv_reap(struct local_place *p);

/* --- messages --- */
/* segment -1: none, which refuses; wake fd -1: none. Returns 0 or -errno. */
int local_rdv_tell(int fd, const struct local_hello *h, int segment, int wake_fd);
/* Returns the segment's descriptor, the message, and the wake fd or -1; -EAGAIN; or another -errno: no message will come.
 * -EPROTONOSUPPORT: one has come of another layout. */
int local_rdv_hear(int fd, struct local_hello *h, int *ret_wake_fd);

/* --- listeners --- */
/* The peer process may ask for this passive end from now on. Returns false if it cannot. */
bool local_rdv_offer(struct local_stream *s);
void local_rdv_offer_over(struct local_stream *s);
/* Returns the stream that is meant, if it is offered, or NULL. */
struct local_stream *local_rdv_offered(struct local_place *p, const struct local_hello *h);
/* Closes the listeners that no stream and no port needs. */
void local_rdv_close_unused(struct local_place *p);

#endif
