/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Options of the socket level are the unix socket's. Those of TCP and IP have no meaning for the
 * carrier and succeed, as programs demand; TCP_NODELAY is read back, so it is kept in the socket's
 * priority, which a unix socket does not use and all processes that share the socket see.
 */
#include "ulp/preload/options.h"
#include "ulp/preload/real.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#ifndef TCP_ULP
#define TCP_ULP 31
#endif

static int give(void *val, socklen_t *len, const void *from, size_t size)
{
	if (!val || !len)
		return -EFAULT;
	if (*len > size)
		*len = (socklen_t)size;
	memcpy(val, from, *len);
	return 0;
}

static int give_int(void *val, socklen_t *len, int v)
{
	return give(val, len, &v, sizeof(v));
}

static int from_kernel(int fd, int opt, void *val, socklen_t *len)
{
	return rsp_real()->getsockopt(fd, SOL_SOCKET, opt, val, len) ? -errno : 0;
}

static int get_socket(int fd, const struct rsp_name *name, int err, int opt, void *val, socklen_t *len)
{
	int old;
	socklen_t size = sizeof(old);

	switch (opt) {
	case SO_DOMAIN:
		return give_int(val, len, name->local.family ? name->local.family : name->peer.family);
	case SO_PROTOCOL:
		return give_int(val, len, IPPROTO_TCP);
	case SO_ERROR:
		if (!err)
			return from_kernel(fd, opt, val, len);
		from_kernel(fd, opt, &old, &size);
		return give_int(val, len, err);
	default:
		return from_kernel(fd, opt, val, len);
	}
}

static int get_tcp(int fd, int opt, void *val, socklen_t *len)
{
	struct tcp_info info = { .tcpi_state = TCP_ESTABLISHED, .tcpi_snd_mss = 2048, .tcpi_rcv_mss = 2048 };

	switch (opt) {
	case TCP_NODELAY:
		return from_kernel(fd, SO_PRIORITY, val, len);
	case TCP_CONGESTION:
		return give(val, len, "rdma", sizeof("rdma"));
	case TCP_INFO:
		return give(val, len, &info, sizeof(info));
	case TCP_MAXSEG:
		return give_int(val, len, 2048);
	case TCP_ULP:
		return -ENOPROTOOPT;
	default:
		return give_int(val, len, 0);
	}
}

int rsp_option_get(int fd, const struct rsp_name *name, int err, int level, int opt, void *val, socklen_t *len)
{
	switch (level) {
	case SOL_SOCKET:
		return get_socket(fd, name, err, opt, val, len);
	case IPPROTO_TCP:
		return get_tcp(fd, opt, val, len);
	case IPPROTO_IP:
	case IPPROTO_IPV6:
		return opt == IP_OPTIONS && level == IPPROTO_IP ? give(val, len, "", 0) : give_int(val, len, 0);
	default:
		return -ENOPROTOOPT;
	}
}

static int set_socket(int fd, int opt, const void *val, socklen_t len)
{
	switch (opt) {
	case SO_PRIORITY:
	case SO_REUSEPORT:
	case SO_MARK:
	case SO_BINDTODEVICE:
	case SO_INCOMING_CPU:
		return 0;
	default:
		return rsp_real()->setsockopt(fd, SOL_SOCKET, opt, val, len) ? -errno : 0;
	}
}

static int set_nodelay(int fd, const void *val, socklen_t len)
{
	int on;

	if (!val || len < sizeof(on))
		return -EINVAL;
	memcpy(&on, val, sizeof(on));
	on = on != 0;
	return rsp_real()->setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &on, sizeof(on)) ? -errno : 0;
}

int rsp_option_set(int fd, int level, int opt, const void *val, socklen_t len)
{
	switch (level) {
	case SOL_SOCKET:
		return set_socket(fd, opt, val, len);
	case IPPROTO_TCP:
		if (opt == TCP_NODELAY)
			return set_nodelay(fd, val, len);
		return opt == TCP_ULP ? -ENOPROTOOPT : 0;
	case IPPROTO_IP:
	case IPPROTO_IPV6:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}
