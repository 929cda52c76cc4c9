/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the two ends of a connection within one host agree to leave the wire: by a rendezvous connection
 * between their processes. Below: its names, messages and listeners.
 */
#ifndef LINK_LOCAL_AGREE_H
#define LINK_LOCAL_AGREE_H

#include "link/local/place.h"

/* link_streams_ops. */
bool local_agree(struct link_stream *l, bool active);
void local_agree_hurry(struct link_stream *l);

/* Returns false if the stream does not know its way yet: writable() tells when it does. */
bool local_agree_may_send(struct local_stream *s);
/* It keeps to the wire from now on, if it is not too late. */
void local_agree_wire(struct local_stream *s);
/* ANSWERED, and something has come by the lower stream: which way is it? */
void local_agree_decide(struct local_stream *s);
/* The stream is closed: no more rendezvous, no more offer. */
void local_agree_end(struct local_stream *s);
/* Frees the stream's segment. */
void local_agree_free(struct local_stream *s);
/* A rendezvous connection is readable. Returns how many things happened. */
int local_agree_ready(struct link_watch *w, uint64_t now);
/* The time for an answer is over for these. */
void local_agree_expired(struct local_place *p);

/* --- rendezvous connections --- */

/* What the active end says; the passive one answers with the magic alone. */
struct local_hello {
	uint32_t magic;
	uint16_t from_port, to_port;
	uint8_t from[16], to[16];
};
#define LOCAL_HELLO_MAGIC 0x44504931u /* and a version */

/* Our own credentials. 0 or -errno. */
int local_rdv_init(struct local_place *p);
/* Closes everything; forget: in a child of fork(), whose parent keeps it. */
void local_rdv_fini(struct local_place *p);
void local_rdv_forget(struct local_place *p);

/* --- connections --- */
/* Connects to the listener of this end. Returns a descriptor, or -errno: there is none, or of another user. */
int local_rdv_connect(struct local_place *p, const struct link_end *at);
/* fd is its own then; or NULL. s NULL: the peer process has not said yet which stream is meant. */
struct local_rendezvous *local_rdv_new(struct local_place *p, struct local_stream *s, int fd);
/* The peer process has named its stream, and the connection itself is the time limit from now on. */
void local_rdv_belongs(struct local_rendezvous *c, struct local_stream *s);
void local_rdv_over(struct local_rendezvous *c);
/* The next connection whose time is over, or NULL. */
struct local_rendezvous *local_rdv_expired(struct local_place *p);
/* UT_NEVER if none has a time limit. */
uint64_t local_rdv_deadline(struct local_place *p);
void local_rdv_reap(struct local_place *p);

/* --- messages --- */
/* 0 or -errno. */
int local_rdv_tell(int fd, const struct local_hello *h, int segment);
/* A descriptor and what was said with it; -EAGAIN; or another -errno: nothing will come. */
int local_rdv_hear(int fd, struct local_hello *h);

/* --- listeners --- */
/* The peer process of this passive end may ask from now on; false: it cannot. */
bool local_rdv_offer(struct local_stream *s);
void local_rdv_offer_over(struct local_stream *s);
/* The stream that is meant, if it is offered, or NULL. */
struct local_stream *local_rdv_offered(struct local_place *p, const struct local_hello *h);
/* Closes the listeners that no stream and no port needs. */
void local_rdv_close_unused(struct local_place *p);

#endif
