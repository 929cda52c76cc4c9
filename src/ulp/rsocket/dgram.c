/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls on a datagram rsocket: see dgram.h. */
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/dgram_dest.h"
#include "ulp/rsocket/dgram_qp.h"
#include "ulp/rsocket/iov.h"
#include "ulp/rsocket/socket.h"
#include "ulp/rsocket/table.h"
#include "ulp/rsocket/wait.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define DRAIN_MS 1000

int rs_dgram_make(struct rs_sock *s)
{
	struct rs_dgram *dg = calloc(1, sizeof(*dg));

	if (!dg)
		return -ENOMEM;
	dg->udp = dg->epfd = -1;
	s->dg = dg;
	dg->udp = socket(s->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (dg->udp < 0)
		return -errno;
	dg->epfd = epoll_create1(EPOLL_CLOEXEC);
	return dg->epfd < 0 ? -errno : dg->udp;
}

static uint32_t slots(uint32_t queue, uint32_t bytes)
{
	uint32_t nr = bytes / RS_DGRAM_MAX < queue ? bytes / RS_DGRAM_MAX : queue;

	return nr ? nr : 1;
}

/* Sizes are fixed by the options at the first use of the socket. */
static int ready(struct rs_sock *s)
{
	struct rs_dgram *dg = s->dg;

	if (dg->ring)
		return 0;
	dg->nr_recv = slots(s->o.rq_size, s->o.rbuf_size);
	dg->nr_send = slots(s->o.sq_size, s->o.sbuf_size);
	dg->size = dg->nr_recv + RS_DGRAM_FORWARDED;
	dg->ring = calloc(dg->size, sizeof(*dg->ring));
	return dg->ring ? 0 : -ENOMEM;
}

bool rs_dgram_push(struct rs_dgram *dg, const struct rs_dgram_msg *msg)
{
	/* The last entries are reserved for datagrams by UDP. */
	if (dg->rd_shut || dg->nr == dg->size ||
	    (msg->qp && dg->nr - dg->forwarded >= dg->nr_recv))
		return false;
	dg->ring[(dg->head + dg->nr++) % dg->size] = *msg;
	return true;
}

static void pop(struct rs_dgram *dg)
{
	struct rs_dgram_msg *msg = &dg->ring[dg->head];

	if (msg->qp)
		rs_dgram_qp_recv(msg->qp, msg->slot);
	else
		dg->forwarded--;
	free(msg->copy);
	dg->head = (dg->head + 1) % dg->size;
	dg->nr--;
}

void rs_dgram_drive(struct rs_sock *s)
{
	int state = rs_cancel_off(), keep = errno;

	if (s->dg->ring) {
		for (struct rs_dgram_qp *qp = s->dg->qps; qp; qp = qp->next)
			rs_dgram_qp_poll(qp);
		rs_dgram_udp_take(s);
	}
	errno = keep;
	rs_cancel_back(state);
}

void rs_dgram_arm(struct rs_sock *s)
{
	for (struct rs_dgram_qp *qp = s->dg->qps; qp; qp = qp->next)
		if (!qp->armed)
			qp->armed = !ibv_req_notify_cq(qp->cq, 0);
}

void rs_dgram_event(struct rs_sock *s)
{
	int state = rs_cancel_off();
	bool any = false;

	for (struct rs_dgram_qp *qp = s->dg->qps; qp; qp = qp->next) {
		struct ibv_cq *cq;
		void *context;

		if (!qp->armed || ibv_get_cq_event(qp->comp, &cq, &context))
			continue;
		ibv_ack_cq_events(cq, 1);
		qp->armed = false;
		any = true;
	}
	if (any)
		rs_sleepers_wake(s->sleepers, -1);
	rs_cancel_back(state);
}

void rs_dgram_fds(struct rs_sock *s, int fd[2])
{
	fd[0] = s->dg->epfd;
	fd[1] = s->dg->udp;
}

static bool test_read(struct rs_sock *s)
{
	return s->dg->nr || s->dg->rd_shut;
}

/* The destination of the next send is unknown: every queue pair must have a free slot. */
static bool test_write(struct rs_sock *s)
{
	for (struct rs_dgram_qp *qp = s->dg->qps; qp; qp = qp->next)
		if (!qp->nr_free)
			return s->dg->wr_shut;
	return true;
}

static bool test_idle(struct rs_sock *s)
{
	for (struct rs_dgram_qp *qp = s->dg->qps; qp; qp = qp->next)
		if (qp->nr_free != s->dg->nr_send)
			return false;
	return true;
}

short rs_dgram_events(struct rs_sock *s, short events)
{
	short re = 0;

	/* Polling is a use, also of an unbound socket. */
	if (ready(s))
		return POLLERR;
	if (test_read(s))
		re |= POLLIN | POLLRDNORM;
	if (test_write(s))
		re |= POLLOUT | POLLWRNORM;
	return re & events;
}

int rs_dgram_bind(struct rs_sock *s, const struct sockaddr *addr, socklen_t len)
{
	int r;

	if (bind(s->dg->udp, addr, len))
		return -errno;
	pthread_mutex_lock(&s->c);
	r = ready(s);
	pthread_mutex_unlock(&s->c);
	return r;
}

static int set_peer(struct rs_sock *s, const struct sockaddr *addr)
{
	struct rs_dgram_dest *d;
	int r = ready(s);

	if (!r)
		r = rs_dgram_dest_get(s, addr, &d);
	if (r)
		return r;
	memcpy(&s->dg->peer, addr, rs_addr_len(addr));
	s->dg->connected = true;
	return 0;
}

int rs_dgram_connect(struct rs_sock *s, const struct sockaddr *addr, socklen_t len)
{
	int state = rs_cancel_off(), r = 0;

	pthread_mutex_lock(&s->c);
	if (!addr || len < sizeof(sa_family_t))
		r = -EINVAL;
	else if (connect(s->dg->udp, addr, len))
		r = -errno;
	else if (addr->sa_family == AF_UNSPEC)
		s->dg->connected = false;
	else
		r = set_peer(s, addr);
	pthread_mutex_unlock(&s->c);
	rs_cancel_back(state);
	return r;
}

/* Returns -EAGAIN if no send slot is free. Called with c held. */
static int send_now(struct rs_sock *s, const struct sockaddr *to, const struct iovec *iov, int nr,
		    size_t len)
{
	struct rs_dgram_dest *d;
	int r = s->dg->wr_shut ? -EPIPE : ready(s);

	if (!r)
		rs_dgram_drive(s);
	if (!r)
		r = rs_dgram_dest_get(s, to, &d);
	if (r)
		return r;
	if (!d->ah)
		return rs_dgram_udp_send(s, d, RS_OP_DATA, iov, nr);
	if (!d->qp->nr_free)
		return -EAGAIN;
	return rs_dgram_qp_send(d->qp, d, iov, len);
}

ssize_t rs_dgram_send(struct rs_sock *s, const struct iovec *iov, int nr, int flags,
		      const struct sockaddr *to, socklen_t tolen)
{
	size_t len = rs_iov_length(iov, nr);
	int state, r;

	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (to && (tolen < sizeof(sa_family_t) || to->sa_family != s->family ||
		   tolen < rs_addr_len(to)))
		return -EINVAL;
	if (len > RS_DGRAM_MAX)
		return -EMSGSIZE;
	do {
		state = rs_cancel_off();
		pthread_mutex_lock(&s->c);
		if (!to && !s->dg->connected)
			r = -EDESTADDRREQ;
		else
			r = send_now(s, to ? to : (struct sockaddr *)&s->dg->peer, iov, nr, len);
		pthread_mutex_unlock(&s->c);
		rs_cancel_back(state);
		if (r != -EAGAIN || rs_nowait(s, flags))
			break;
		r = rs_wait(s, test_write, false, -1);
	} while (!r);
	return r ? r : (ssize_t)len;
}

static ssize_t read_first(struct rs_sock *s, const struct iovec *iov, int nr, int flags,
			  struct sockaddr *from, socklen_t *fromlen, int *ret_flags)
{
	struct rs_dgram *dg = s->dg;
	struct rs_cursor cur = { .iov = iov };
	struct rs_dgram_msg *msg;
	const uint8_t *data;
	size_t room = rs_iov_length(iov, nr), n;
	ssize_t r;

	if (!dg->nr)
		return dg->rd_shut ? 0 : -EAGAIN;
	msg = &dg->ring[dg->head];
	data = msg->qp ? rs_dgram_qp_slot(msg->qp, msg->slot) + msg->skip : msg->copy;
	n = room < msg->length ? room : msg->length;
	rs_cursor_in(&cur, data, n);
	if (from && fromlen)
		rs_name(from, fromlen, (struct sockaddr *)&msg->from);
	if (ret_flags && n < msg->length)
		*ret_flags |= MSG_TRUNC;
	r = flags & MSG_TRUNC ? (ssize_t)msg->length : (ssize_t)n;
	if (!(flags & MSG_PEEK))
		pop(dg);
	return r;
}

ssize_t rs_dgram_recv(struct rs_sock *s, const struct iovec *iov, int nr, int flags,
		      struct sockaddr *from, socklen_t *fromlen, int *ret_flags)
{
	ssize_t r;

	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	do {
		pthread_mutex_lock(&s->c);
		r = ready(s);
		if (!r && !s->dg->nr)
			rs_dgram_drive(s);
		if (!r)
			r = read_first(s, iov, nr, flags, from, fromlen, ret_flags);
		pthread_mutex_unlock(&s->c);
		if (r != -EAGAIN)
			return r;
		r = rs_wait(s, test_read, rs_nowait(s, flags), -1);
	} while (!r);
	return r;
}

int rs_dgram_shutdown(struct rs_sock *s, int how)
{
	pthread_mutex_lock(&s->c);
	if (how != SHUT_WR)
		s->dg->rd_shut = true;
	if (how != SHUT_RD)
		s->dg->wr_shut = true;
	rs_sleepers_wake(s->sleepers, -1);
	pthread_mutex_unlock(&s->c);
	return 0;
}

void rs_dgram_close(struct rs_sock *s)
{
	rs_dgram_shutdown(s, SHUT_RDWR);
	rs_wait(s, test_idle, false, DRAIN_MS);
}

void rs_dgram_free(struct rs_sock *s)
{
	struct rs_dgram *dg = s->dg;

	if (!dg)
		return;
	while (dg->nr) {
		struct rs_dgram_msg *msg = &dg->ring[dg->head];

		free(msg->copy);
		dg->head = (dg->head + 1) % dg->size;
		dg->nr--;
	}
	rs_dgram_dests_free(dg);
	while (dg->qps) {
		struct rs_dgram_qp *qp = dg->qps;

		dg->qps = qp->next;
		rs_dgram_qp_free(qp);
	}
	if (dg->epfd >= 0)
		close(dg->epfd);
	if (dg->udp >= 0)
		close(dg->udp);
	free(dg->ring);
	free(dg);
	s->dg = NULL;
}
