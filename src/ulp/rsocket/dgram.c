/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: not served yet, and refused when a socket is asked for. */
#include "ulp/rsocket/rs.h"

#include <errno.h>

int rs_dg_open(struct rs_sock *rs)
{
	(void)rs;
	return rs_fail(ENOTSUP);
}

void rs_dg_free(struct rs_sock *rs)
{
	(void)rs;
}

int rs_dg_bind(struct rs_sock *rs, const struct sockaddr *addr, socklen_t len)
{
	(void)rs, (void)addr, (void)len;
	return rs_fail(ENOTSUP);
}

int rs_dg_connect(struct rs_sock *rs, const struct sockaddr *addr, socklen_t len)
{
	(void)rs, (void)addr, (void)len;
	return rs_fail(ENOTSUP);
}

ssize_t rs_dg_send(struct rs_sock *rs, const struct iovec *iov, int n, int flags,
		   const struct sockaddr *to, socklen_t len)
{
	(void)rs, (void)iov, (void)n, (void)flags, (void)to, (void)len;
	return rs_fail(ENOTSUP);
}

ssize_t rs_dg_recv(struct rs_sock *rs, const struct iovec *iov, int n, int flags,
		   struct sockaddr *from, socklen_t *len, int *truncated)
{
	(void)rs, (void)iov, (void)n, (void)flags, (void)from, (void)len, (void)truncated;
	return rs_fail(ENOTSUP);
}

int rs_dg_name(struct rs_sock *rs, struct sockaddr *addr, socklen_t *len, bool peer)
{
	(void)rs, (void)addr, (void)len, (void)peer;
	return rs_fail(ENOTSUP);
}

void rs_dg_look(struct rs_sock *rs, bool woken)
{
	(void)rs, (void)woken;
}

bool rs_dg_can_recv(struct rs_sock *rs)
{
	(void)rs;
	return false;
}

bool rs_dg_can_send(struct rs_sock *rs)
{
	(void)rs;
	return false;
}

void rs_dg_arm(struct rs_sock *rs)
{
	(void)rs;
}
