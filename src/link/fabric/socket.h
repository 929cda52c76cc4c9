/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sockets between a fabric process and the processes of its nodes: SOCK_SEQPACKET, in the fabric's directory
 * <runtime dir>/fabric/NAME, which is of mode 0700. Each end asks the kernel for the other one's uid too.
 */
#ifndef LINK_FABRIC_SOCKET_H
#define LINK_FABRIC_SOCKET_H

/* Makes a listening socket in a directory, in place of one that a killed process has left. Returns a descriptor that
 * does not block and closes at exec, or a negative errno. */
int fsk_listen(const char *dir, const char *name);
/* Returns such a descriptor of the next connection, -EAGAIN if there is none, -EACCES after closing one of another
 * uid, or a negative errno. */
int fsk_accept(int listener);
/* Connects to a socket of a running fabric. Returns such a descriptor; -ENOENT or -ECONNREFUSED: the fabric does not
 * run; -EACCES: it is another user's; or a negative errno. */
int fsk_connect(const char *fabric, const char *name);
/* Connects a socket to one in an open directory. Returns 0, or a negative errno as fsk_connect(). */
int fsk_connect_at(int fd, int dir, const char *name);

#endif
