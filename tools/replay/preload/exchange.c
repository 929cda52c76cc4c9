/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exchange.h"

#include "descriptors.h"
#include "log.h"
#include "raw.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static void bytes_of(const struct iovec *iov, int n_iov, size_t n)
{
	for (int i = 0; i < n_iov && n; i++) {
		size_t part = iov[i].iov_len < n ? iov[i].iov_len : n;

		rp_bytes(iov[i].iov_base, part);
		n -= part;
	}
}

/* Descriptors that another process has sent. */
static void take_descriptors(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			rp_fd_place(fd, -1, RP_FD_PLACE);
		}
	}
}

static void receive_message(struct msghdr *m, size_t n, socklen_t name_room)
{
	size_t room = 0;

	for (size_t i = 0; i < m->msg_iovlen; i++)
		room += m->msg_iov[i].iov_len;
	rp_bytes(&m->msg_namelen, sizeof(m->msg_namelen));
	rp_bytes(&m->msg_controllen, sizeof(m->msg_controllen));
	rp_bytes(&m->msg_flags, sizeof(m->msg_flags));
	if (m->msg_name)
		rp_bytes(m->msg_name, m->msg_namelen < name_room ? m->msg_namelen : name_room);
	if (m->msg_control)
		rp_bytes(m->msg_control, m->msg_controllen);
	bytes_of(m->msg_iov, (int)m->msg_iovlen, n < room ? n : room);
	if (m->msg_control)
		take_descriptors(m);
}

static void receive_messages(struct mmsghdr *v, long n, const socklen_t *rooms)
{
	for (long i = 0; i < n; i++) {
		rp_bytes(&v[i].msg_len, sizeof(v[i].msg_len));
		receive_message(&v[i].msg_hdr, v[i].msg_len, rooms[i]);
	}
}

/* The address of a datagram is compared before it. */
static void send_address(const void *addr, size_t n)
{
	struct iovec one = { (void *)addr, n };

	if (addr && n)
		rp_compare(&one, 1, n, false);
}

static void send_messages(struct mmsghdr *v, long n, bool is_message)
{
	for (long i = 0; i < n; i++) {
		rp_bytes(&v[i].msg_len, sizeof(v[i].msg_len));
		send_address(v[i].msg_hdr.msg_name, v[i].msg_hdr.msg_namelen);
		rp_compare(v[i].msg_hdr.msg_iov, (int)v[i].msg_hdr.msg_iovlen, v[i].msg_len, is_message);
	}
}

void rp_look_before(struct rp_before *b, const struct rp_desc *d, int nr, const long a[6])
{
	struct mmsghdr *v = (void *)a[1];

	b->addr_room = d->addr_len ? *d->addr_len : 0;
	b->name_rooms[0] = d->msg ? d->msg->msg_namelen : 0;
	for (long i = 0; nr == SYS_recvmmsg && i < a[2] && i < RP_BATCH; i++)
		b->name_rooms[i] = v[i].msg_hdr.msg_namelen;
}

/* What is behind the pointers in what ioctl() fills. */
static void exchange_ioctl(const long a[6])
{
	const struct ifreq *r = (const void *)a[2];
	const struct ifconf *c = (const void *)a[2];
	uint32_t command;

	if (a[1] == SIOCGIFCONF && c->ifc_buf)
		rp_bytes(c->ifc_buf, (size_t)c->ifc_len);
	if (a[1] != SIOCETHTOOL)
		return;
	memcpy(&command, r->ifr_data, sizeof(command));
	if (command == ETHTOOL_GDRVINFO)
		rp_bytes(r->ifr_data, sizeof(struct ethtool_drvinfo));
	else if (command == ETHTOOL_GSET)
		rp_bytes(r->ifr_data, sizeof(struct ethtool_cmd));
}

/* Results below zero come with no memory, but for those of interrupted sleeps. */
void rp_exchange(const struct rp_desc *d, const struct rp_before *b, int nr, const long a[6], long r)
{
	bool is_message = rp_fd_kind(d->fd) == RP_FD_NET;

	if (r == -EINTR && nr == SYS_nanosleep && a[1])
		rp_bytes((void *)a[1], 16);
	if (r == -EINTR && nr == SYS_clock_nanosleep && a[3] && !a[1])
		rp_bytes((void *)a[3], 16);
	if (r < 0)
		return;
	for (int i = 0; i < d->n_outs; i++)
		rp_bytes(d->outs[i].p, d->outs[i].by_result ? d->outs[i].n * (size_t)r : d->outs[i].n);
	if (nr == SYS_ioctl)
		exchange_ioctl(a);
	if (d->addr && d->addr_len) {
		rp_bytes(d->addr_len, sizeof(*d->addr_len));
		rp_bytes(d->addr, *d->addr_len < b->addr_room ? *d->addr_len : b->addr_room);
	}
	bytes_of(d->in_iov, d->n_in_iov, (size_t)r);
	if (nr == SYS_sendto)
		send_address((const void *)a[4], (size_t)a[5]);
	if (nr == SYS_sendmsg)
		send_address(((const struct msghdr *)a[1])->msg_name, ((const struct msghdr *)a[1])->msg_namelen);
	/* What the process writes to itself is not compared: the message that it becomes is to be the first that differs. */
	if (d->n_out_data && rp_fd_kind(d->fd) != RP_FD_MEMORY)
		rp_compare(d->out_data ? d->out_data : &d->one, d->n_out_data, (size_t)r, is_message);
	if (d->msg)
		receive_message(d->msg, (size_t)r, b->name_rooms[0]);
	if (nr == SYS_recvmmsg)
		receive_messages((void *)a[1], r, b->name_rooms);
	if (nr == SYS_sendmmsg)
		send_messages((void *)a[1], r, is_message);
}
