/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which descriptors of this process have a connection of SDP in it, and its calls for octets. */
#ifndef ULP_PRELOAD_TAP_H
#define ULP_PRELOAD_TAP_H

#include <stdbool.h>
#include <sys/socket.h>

/* True if the descriptor may have one. */
bool rsp_tap_has(int fd);
/*
 * Octets, directly in part at least. Returns true and how many; false: the call is the kernel's. Of the message only the parts
 * count.
 */
bool rsp_tap_receive(int fd, const struct msghdr *msg, int flags, ssize_t *ret);
bool rsp_tap_send(int fd, const struct msghdr *msg, int flags, ssize_t *ret);
/* The descriptor is another one, or none, from now on. */
void rsp_tap_forget(int fd);
/* The program looks at descriptors; at one whose stream is the only way from now on. */
void rsp_tap_release(const void *caller);
void rsp_tap_share(int fd);
/* The process is about to end. */
void rsp_tap_leave(void);

#endif
