/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/recv.h"

#include "ulp/preload/told.h"
#include "ulp/rds/claim.h"
#include "ulp/rds/preload/maps.h"
#include "ulp/rds/preload/memory.h"
#include "ulp/rds/preload/vector.h"
#include "ulp/rds/record.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rds.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The octets behind those of the record, from the memfd into what is left of the buffers. */
static ssize_t read_rest(int fd, const struct msghdr *m, size_t skip, size_t len)
{
	struct rds_vector v;
	ssize_t n;

	rds_vector(&v, NULL, m, skip, len);
	if (!v.nr)
		return 0;
	do
		n = preadv(fd, v.iov, v.nr, 0);
	while (n < 0 && rds_may_retry(-errno)); /* the record has been taken */
	return n < 0 ? -errno : n;
}

static void give_name(struct msghdr *m, const struct rds_record *head)
{
	if (m->msg_name)
		rsp_addr_give(&head->addr, m->msg_name, &m->msg_namelen);
}

/* A control message, if the program has room for it. */
static void give_control(struct msghdr *m, int type, const void *data, size_t len)
{
	struct cmsghdr *c = m->msg_controllen >= CMSG_SPACE(len) ? CMSG_FIRSTHDR(m) : NULL;

	m->msg_flags |= c ? 0 : MSG_CTRUNC;
	m->msg_controllen = c ? CMSG_SPACE(len) : 0;
	if (!c)
		return;
	c->cmsg_level = SOL_RDS;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
}

/* A message of `now` octets in the buffers; the rest of it in the memfd. */
static ssize_t take_data(struct msghdr *m, const struct rds_record *head, size_t now, int memfd, int flags)
{
	size_t in_record = head->len < RDS_INLINE ? head->len : RDS_INLINE;
	ssize_t more = memfd >= 0 && now == in_record ? read_rest(memfd, m, now, head->len - in_record) : 0;

	if (more < 0)
		return more;
	now += (size_t)more;
	m->msg_flags = now < head->len ? MSG_TRUNC : 0;
	if (head->cookie)
		give_control(m, RDS_CMSG_RDMA_DEST, &head->cookie, sizeof(head->cookie));
	else
		m->msg_controllen = 0;
	if (head->used_key && !(flags & MSG_PEEK))
		rds_memory_leave(head->used_key);
	give_name(m, head);
	return (ssize_t)(flags & MSG_TRUNC ? head->len : now);
}

/* Ports that are no longer congested (RDS_CONG_MONITOR): a control message without octets. */
static ssize_t take_update(struct msghdr *m, const struct rds_record *head)
{
	m->msg_flags = 0;
	m->msg_namelen = 0;
	give_control(m, RDS_CMSG_CONG_UPDATE, &head->mask, sizeof(head->mask));
	return 0;
}

/* Reads octets of the memfd. Returns true if all have come. */
static bool read_at(int memfd, void *to, size_t len, off_t at)
{
	ssize_t n;

	do
		n = pread(memfd, to, len, at);
	while (n < 0 && rds_may_retry(-errno));
	return n == (ssize_t)len;
}

/* Puts what a work has read to its pieces. Returns false if memory is not there any more. */
static bool place(const struct rds_work *w, int memfd)
{
	off_t at = (off_t)(w->nr_pieces * sizeof(struct rds_piece));
	struct rds_piece p;

	for (uint32_t i = 0; i < w->nr_pieces; i++, at += (off_t)p.bytes)
		if (!read_at(memfd, &p, sizeof(p), (off_t)(i * sizeof(p))) || !read_at(memfd, (void *)(uintptr_t)p.addr, p.bytes, at))
			return false;
	return true;
}

/* A work is done. Memory of another process - a parent that has made the send - is not touched. */
static ssize_t take_done(struct msghdr *m, const struct rds_record *head, int memfd)
{
	const struct rds_work *w = &head->work[0];
	struct rds_rdma_notify news;

	memset(&news, 0, sizeof(news));
	news.user_token = w->token;
	news.status = w->status;
	if (memfd >= 0 && w->pid == (uint32_t)getpid() && !place(w, memfd))
		news.status = RDS_RDMA_OTHER_ERROR;
	if (!head->nr_works)
		return -ERESTART;
	m->msg_flags = 0;
	m->msg_namelen = 0;
	give_control(m, RDS_CMSG_RDMA_STATUS, &news, sizeof(news));
	return 0;
}

/* Returns false for a record that an owner of the connections has sent again, and that has been received before. */
static bool is_first(const struct rds_record *head)
{
	struct rds_maps *maps = head->number ? rds_maps(head->generation) : NULL;

	return !maps || head->claim >= RDS_SOCKS_MAX || rds_claim(&maps->claims[head->claim], head->number);
}

/* What the record says that its memfd has. */
static bool has_memfd(const struct rds_record *head)
{
	if (head->kind == RDS_RECORD_DATA)
		return head->len > RDS_INLINE;
	return head->kind == RDS_RECORD_DONE && !head->work[0].status && rds_work_in(&head->work[0]);
}

static int has_free_fd(int fd)
{
	int spare = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (spare < 0)
		return -errno;
	close(spare);
	return 0;
}

/*
 * Waits for a record, as flags say, and looks whether it can be received with all that belongs to it; if not, it stays. Returns 0 or a negative errno.
 */
static int look(int fd, int flags)
{
	struct rds_record head;
	ssize_t n = syscall(SYS_recvfrom, fd, &head, sizeof(head), (flags & MSG_DONTWAIT) | MSG_PEEK, NULL, NULL);

	if (n < (ssize_t)sizeof(head))
		return n < 0 ? rsp_told(RSP_OF_STREAM, -errno) : -ECONNRESET;
	if (head.number && !rds_maps(head.generation) && rsp_told(RSP_OF_REQUEST | RSP_OF_CALL, -errno) == -ENOMEM)
		return -ENOMEM; /* received without them, the message might come again from the next owner */
	return has_memfd(&head) ? has_free_fd(fd) : 0;
}

/* Takes one record. Returns what the call returns, or -ERESTART: there was nothing for the program in it. */
static ssize_t take_record(int fd, struct msghdr *m, int flags)
{
	struct rds_record head = { 0 };
	struct rds_vector v;
	int memfd = -1, got;
	ssize_t n = look(fd, flags);

	if (n)
		return n;
	rds_vector(&v, &head, m, 0, RDS_INLINE);
	n = rds_take(fd, v.iov, v.nr, &memfd, (flags & MSG_PEEK) | MSG_DONTWAIT, &got);
	if (n == -EAGAIN) {
		n = -ERESTART; /* another receiver was first */
	} else if (n < (ssize_t)sizeof(head)) {
		n = n < 0 ? rsp_told(RSP_OF_STREAM, (int)n) : -ECONNRESET;
	} else if (has_memfd(&head) && memfd < 0) {
		n = -ENOMEM; /* another thread has taken the last descriptor in this moment */
	} else if (!(flags & MSG_PEEK) && !is_first(&head)) {
		n = -ERESTART;
	} else if (head.kind == RDS_RECORD_DATA) {
		n = take_data(m, &head, (size_t)n - sizeof(head), memfd, flags);
	} else {
		if (flags & MSG_PEEK) {
			if (memfd >= 0)
				close(memfd);
			return take_record(fd, m, flags & ~MSG_PEEK);
		}
		n = head.kind == RDS_RECORD_DONE ? take_done(m, &head, memfd) : head.mask ? take_update(m, &head) : -ERESTART;
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
