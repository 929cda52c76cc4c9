/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The C library's functions behind those that this library replaces. */
#ifndef ULP_PRELOAD_REAL_H
#define ULP_PRELOAD_REAL_H

#include <sys/epoll.h>
#include <sys/socket.h>

/* One pointer per replaced function, set before the first use. */
struct rsp_real {
	int (*socket)(int, int, int);
	int (*bind)(int, const struct sockaddr *, socklen_t);
	int (*listen)(int, int);
	int (*accept)(int, struct sockaddr *, socklen_t *);
	int (*accept4)(int, struct sockaddr *, socklen_t *, int);
	int (*connect)(int, const struct sockaddr *, socklen_t);
	int (*getsockname)(int, struct sockaddr *, socklen_t *);
	int (*getpeername)(int, struct sockaddr *, socklen_t *);
	int (*getsockopt)(int, int, int, void *, socklen_t *);
	int (*setsockopt)(int, int, int, const void *, socklen_t);
	ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
	ssize_t (*recvmsg)(int, struct msghdr *, int);
	int (*epoll_ctl)(int, int, int, struct epoll_event *);
};

/* Returns the functions; looks them up at the first call. */
const struct rsp_real *rsp_real(void);

#endif
