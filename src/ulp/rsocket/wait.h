/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waiting of one thread for one condition of one rsocket; rpoll() waits in poll.c. */
#ifndef ULP_RSOCKET_WAIT_H
#define ULP_RSOCKET_WAIT_H

#include "ulp/rsocket/sock.h"

#include <poll.h>

/* A condition. Called with c held. */
typedef bool rs_test_fn(struct rs_sock *s);
rs_test_fn rs_test_read, rs_test_write, rs_test_ctrl, rs_test_idle;

/*
 * Waits until the test holds. Returns 0 then, -EAGAIN if it does not hold and `nowait` is set,
 * -ETIMEDOUT after timeout_ms (-1: unlimited), or another error. Called without a lock; a
 * cancellation point, which drops the caller's reference of s.
 */
int rs_wait(struct rs_sock *s, rs_test_fn *test, bool nowait, int timeout_ms);
/* The descriptors that become readable with news of s; -1 for none. */
void rs_fds(struct rs_sock *s, int fd[2]);
/* The adapter of a stream that is connected, or NULL; of a datagram socket there may be several. */
struct ibv_context *rs_adapter(const struct rs_sock *s);
/*
 * poll() for a waiting thread: by dpl_poll() where there is an adapter (NULL: none) and that takes so many, so that the thread drives it
 * meanwhile. Counts as a sleep for rs_spin_us(). Returns how many descriptors are ready at least, 0 at the end of
 * timeout_ms, or a negative errno.
 */
int rs_poll_driving(struct ibv_context *adapter, struct pollfd *fds, nfds_t n, int timeout_ms);
/*
 * For how many us a wait of this thread polls before it sleeps. That is the administrator's setting; without one it doubles behind each sleep of less
 * than RS_SPIN_MOST_US, and a longer sleep begins anew: 64 KiB, or an answer through sockets of the kernel, take longer than the 10 us that
 * a network card's take, and a sleep and its wake-up as long again.
 */
uint32_t rs_spin_us(void);
#define RS_SPIN_MOST_US 100u
/* Takes the events of the descriptors of rs_fds() that were readable. Called without a lock. */
void rs_ready(struct rs_sock *s, bool first, bool second);

#endif
