/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/tcp_send.h"

#include "ulp/rds/exchange.h"
#include "ulp/rds/node.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define ACK_MOST_MS 32

/* What TCP has acknowledged: what is written less what the kernel still has. */
void rds_tcp_take_acks(struct rds_tcp *t)
{
	int queued;

	if (t->state == RDS_TCP_UP && !ioctl(t->watch.fd, SIOCOUTQ, &queued) && queued >= 0 && (uint64_t)queued <= t->written)
		rds_flow_acked(&t->c.flow, t->written - (uint64_t)queued, rds_node_done, t->c.node);
}

void rds_tcp_ack_due(struct rds_timer *timer)
{
	struct rds_tcp *t = ut_container(timer, struct rds_tcp, ack);

	rds_tcp_take_acks(t);
	t->ack_ms = t->ack_ms * 2 > ACK_MOST_MS ? ACK_MOST_MS : t->ack_ms * 2;
	if (!ut_list_empty(&t->c.flow.unacked))
		rds_timer_set(rds_tcp_loop(t), &t->ack, t->ack_ms);
}

/* Begins the map or the next message. Returns false if there is neither. */
static bool begin_message(struct rds_tcp *t)
{
	if ((t->held && !t->c.map_due) || !rds_out_begin(&t->c))
		return false;
	rds_header_put(t->head, &t->c.out.header);
	return true;
}

static void end_message(struct rds_tcp *t)
{
	t->sent = 0;
	rds_out_end(&t->c, t->written);
	t->ack_ms = 1;
	rds_timer_by(rds_tcp_loop(t), &t->ack, t->ack_ms);
}

/* Writes what is left of the message that has begun. Returns 0 if it is whole, or a negative errno. */
static int write_message(struct rds_tcp *t)
{
	const uint8_t *payload = rds_out_payload(&t->c);
	size_t len = t->c.out.header.len, in_head;
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	while (t->sent < sizeof(t->head) + len) {
		in_head = t->sent < sizeof(t->head) ? sizeof(t->head) - t->sent : 0;
		iov[0] = (struct iovec){ t->head + sizeof(t->head) - in_head, in_head };
		iov[1] = (struct iovec){ (void *)(payload + (in_head ? 0 : t->sent - sizeof(t->head))),
					 len - (in_head ? 0 : t->sent - sizeof(t->head)) };
		n = sendmsg(t->watch.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		t->sent += (size_t)n;
		t->written += (uint64_t)n;
	}
	return 0;
}

void rds_tcp_watch(struct rds_tcp *t, bool out)
{
	rds_watch_set(rds_tcp_loop(t), &t->watch, (t->c.paused ? 0 : EPOLLIN) | (out ? EPOLLOUT : 0));
}

void rds_tcp_transmit(struct rds_tcp *t)
{
	int r = 0;

	while (!r && !t->ends && (t->c.out.begun || begin_message(t))) {
		r = write_message(t);
		if (!r)
			end_message(t);
	}
	/* What the peer has sent before is still to be read: the end is reported once that is done. */
	if (r && r != -EAGAIN && r != -ENOBUFS && r != -ENOMEM)
		shutdown(t->watch.fd, SHUT_RDWR);
	rds_tcp_watch(t, r != 0);
}
