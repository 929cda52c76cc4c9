/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * iWARP's link: byte streams (link/stream.h) on TCP sockets of the host's own stack, so that packet
 * filters, limits, SYN cookies and congestion control stay in force. One place per adapter: an epoll
 * descriptor with all its sockets; those that were busy lately are read directly before epoll is asked.
 *
 * Who writes what: a place and its streams belong to the adapter that opened it and run under its
 * progress lock; only the flag `sleeping`, and which streams are muted, are written by any thread. A received byte is written once by
 * the kernel, into the receive stage, and moves only when another stream needs the stage (rx.c).
 *
 * In which order: one poll() runs what is due without an event (todo), reads the streams of the poll
 * set, then asks the epoll set, and tells ends last (poll.c). Ends found while the epoll set still has
 * other events wait until those are served.
 *
 * Why no wake-up is lost: the set is level-triggered. A thread that sleeps on the place's descriptor
 * is woken by any socket with bytes, room or an end that is still unread, whatever was read out of turn
 * before; streams that were out of the set for a while (mute.h) are back by then; and what is due without a socket makes
 * deadline() return 0. A stream that nothing is wanted
 * of (paused, without a user, at its end) is out of the set, so the descriptor is silent when poll() has
 * nothing to do.
 *
 * Why level-triggered: the place's epoll descriptor is itself watched by the owner's poll(), and a nested
 * set asks the sockets again whether they are ready. A socket that was read directly meanwhile thus does
 * not wake the sleeper, and a ping-pong that blocks costs recv, send and the sleep, with no look into the
 * set. Edges would save the rare change of interest and cost that look for each message.
 */
#ifndef LINK_TCP_TCP_H
#define LINK_TCP_TCP_H

#include "link/stream.h"

/* Returns 0 or -ENOMEM, -EMFILE, ... ifindex: the interface of this place; 0 = any. */
int tcp_open(uint32_t ifindex, struct link_streams **ret);

#endif
