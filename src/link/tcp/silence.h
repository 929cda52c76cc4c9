/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams with bytes in flight whose peer's host has died. TCP repeats such bytes for a quarter of an hour
 * (tcp_retries2), and its keepalive asks idle streams alone. A stopped process on a live host is told from a
 * dead host by the peer's kernel: it acknowledges bytes, and probes of a closed window, for the process.
 * (TCP_USER_TIMEOUT would end connections with a closed window.)
 *
 *	send.            tcp_send() -> tcp_silence_sent(): the stream is looked at a keepalive interval later
 *	the look         tcp_poll() -> tcp_silence_look(): TCP_INFO of each stream whose time has come; one whose
 *	                 bytes have all been acknowledged is forgotten until it sends again
 *	the end          closed() with ETIMEDOUT, as for the keepalive: after TCP_SILENCE intervals without an
 *	                 acknowledgement, counted from the first of the bytes, or the last acknowledgement behind it
 *
 * A host that is only slow must not be taken for a dead one: an emulated machine on a crowded host, or one that is
 * moved, acknowledges nothing for 15 s and longer, and then goes on. RFC 1122, 4.2.3.5, wants TCP to try for
 * 100 s at least.
 *
 * Streams to this host itself are left out: both ends have one kernel.
 */
#ifndef LINK_TCP_SILENCE_H
#define LINK_TCP_SILENCE_H

#include "link/tcp/place.h"

#define TCP_SILENCE 6 /* keepalive intervals; sock.h has as many for an idle stream */

/* Bytes were given to the kernel; called for streams with `asks` that are not in the list. */
void tcp_silence_sent(struct tcp_stream *s);
/* Looks at the streams whose time has come; place->now is the time. */
void tcp_silence_look(struct tcp_place *p);

#endif
