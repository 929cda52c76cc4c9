/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/control.h"

#include "ulp/rds/header.h"
#include "ulp/rds/preload/ask.h"
#include "ulp/rds/preload/memory.h"
#include "ulp/rds/preload/sockets.h"
#include "ulp/rds/say.h"

#include <errno.h>
#include <linux/rds.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- regions --- */

static struct rds_get_mr_args get_args(const void *val)
{
	struct rds_get_mr_args a;

	memcpy(&a, val, sizeof(a));
	return a;
}

/* The octets of whole pages, 1 MiB of them, and one page more where the first one is not at the begin of its page. */
static int check_region(const struct rds_iovec *v)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = v->addr + v->bytes;

	if (end <= v->addr || end + page - 1 < end || v->bytes > UINT32_MAX)
		return -EINVAL;
	return (end + page - 1) / page - v->addr / page - 1 > RDS_MESSAGE_MAX / page || v->bytes > RDS_MESSAGE_MAX ? -EMSGSIZE : 0;
}

/* What a copy from or to the program's memory that has returned n is: 0, -EFAULT, or -ENOMEM. */
static int copied(long n, size_t len)
{
	return n == (long)len ? 0 : n < 0 && errno != EFAULT ? -errno : -EFAULT;
}

/* Writes the cookie where the program wants it. */
static int put_cookie(uint64_t to, uint64_t cookie)
{
	struct iovec local = { &cookie, sizeof(cookie) }, remote = { (void *)(uintptr_t)to, sizeof(cookie) };

	return to ? copied(syscall(SYS_process_vm_writev, getpid(), &local, 1, &remote, 1, 0), sizeof(cookie)) : 0;
}

static int end_region(int fd, uint64_t cookie)
{
	struct rds_request q = { .op = RDS_OP_FREE_REGION, .value = (int64_t)cookie };
	struct rds_answer a;
	int r = rds_is_socket(fd, &q) ? rds_ask(&q, -1, &a, NULL) : -EBADF;

	if (!r)
		rds_memory_leave((uint32_t)cookie);
	return r;
}

/* One that no peer knows yet: if the carrier cannot be told, it has the region until the socket is closed, but not the program's pages. */
static void drop_region(int fd, uint64_t cookie)
{
	if (end_region(fd, cookie))
		rds_memory_leave((uint32_t)cookie);
}

static int make_region(int fd, const struct rds_get_mr_args *args, uint64_t *ret_cookie)
{
	struct rds_request q = { .op = RDS_OP_MAY_REGION, .region = { args->vec.addr, args->vec.bytes, args->flags } };
	struct rds_answer a;
	int r = rds_is_socket(fd, &q) ? rds_ask(&q, -1, &a, NULL) : -EBADF, memfd;

	if (!r)
		r = check_region(&args->vec);
	if (r)
		return r;
	memfd = rds_memory_share(args->vec.addr, args->vec.bytes);
	if (memfd < 0)
		return memfd;
	q.op = RDS_OP_REGION;
	r = rds_ask(&q, memfd, &a, NULL);
	if (r) {
		rds_memory_restore(args->vec.addr, args->vec.bytes);
		return r;
	}
	*ret_cookie = (uint64_t)a.value;
	r = rds_memory_enter(*ret_cookie, args->vec.addr, args->vec.bytes);
	if (r) {
		drop_region(fd, *ret_cookie);
		rds_memory_restore(args->vec.addr, args->vec.bytes);
		return r;
	}
	r = put_cookie(args->cookie_addr, *ret_cookie);
	if (r)
		drop_region(fd, *ret_cookie);
	return r;
}

int rds_region_get(int fd, int opt, const void *val, socklen_t len)
{
	struct rds_get_mr_for_dest_args dest;
	struct rds_get_mr_args args;
	uint64_t cookie;

	if (len != (opt == RDS_GET_MR ? sizeof(args) : sizeof(dest)))
		return -EINVAL;
	if (opt == RDS_GET_MR) {
		args = get_args(val);
	} else {
		memcpy(&dest, val, sizeof(dest));
		args = (struct rds_get_mr_args){ dest.vec, dest.cookie_addr, dest.flags };
	}
	return make_region(fd, &args, &cookie);
}

/* Cookie 0: Linux gives back what it holds of regions that have ended; here nothing is held. */
int rds_region_end(int fd, const void *val, socklen_t len)
{
	struct rds_free_mr_args args;
	struct rsp_addr local;

	if (len != sizeof(args))
		return -EINVAL;
	memcpy(&args, val, sizeof(args));
	if (!args.cookie)
		return rds_bound(fd, &local) ? 0 : -EINVAL;
	return end_region(fd, args.cookie);
}

/* --- control messages --- */

static struct rds_rdma_args rdma_args(const struct cmsghdr *c)
{
	struct rds_rdma_args a;

	memcpy(&a, CMSG_DATA(c), sizeof(a));
	return a;
}

static const struct rds_piece *pieces_of(const struct rds_rdma_args *a)
{
	return (const struct rds_piece *)(uintptr_t)a->local_vec_addr;
}

/* The first of each kind; a second one is refused. */
static int take(const struct cmsghdr **to, const struct cmsghdr *c, size_t least)
{
	if (c->cmsg_len < CMSG_LEN(least) || *to)
		return -EINVAL;
	*to = c;
	return 0;
}

static int take_args(struct rds_control *r, const struct cmsghdr *c)
{
	int e = take(&r->args, c, sizeof(struct rds_rdma_args));

	if (!e)
		r->rdma_bytes = rdma_args(c).remote_vec.bytes;
	return e;
}

static int take_one(struct rds_control *r, const struct cmsghdr *c)
{
	switch (c->cmsg_type) {
	case RDS_CMSG_RDMA_ARGS:
		return take_args(r, c);
	case RDS_CMSG_RDMA_DEST:
		return r->map ? -EINVAL : take(&r->dest, c, sizeof(rds_rdma_cookie_t));
	case RDS_CMSG_RDMA_MAP:
		return r->dest ? -EINVAL : take(&r->map, c, sizeof(struct rds_get_mr_args));
	case RDS_CMSG_ATOMIC_FADD:
	case RDS_CMSG_ATOMIC_CSWP:
	case RDS_CMSG_MASKED_ATOMIC_FADD:
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		return take(&r->atomic, c, sizeof(struct rds_atomic_args));
	default:
		return -EINVAL;
	}
}

int rds_control_read(struct rds_control *ret, const struct msghdr *m)
{
	struct msghdr *h = (struct msghdr *)(uintptr_t)m;
	int e;

	*ret = (struct rds_control){ 0 };
	for (struct cmsghdr *c = m->msg_controllen ? CMSG_FIRSTHDR(h) : NULL; c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_len < sizeof(*c) || (uint8_t *)c + c->cmsg_len > (uint8_t *)m->msg_control + m->msg_controllen)
			return -EINVAL;
		e = c->cmsg_level == SOL_RDS ? take_one(ret, c) : 0;
		if (e)
			return e;
	}
	return (ret->args || ret->atomic) && (ret->dest || ret->map) ? -EINVAL : 0;
}

/* --- works --- */

/* The pieces, in the program's memory, and how many octets they have. */
static int sum_pieces(const struct rds_rdma_args *a, uint64_t *ret)
{
	struct rds_piece p;
	struct iovec local = { &p, sizeof(p) }, remote;
	int e;

	*ret = 0;
	if (!a->nr_local)
		return -EINVAL;
	if (a->nr_local > RDS_WORK_PIECES)
		return -EMSGSIZE;
	for (uint64_t i = 0; i < a->nr_local; i++) {
		remote = (struct iovec){ (void *)(uintptr_t)(a->local_vec_addr + i * sizeof(p)), sizeof(p) };
		e = copied(syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0), sizeof(p));
		if (e)
			return e;
		if (p.addr + p.bytes <= p.addr || p.bytes > UINT32_MAX)
			return -EINVAL;
		*ret += p.bytes;
	}
	return 0;
}

static int add_args(const struct cmsghdr *c, struct rds_record *head)
{
	struct rds_rdma_args a = rdma_args(c);
	uint64_t sum;
	int e = sum_pieces(&a, &sum);

	if (e)
		return e;
	if (sum > a.remote_vec.bytes)
		return -EINVAL;
	head->work[head->nr_works++] = (struct rds_work){
		.kind = a.flags & RDS_RDMA_READWRITE ? RDS_WORK_WRITE : RDS_WORK_READ, .flags = (uint16_t)a.flags, .key = (uint32_t)a.cookie,
		.remote = a.remote_vec.addr + (a.cookie >> 32), .bytes = (uint32_t)sum, .nr_pieces = (uint32_t)a.nr_local,
		.token = a.user_token, .pid = (uint32_t)getpid() };
	return 0;
}

/* Adapters have atomics of whole words; masks that make another operation of them have no call in libibverbs. */
static bool has_partial_mask(int type, const struct rds_atomic_args *a)
{
	return (type == RDS_CMSG_MASKED_ATOMIC_FADD && a->m_fadd.nocarry_mask) ||
	       (type == RDS_CMSG_MASKED_ATOMIC_CSWP && (a->m_cswp.compare_mask != UINT64_MAX || a->m_cswp.swap_mask != UINT64_MAX));
}

static int add_atomic(const struct cmsghdr *c, struct rds_record *head)
{
	bool is_add = c->cmsg_type == RDS_CMSG_ATOMIC_FADD || c->cmsg_type == RDS_CMSG_MASKED_ATOMIC_FADD;
	struct rds_atomic_args a;

	memcpy(&a, CMSG_DATA(c), sizeof(a));
	if (a.local_addr % 8)
		return -EFAULT;
	if (has_partial_mask(c->cmsg_type, &a)) {
		rds_say("RDS atomics: a mask leaves bits out, which verbs cannot ask an adapter for: the message is refused; use "
			"RDS_CMSG_ATOMIC_FADD or RDS_CMSG_ATOMIC_CSWP on the whole word");
		return -EOPNOTSUPP;
	}
	head->work[head->nr_works++] = (struct rds_work){
		.kind = is_add ? RDS_WORK_FADD : RDS_WORK_CSWP, .flags = (uint16_t)a.flags, .key = (uint32_t)a.cookie,
		.remote = a.remote_addr + (a.cookie >> 32), .bytes = 8, .nr_pieces = 1, .token = a.user_token,
		.operand = is_add ? a.fadd.add : a.cswp.compare, .swap = is_add ? 0 : a.cswp.swap, .pid = (uint32_t)getpid() };
	return 0;
}

static int may_work(int fd, const struct rds_record *head, bool has_region)
{
	struct rds_request q = { .op = RDS_OP_MAY_WORK, .addr = head->addr, .option = has_region, .value = (int64_t)head->cookie };
	struct rds_answer a;

	return rds_is_socket(fd, &q) ? rds_ask(&q, -1, &a, NULL) : -EBADF;
}

int rds_control_apply(struct rds_control *c, int fd, struct rds_record *head)
{
	struct rds_get_mr_args args;
	int e = c->args ? add_args(c->args, head) : 0;

	if (!e && c->atomic)
		e = add_atomic(c->atomic, head);
	if (!e && c->map) {
		args = get_args(CMSG_DATA(c->map));
		e = make_region(fd, &args, &c->mapped);
		head->cookie = c->mapped;
	}
	if (!e && c->dest)
		memcpy(&head->cookie, CMSG_DATA(c->dest), sizeof(head->cookie));
	if (!e && (head->nr_works || c->dest || c->map))
		e = may_work(fd, head, c->dest || c->map);
	return e;
}

void rds_control_undo(const struct rds_control *c, int fd)
{
	if (c->mapped)
		drop_region(fd, c->mapped);
}

/* --- the memfd --- */

static int append(int memfd, const void *from, size_t len)
{
	long n;

	for (size_t done = 0; done < len; done += (size_t)n) {
		n = syscall(SYS_write, memfd, (const uint8_t *)from + done, len - done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

/* What will come into a piece is refused now if it cannot be written: at its first octet and its last. */
static int try_write(const struct rds_piece *p)
{
	uint8_t octet;
	struct iovec local = { &octet, 1 }, remote = { NULL, 1 };
	int e = 0;

	for (int last = 0; !e && last < 2; last++) {
		remote.iov_base = (void *)(uintptr_t)(last ? p->addr + p->bytes - 1 : p->addr);
		e = copied(syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0), 1);
		if (!e)
			e = copied(syscall(SYS_process_vm_writev, getpid(), &local, 1, &remote, 1, 0), 1);
	}
	return e;
}

static int write_work(int memfd, const struct rds_work *w, const struct rds_piece *pieces)
{
	int e = append(memfd, pieces, w->nr_pieces * sizeof(*pieces));

	for (uint32_t i = 0; !e && i < w->nr_pieces; i++)
		e = w->kind == RDS_WORK_WRITE ? append(memfd, (void *)(uintptr_t)pieces[i].addr, pieces[i].bytes) : try_write(&pieces[i]);
	return e;
}

int rds_control_write(const struct rds_control *c, const struct rds_record *head, int memfd)
{
	struct rds_rdma_args args;
	struct rds_atomic_args atomic;
	struct rds_piece word = { 0, 8 };
	uint32_t at = 0;
	int e = 0;

	if (c->args) {
		args = rdma_args(c->args);
		e = write_work(memfd, &head->work[at++], pieces_of(&args));
	}
	if (!e && c->atomic) {
		memcpy(&atomic, CMSG_DATA(c->atomic), sizeof(atomic));
		word.addr = atomic.local_addr;
		e = write_work(memfd, &head->work[at], &word);
	}
	return e;
}
