/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls that make or connect descriptors, as in libc, with a fault point in front
 * (util/faultpoint.h): a test makes the n-th of them fail as it fails when a process has too many
 * descriptors or the kernel no memory.
 */
#ifndef UTIL_FAULT_CALLS_H
#define UTIL_FAULT_CALLS_H

#include "util/faultpoint.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

static inline int ut_socket(int domain, int type, int protocol)
{
	return ut_fault_errno(EMFILE) ? -1 : socket(domain, type, protocol);
}

static inline int ut_socketpair(int domain, int type, int protocol, int sv[2])
{
	return ut_fault_errno(EMFILE) ? -1 : socketpair(domain, type, protocol, sv);
}

static inline int ut_bind(int fd, const struct sockaddr *sa, socklen_t n)
{
	return ut_fault_errno(ENOMEM) ? -1 : bind(fd, sa, n);
}

static inline int ut_epoll(void)
{
	return ut_fault_errno(EMFILE) ? -1 : epoll_create1(EPOLL_CLOEXEC);
}

static inline int ut_epoll_add(int ep, int fd, struct epoll_event *ev)
{
	return ut_fault_errno(ENOMEM) ? -1 : epoll_ctl(ep, EPOLL_CTL_ADD, fd, ev);
}

static inline int ut_timerfd(void)
{
	return ut_fault_errno(EMFILE) ? -1
				  : timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

#endif
