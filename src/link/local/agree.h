/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How the two ends of a connection within one host agree to leave the wire. */
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

#endif
