/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "special_role.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GRH 40

/* One role per process. */
static struct {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_comp_channel *ch; /* rcq's */
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	int gid_index;
	bool waiting; /* a receive is posted */
	struct ibv_wc wc;
	struct answer now;
	struct {
		uint8_t out[DPL_MAD_BYTES];
		uint8_t in[GRH + DPL_MAD_BYTES];
	} mem;
} me;

static void must(bool good, const char *what)
{
	if (good)
		return;
	printf("process %d: %s: %s\n", getpid(), what, strerror(errno));
	fflush(stdout);
	_exit(1);
}
#define MUST(x) must(x, #x)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_device(const char *name)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_gid_entry e[64];
	ssize_t n;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			me.c = ibv_open_device(list[i]);
	MUST(me.c != NULL);
	ibv_free_device_list(list);
	me.gid_index = -1;
	n = ibv_query_gid_table(me.c, e, 64, 0);
	for (ssize_t i = 0; i < n && me.gid_index < 0; i++)
		if (!memcmp(e[i].gid.raw, v4, sizeof(v4))) {
			me.gid_index = (int)e[i].gid_index;
			me.now.gid = e[i].gid;
		}
	MUST(me.gid_index >= 0 || strstr(name, "_iw_"));
	me.pd = ibv_alloc_pd(me.c);
	me.scq = ibv_create_cq(me.c, 16, NULL, NULL, 0);
	me.ch = ibv_create_comp_channel(me.c);
	me.rcq = me.ch ? ibv_create_cq(me.c, 16, NULL, me.ch, 0) : NULL;
	MUST(me.pd && me.scq && me.rcq);
	me.mr = ibv_reg_mr(me.pd, &me.mem, sizeof(me.mem), IBV_ACCESS_LOCAL_WRITE);
	MUST(me.mr != NULL);
}

static int to_rts(uint32_t qkey, int more)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .qkey = qkey, .port_num = 1 };

	if (ibv_modify_qp(me.qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_QKEY | more))
		return errno;
	a.qp_state = IBV_QPS_RTR;
	MUST(!ibv_modify_qp(me.qp, &a, IBV_QP_STATE));
	a.qp_state = IBV_QPS_RTS;
	MUST(!ibv_modify_qp(me.qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN));
	me.now.qpn = me.qp->qp_num;
	return 0;
}

static int create(const struct order *o)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = me.scq, .recv_cq = me.rcq,
		.cap = { .max_send_wr = o->depth ? o->depth : 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp;
	int r;

	errno = 0;
	qp = o->what == PLAIN ? ibv_create_qp(me.pd, &init)
			      : dpl_create_special_qp(me.pd, (uint8_t)o->port,
						      (enum dpl_special_qp)o->type, &init);
	if (!qp)
		return errno;
	me.qp = qp;
	me.waiting = false;
	MUST(o->what == PLAIN || (qp->qp_num == 1 && qp->qp_type == IBV_QPT_UD));
	r = o->what == PLAIN ? to_rts(o->qkey, IBV_QP_PORT) : to_rts(DPL_GSI_QKEY, 0);
	return r;
}

static int destroy(void)
{
	me.now.qpn = 0;
	return ibv_destroy_qp(me.qp);
}

static int post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)me.mem.in, sizeof(me.mem.in), me.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (me.waiting)
		return 0;
	me.waiting = true;
	return ibv_post_recv(me.qp, &wr, &bad);
}

static uint8_t byte_of(uint32_t tid, unsigned i)
{
	return (uint8_t)(tid * 7 + i);
}

static int send_by(struct ibv_ah *ah, uint32_t qpn, uint8_t class, uint32_t tid)
{
	struct ibv_sge sge = { (uintptr_t)me.mem.out, DPL_MAD_BYTES, me.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint32_t be = htobe32(tid);
	struct ibv_wc wc;

	MUST(ah != NULL);
	for (unsigned i = 0; i < DPL_MAD_BYTES; i++)
		me.mem.out[i] = byte_of(tid, i);
	me.mem.out[0] = 1;
	me.mem.out[1] = class;
	memcpy(me.mem.out + 8, &be, 4);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = DPL_GSI_QKEY;
	MUST(!ibv_post_send(me.qp, &wr, &bad));
	while (!ibv_poll_cq(me.scq, 1, &wc))
		;
	MUST(!ibv_destroy_ah(ah));
	return wc.status == IBV_WC_SUCCESS ? 0 : EIO;
}

static int send_to(const struct order *o)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1,
				 .grh = { .dgid = o->gid, .sgid_index = (uint8_t)me.gid_index,
					  .hop_limit = 64 } };

	return send_by(ibv_create_ah(me.pd, &a), o->qpn, o->class, o->tid);
}

static int reply(void)
{
	struct ibv_grh *grh = (struct ibv_grh *)(void *)me.mem.in;

	return send_by(ibv_create_ah_from_wc(me.pd, &me.wc, grh, 1), me.wc.src_qp, me.now.class,
		       me.now.tid);
}

static void take(void)
{
	const uint8_t *mad = me.mem.in + GRH;
	uint32_t be;

	MUST(me.wc.status == IBV_WC_SUCCESS);
	me.waiting = false;
	memcpy(&be, mad + 8, 4);
	me.now.tid = be32toh(be);
	me.now.class = mad[1];
	me.now.src_qp = me.wc.src_qp;
	me.now.good = me.wc.byte_len == sizeof(me.mem.in) && (me.wc.wc_flags & IBV_WC_GRH) &&
		      me.wc.opcode == IBV_WC_RECV && me.wc.pkey_index == 0;
	for (unsigned i = 12; i < DPL_MAD_BYTES; i++)
		me.now.good &= mad[i] == byte_of(me.now.tid, i);
}

/* A completion, or nothing after all: asleep until an event comes, or `until`. */
static int sleep_for_one(double until)
{
	struct pollfd p = { .fd = me.ch->fd, .events = POLLIN };
	double left = until - now();
	struct ibv_cq *cq;
	void *context;
	int n;

	MUST(!ibv_req_notify_cq(me.rcq, 0));
	n = ibv_poll_cq(me.rcq, 1, &me.wc);
	if (n || left < 0 || poll(&p, 1, (int)(left * 1000) + 1) != 1)
		return n;
	MUST(!ibv_get_cq_event(me.ch, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	return ibv_poll_cq(me.rcq, 1, &me.wc);
}

/* One that was sent again came late, maybe. Every second one is polled for. */
static int await(uint32_t tid)
{
	double until = now() + 1;

	while (now() < until) {
		if (!(tid % 2 ? ibv_poll_cq(me.rcq, 1, &me.wc) : sleep_for_one(until)))
			continue;
		take();
		if (me.now.tid == tid)
			return 0;
		MUST(!post_receive());
	}
	return ETIMEDOUT;
}

static int count(const char *name)
{
	struct dpl_counter v[256];
	int n = dpl_query_counters(me.c, 1, v, 256);

	MUST(n > 0 && n <= 256);
	for (int i = 0; i < n; i++)
		if (!strcmp(v[i].name, name)) {
			me.now.value = v[i].value;
			return 0;
		}
	return ENOENT;
}

static int obey(const struct order *o)
{
	switch (o->what) {
	case SPECIAL:
	case PLAIN: return create(o);
	case DESTROY: return destroy();
	case RECEIVE: return post_receive();
	case SEND: return send_to(o);
	case AWAIT: return await(o->tid);
	case REPLY: return reply();
	case COUNTER: return count(o->name);
	case LEAVE: _exit(0);
	}
	return EINVAL;
}

void role_main(int fd, const char *device)
{
	struct order o;

	open_device(device);
	do
		MUST(write(fd, &me.now, sizeof(me.now)) == sizeof(me.now));
	while (read(fd, &o, sizeof(o)) == sizeof(o) && (me.now.error = obey(&o), true));
	_exit(0);
}
