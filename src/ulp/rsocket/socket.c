/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Creating, naming and connecting rsockets. The descriptor of an rsocket is that of its event
 * channel, or of the UDP socket of a datagram rsocket, so that its number is unique in the process.
 */
#include "ulp/rsocket/socket.h"
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/table.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>

/*
 * SOCK_CLOEXEC is refused, as in rdma-core 44: librspreload passes every socket() call of the process
 * to rsocket(), and creates an ordinary socket after a refusal. libdapple creates its sockets with
 * that flag and needs ordinary ones.
 */
static bool known(int domain, int type, int protocol)
{
	if (domain != AF_INET && domain != AF_INET6)
		return false;
	switch (type & ~SOCK_NONBLOCK) {
	case SOCK_STREAM:
		return !protocol || protocol == IPPROTO_TCP;
	case SOCK_DGRAM:
		return !protocol || protocol == IPPROTO_UDP;
	default:
		return false;
	}
}

static int make_stream(struct rs_sock *s)
{
	s->channel = rdma_create_event_channel();
	if (!s->channel)
		return -errno;
	if (fcntl(s->channel->fd, F_SETFL, O_NONBLOCK))
		return -errno;
	if (rdma_create_id(s->channel, &s->id, s, RDMA_PS_TCP))
		return -errno;
	return s->channel->fd;
}

static int make(int domain, int type)
{
	struct rs_sock *s = rs_new(type & ~SOCK_NONBLOCK, domain, &rs_conf()->o);
	int r;

	if (!s)
		return -ENOMEM;
	atomic_store(&s->nonblock, type & SOCK_NONBLOCK);
	r = s->type == SOCK_STREAM ? make_stream(s) : rs_dgram_make(s);
	if (r >= 0)
		r = rs_publish(s, r);
	if (r < 0)
		rs_put(s);
	return r;
}

int rs_socket_make(int domain, int type, int protocol)
{
	int state, r;

	if (!known(domain, type, protocol))
		return -ENOTSUP;
	state = rs_cancel_off();
	r = make(domain, type);
	rs_cancel_back(state);
	return r;
}

/* Returns 0 if the address is one of the rsocket's family, else -EAFNOSUPPORT or -EINVAL. */
static int check_addr(const struct rs_sock *s, const struct sockaddr *addr, socklen_t len)
{
	if (!addr || len < sizeof(sa_family_t) || len < rs_addr_len(addr))
		return -EINVAL;
	return addr->sa_family == s->family ? 0 : -EAFNOSUPPORT;
}

static int bind_stream(struct rs_sock *s, const struct sockaddr *addr)
{
	struct sockaddr_storage copy;

	if (s->state != RS_INIT)
		return -EINVAL;
	memcpy(&copy, addr, rs_addr_len(addr));
	if (rdma_bind_addr(s->id, (struct sockaddr *)&copy))
		return -errno;
	s->state = RS_BOUND;
	return 0;
}

int rs_socket_bind(struct rs_sock *s, const struct sockaddr *addr, socklen_t len)
{
	int state = rs_cancel_off(), r;

	pthread_mutex_lock(&s->m);
	r = check_addr(s, addr, len);
	if (!r)
		r = s->type == SOCK_STREAM ? bind_stream(s, addr) : rs_dgram_bind(s, addr, len);
	pthread_mutex_unlock(&s->m);
	rs_cancel_back(state);
	return r;
}

static int start(struct rs_sock *s, const struct sockaddr *addr)
{
	int state = rs_cancel_off(), r;

	pthread_mutex_lock(&s->m);
	if (s->state == RS_LISTENING || s->state == RS_REFUSED) {
		r = s->state == RS_LISTENING ? -EOPNOTSUPP : -ECONNABORTED;
	} else if (s->state > RS_BOUND) {
		r = rs_opening(s->state) ? -EALREADY : -EISCONN;
	} else {
		memcpy(&s->peer, addr, rs_addr_len(addr));
		r = rs_conn_start(s);
	}
	pthread_mutex_unlock(&s->m);
	rs_cancel_back(state);
	return r;
}

/* After an interruption the connection attempt continues, as with TCP. */
static int connect_stream(struct rs_sock *s, const struct sockaddr *addr)
{
	bool nonblock = atomic_load(&s->nonblock);
	int r = start(s, addr);

	if (r == -EALREADY) {
		r = rs_conn_step(s);
		if (r == -EINPROGRESS && nonblock)
			return -EALREADY;
	}
	if (r == -EINPROGRESS && nonblock) {
		rs_conn_step(s);
		if (rs_opening(s->state))
			return -EINPROGRESS;
	}
	if (r == -EINPROGRESS || !r)
		r = rs_conn_wait(s, 0);
	return r;
}

int rs_socket_connect(struct rs_sock *s, const struct sockaddr *addr, socklen_t len)
{
	int r;

	if (s->type == SOCK_DGRAM)
		return rs_dgram_connect(s, addr, len);
	r = check_addr(s, addr, len);
	return r ? r : connect_stream(s, addr);
}

void rs_name(struct sockaddr *out, socklen_t *len, const struct sockaddr *name)
{
	socklen_t full = rs_addr_len(name);

	if (*len)
		memcpy(out, name, *len < full ? *len : full);
	*len = full;
}

/* The name of an unbound identifier has no family; the socket's is used. */
int rs_socket_name(struct rs_sock *s, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_storage none = { .ss_family = (sa_family_t)s->family };
	struct sockaddr *name;

	if (s->type == SOCK_DGRAM)
		return getsockname(s->fd, addr, len) ? -errno : 0;
	name = rdma_get_local_addr(s->id);
	rs_name(addr, len, name->sa_family ? name : (struct sockaddr *)&none);
	return 0;
}

int rs_socket_peer(struct rs_sock *s, struct sockaddr *addr, socklen_t *len)
{
	if (s->type == SOCK_DGRAM)
		return getpeername(s->fd, addr, len) ? -errno : 0;
	if (s->state < RS_ACCEPTING || s->state == RS_REFUSED)
		return -ENOTCONN;
	rs_name(addr, len, (struct sockaddr *)&s->peer);
	return 0;
}

int rs_socket_control(struct rs_sock *s, int cmd, int arg)
{
	switch (cmd) {
	case F_GETFL:
		return O_RDWR | (atomic_load(&s->nonblock) ? O_NONBLOCK : 0);
	case F_SETFL:
		atomic_store(&s->nonblock, arg & O_NONBLOCK);
		return 0;
	case F_GETFD:
		return s->fd_flags;
	case F_SETFD:
		s->fd_flags = arg;
		return 0;
	default:
		return -ENOTSUP;
	}
}
