/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waiting for several rsockets and ordinary descriptors. */
#ifndef ULP_RSOCKET_POLL_H
#define ULP_RSOCKET_POLL_H

#include <poll.h>
#include <sys/select.h>

/* As poll(2) and select(2), with a negative errno in place of -1. Cancellation points. */
int rs_poll(struct pollfd *fds, nfds_t nr, int timeout_ms);
int rs_select(int nfds, fd_set *rd, fd_set *wr, fd_set *ex, const struct timeval *timeout);

#endif
