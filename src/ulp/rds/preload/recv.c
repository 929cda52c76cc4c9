/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/recv.h"

#include "ulp/rds/preload/vector.h"
#include "ulp/rds/record.h"

#include <errno.h>
#include <linux/rds.h>
#include <string.h>
#include <unistd.h>

/* The octets behind those of the record, from the memfd into what is left of the buffers. */
static ssize_t read_rest(int fd, const struct msghdr *m, size_t skip, size_t len)
{
	struct rds_vector v;
	ssize_t n;

	rds_vector(&v, NULL, m, skip, len);
	if (!v.nr)
		return 0;
	n = preadv(fd, v.iov, v.nr, 0);
	return n < 0 ? -errno : n;
}

static void give_name(struct msghdr *m, const struct rds_record *head)
{
	if (m->msg_name)
		rsp_addr_give(&head->addr, m->msg_name, &m->msg_namelen);
}

/* A message of `now` octets in the buffers; the rest of it in the memfd. */
static ssize_t take_data(struct msghdr *m, const struct rds_record *head, size_t now, int memfd, int flags)
{
	size_t in_record = head->len < RDS_INLINE ? head->len : RDS_INLINE;
	ssize_t more = memfd >= 0 && now == in_record ? read_rest(memfd, m, now, head->len - in_record) : 0;

	if (more < 0)
		return more;
	now += (size_t)more;
	m->msg_controllen = 0;
	m->msg_flags = now < head->len ? MSG_TRUNC : 0;
	give_name(m, head);
	return (ssize_t)(flags & MSG_TRUNC ? head->len : now);
}

/* Ports that are no longer congested (RDS_CONG_MONITOR): a control message without octets. */
static ssize_t take_update(struct msghdr *m, const struct rds_record *head)
{
	struct cmsghdr *c = m->msg_controllen >= CMSG_SPACE(sizeof(head->mask)) ? CMSG_FIRSTHDR(m) : NULL;

	m->msg_flags = c ? 0 : MSG_CTRUNC;
	m->msg_namelen = 0;
	m->msg_controllen = c ? CMSG_SPACE(sizeof(head->mask)) : 0;
	if (!c)
		return 0;
	c->cmsg_level = SOL_RDS;
	c->cmsg_type = RDS_CMSG_CONG_UPDATE;
	c->cmsg_len = CMSG_LEN(sizeof(head->mask));
	memcpy(CMSG_DATA(c), &head->mask, sizeof(head->mask));
	return 0;
}

/* Takes one record. Returns what the call returns, or -ERESTART: there was nothing for the program in it. */
static ssize_t take_record(int fd, struct msghdr *m, int flags)
{
	struct rds_record head = { 0 };
	struct rds_vector v;
	int memfd, got;
	ssize_t n;

	rds_vector(&v, &head, m, 0, RDS_INLINE);
	n = rds_take(fd, v.iov, v.nr, &memfd, flags & (MSG_PEEK | MSG_DONTWAIT), &got);
	if (n < (ssize_t)sizeof(head)) {
		n = n < 0 ? n : -ECONNRESET;
	} else if (head.kind == RDS_RECORD_DATA) {
		n = take_data(m, &head, (size_t)n - sizeof(head), memfd, flags);
	} else {
		if (flags & MSG_PEEK)
			return take_record(fd, m, flags & ~MSG_PEEK);
		n = head.mask ? take_update(m, &head) : -ERESTART;
	}
	if (memfd >= 0)
		close(memfd);
	return n;
}

ssize_t rds_recv(int fd, struct msghdr *m, int flags)
{
	ssize_t n;

	if (flags & MSG_OOB)
		return 0;
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;
	if (m->msg_iovlen > RDS_VECTOR_MAX)
		return -EMSGSIZE;
	while ((n = take_record(fd, m, flags)) == -ERESTART)
		;
	return n;
}
