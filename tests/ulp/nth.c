/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "nth.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <rdma/rdma_cma.h>

#undef ibv_reg_mr

static _Thread_local unsigned long left, run;
static _Thread_local long held, descriptors;
static _Thread_local bool counts, fired;
static _Thread_local const char *failed;

void nth_arm(unsigned long n)
{
	nth_arm_run(n, 1);
}

void nth_arm_run(unsigned long n, unsigned long length)
{
	left = n;
	run = length;
	held = descriptors = 0;
	counts = true;
	fired = false;
	failed = "none";
}

bool nth_disarm(void)
{
	left = 0;
	counts = false;
	return fired;
}

const char *nth_name(void)
{
	return failed;
}

long nth_left(void)
{
	return held + descriptors;
}

long nth_left_but_descriptors(void)
{
	return held;
}

void nth_got(long nr)
{
	held += counts ? nr : 0;
}

bool nth_fails(const char *name)
{
	if (!left || --left)
		return false;
	if (--run)
		left = 1;
	fired = true;
	failed = name;
	if (nth_on_failure)
		nth_on_failure(name);
	errno = ENOMEM;
	return true;
}

static bool fails(const char *name)
{
	return nth_fails(name);
}

#define DECLARE(type, name, ...)        \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__);

/* Gives an object, or none. */
#define GETS(type, name, none, params, args) GETS_A(held, type, name, none, params, args)
#define GETS_A(count, type, name, none, params, args)   \
	DECLARE(type, name, PARAMS params)              \
	type __wrap_##name(PARAMS params)               \
	{                                               \
		type got = none;                        \
                                                        \
		if (!fails(#name))                      \
			got = __real_##name args;       \
		count += counts && got != none;         \
		return got;                             \
	}
/* Gives an object through a pointer, with 0; or -1. */
#define MAKES(name, params, args)                       \
	DECLARE(int, name, PARAMS params)               \
	int __wrap_##name(PARAMS params)                \
	{                                               \
		int r = fails(#name) ? -1 : __real_##name args; \
                                                        \
		held += counts && !r;                   \
		return r;                               \
	}
/* Does something that is not given back. */
#define DOES(type, name, params, args)                  \
	DECLARE(type, name, PARAMS params)              \
	type __wrap_##name(PARAMS params)               \
	{                                               \
		return fails(#name) ? -1 : __real_##name args; \
	}
/* Gives back. */
#define GIVES(type, name, present, params, args) GIVES_A(held, type, name, present, params, args)
#define GIVES_A(count, type, name, present, params, args) \
	DECLARE(type, name, PARAMS params)              \
	type __wrap_##name(PARAMS params)               \
	{                                               \
		count -= counts && (present);           \
		return __real_##name args;              \
	}
#define PARAMS(...) __VA_ARGS__

/* The calls with offsets have a second name where these have 64 bits. */
GETS(void *, malloc, NULL, (size_t n), (n))
GETS(void *, calloc, NULL, (size_t n, size_t size), (n, size))
GIVES(void, free, p != NULL, (void *p), (p))
GETS(void *, mmap, MAP_FAILED, (void *at, size_t n, int prot, int flags, int fd, off_t offset), (at, n, prot, flags, fd, offset))
GETS(void *, mmap64, MAP_FAILED, (void *at, size_t n, int prot, int flags, int fd, off_t offset), (at, n, prot, flags, fd, offset))
GIVES(int, munmap, true, (void *at, size_t n), (at, n))
GETS(struct rdma_event_channel *, rdma_create_event_channel, NULL, (void), ())
GIVES(void, rdma_destroy_event_channel, true, (struct rdma_event_channel *c), (c))
MAKES(rdma_create_id, (struct rdma_event_channel *c, struct rdma_cm_id **id, void *context, enum rdma_port_space ps), (c, id, context, ps))
MAKES(rdma_create_qp, (struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr), (id, pd, attr))
GIVES(void, rdma_destroy_qp, true, (struct rdma_cm_id *id), (id))
GIVES(int, ibv_dealloc_pd, true, (struct ibv_pd *pd), (pd))
GETS(struct ibv_comp_channel *, ibv_create_comp_channel, NULL, (struct ibv_context *c), (c))
GIVES(int, ibv_destroy_comp_channel, true, (struct ibv_comp_channel *c), (c))
GETS(struct ibv_cq *, ibv_create_cq, NULL, (struct ibv_context *c, int n, void *context, struct ibv_comp_channel *channel, int vector),
     (c, n, context, channel, vector))
GIVES(int, ibv_destroy_cq, true, (struct ibv_cq *cq), (cq))
GETS(struct ibv_mr *, ibv_reg_mr, NULL, (struct ibv_pd *pd, void *at, size_t n, int access), (pd, at, n, access))
GETS(struct ibv_mr *, ibv_reg_mr_iova2, NULL, (struct ibv_pd *pd, void *at, size_t n, uint64_t iova, unsigned access), (pd, at, n, iova, access))
GIVES(int, ibv_dereg_mr, true, (struct ibv_mr *mr), (mr))
GETS_A(descriptors, int, eventfd, -1, (unsigned n, int flags), (n, flags))
GIVES_A(descriptors, int, close, true, (int fd), (fd))
DOES(int, rdma_resolve_addr, (struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms), (id, from, to, ms))
DOES(int, rdma_resolve_route, (struct rdma_cm_id *id, int ms), (id, ms))
DOES(int, rdma_connect, (struct rdma_cm_id *id, struct rdma_conn_param *p), (id, p))
DOES(int, rdma_accept, (struct rdma_cm_id *id, struct rdma_conn_param *p), (id, p))
DOES(int, rdma_migrate_id, (struct rdma_cm_id *id, struct rdma_event_channel *c), (id, c))
DOES(int, rdma_listen, (struct rdma_cm_id *id, int backlog), (id, backlog))
DOES(int, rdma_bind_addr, (struct rdma_cm_id *id, struct sockaddr *at), (id, at))
DOES(int, rdma_disconnect, (struct rdma_cm_id *id), (id))
DOES(int, rdma_get_cm_event, (struct rdma_event_channel *c, struct rdma_cm_event **ev), (c, ev))
DOES(int, ibv_query_device, (struct ibv_context *c, struct ibv_device_attr *attr), (c, attr))
DOES(int, ibv_get_cq_event, (struct ibv_comp_channel *c, struct ibv_cq **cq, void **context), (c, cq, context))
DOES(int, poll, (struct pollfd *p, nfds_t n, int ms), (p, n, ms))
GETS_A(descriptors, int, socket, -1, (int family, int type, int protocol), (family, type, protocol))
DOES(int, connect, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len))
DOES(int, setsockopt, (int fd, int level, int name, const void *at, socklen_t len), (fd, level, name, at, len))
DOES(int, getsockopt, (int fd, int level, int name, void *at, socklen_t *len), (fd, level, name, at, len))
DOES(ssize_t, read, (int fd, void *at, size_t n), (fd, at, n))
DOES(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
DOES(ssize_t, pread, (int fd, void *at, size_t n, off_t offset), (fd, at, n, offset))
DOES(ssize_t, pread64, (int fd, void *at, size_t n, off_t offset), (fd, at, n, offset))
DOES(ssize_t, pwrite, (int fd, const void *at, size_t n, off_t offset), (fd, at, n, offset))
DOES(ssize_t, pwrite64, (int fd, const void *at, size_t n, off_t offset), (fd, at, n, offset))
DOES(int, fallocate, (int fd, int mode, off_t offset, off_t n), (fd, mode, offset, n))
DOES(int, fallocate64, (int fd, int mode, off_t offset, off_t n), (fd, mode, offset, n))

DECLARE(void *, realloc, void *p, size_t n)
void *__wrap_realloc(void *p, size_t n)
{
	void *got = fails("realloc") ? NULL : __real_realloc(p, n);

	held += counts && got && !p;
	return got;
}

/* --- calls through a context --- */

static struct ibv_context_ops real_ops;

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = fails("ibv_alloc_mw") ? NULL : real_ops.alloc_mw(pd, type);

	held += counts && mw;
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	held -= counts;
	return real_ops.dealloc_mw(mw);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	*bad = wr;
	return fails("ibv_post_send") ? ENOMEM : real_ops.post_send(qp, wr, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	*bad = wr;
	return fails("ibv_post_recv") ? ENOMEM : real_ops.post_recv(qp, wr, bad);
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	return fails("ibv_req_notify_cq") ? ENOMEM : real_ops.req_notify_cq(cq, solicited);
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	return fails("ibv_poll_cq") ? -1 : real_ops.poll_cq(cq, n, wc);
}

/* A test has one adapter. */
static void lead_here(struct ibv_context *c)
{
	if (c->ops.post_send == post_send)
		return;
	real_ops = c->ops;
	c->ops.alloc_mw = alloc_mw;
	c->ops.dealloc_mw = dealloc_mw;
	c->ops.post_send = post_send;
	c->ops.post_recv = post_recv;
	c->ops.req_notify_cq = req_notify_cq;
	c->ops.poll_cq = poll_cq;
}

DECLARE(struct ibv_pd *, ibv_alloc_pd, struct ibv_context *c)
struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *c)
{
	struct ibv_pd *pd = fails("ibv_alloc_pd") ? NULL : __real_ibv_alloc_pd(c);

	lead_here(c);
	held += counts && pd;
	return pd;
}

/* The identifier of a request is not made by rdma_create_id(): its holder had it when it was armed. */
DECLARE(int, rdma_destroy_id, struct rdma_cm_id *id)
int __wrap_rdma_destroy_id(struct rdma_cm_id *id)
{
	held -= counts;
	return __real_rdma_destroy_id(id);
}
