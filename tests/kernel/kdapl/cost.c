// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What kDAPL costs beside ib_core: a connection of the adapter with itself by each, the same registered memory, the same
 * polling context, and one request at a time from post to both completions. Loading runs all. Under QEMU's
 * `-icount shift=0` the time stamp counter counts instructions; `result` has those of one request.
 */
#include <kdat/kdat.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <rdma/rdma_cm.h>

enum { PORT = 7411, BIG = 65536, SMALL = 64, WARM = 50, QLEN = 16, WAIT_MS = 60000, RESULT = 512 };
#define NONE DAT_COMPLETION_DEFAULT_FLAG

static char *ia_name = "dapple-kdat-rxe0";
static int rounds = 500;
static char text[RESULT], *result = text;
module_param_named(ia, ia_name, charp, 0444);
module_param(rounds, int, 0444);
module_param(result, charp, 0444);

static u8 *memory; /* of 2 * BIG: source and sink */
static unsigned int sent, received, failed;

static int wait_for(struct completion *c)
{
	return wait_for_completion_timeout(c, msecs_to_jiffies(WAIT_MS)) ? 0 : -ETIMEDOUT;
}

/* --- ib_core --- */

struct ib_end {
	struct rdma_cm_id *id;
	struct ib_cq *cq;
	struct ib_cqe send, recv, reg;
};

static struct ib_end active, passive;
static struct rdma_cm_id *listener;
static struct ib_pd *pd;
static struct ib_mr *mr;
static DECLARE_COMPLETION(ib_up);
static DECLARE_COMPLETION(ib_registered);

static void count(unsigned int *of, const struct ib_wc *wc)
{
	(*of)++;
	failed += wc->status != IB_WC_SUCCESS;
}

static int ib_post_one_recv(struct ib_end *e)
{
	struct ib_sge sge = { .addr = mr->iova + BIG, .length = SMALL, .lkey = mr->lkey };
	struct ib_recv_wr wr = { .wr_cqe = &e->recv, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(e->id->qp, &wr, NULL);
}

static void on_send(struct ib_cq *cq, struct ib_wc *wc)
{
	count(&sent, wc);
}

static void on_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		return;
	count(&received, wc);
	failed += ib_post_one_recv(container_of(wc->wr_cqe, struct ib_end, recv)) != 0;
}

static void on_reg(struct ib_cq *cq, struct ib_wc *wc)
{
	failed += wc->status != IB_WC_SUCCESS;
	complete(&ib_registered);
}

static int ib_make_qp(struct ib_end *e, struct rdma_cm_id *id)
{
	struct ib_qp_init_attr a = {
		.cap = { .max_send_wr = QLEN, .max_recv_wr = QLEN, .max_send_sge = 4, .max_recv_sge = 4 },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	if (!pd)
		pd = ib_alloc_pd(id->device, 0);
	e->id = id;
	e->send.done = on_send;
	e->recv.done = on_recv;
	e->reg.done = on_reg;
	e->cq = ib_alloc_cq_any(id->device, e, 2 * QLEN, IB_POLL_SOFTIRQ);
	if (IS_ERR(pd) || IS_ERR(e->cq))
		return -ENOMEM;
	a.send_cq = a.recv_cq = e->cq;
	return rdma_create_qp(id, pd, &a);
}

static int on_cm(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7 };
	int err = 0;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED: err = rdma_resolve_route(id, 4000); break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED: err = ib_make_qp(&active, id) ?: rdma_connect_locked(id, &p); break;
	case RDMA_CM_EVENT_CONNECT_REQUEST: err = ib_make_qp(&passive, id) ?: rdma_accept(id, &p); break;
	case RDMA_CM_EVENT_ESTABLISHED: break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT: return 0;
	default: err = -EIO;
	}
	failed += err != 0;
	if (err || (ev->event == RDMA_CM_EVENT_ESTABLISHED && id == active.id))
		complete(&ib_up);
	return 0;
}

/* Registers `memory` as a page list, as a region of kDAPL is. */
static int ib_register(void)
{
	struct ib_reg_wr r = { .wr = { .opcode = IB_WR_REG_MR, .wr_cqe = &active.reg, .send_flags = IB_SEND_SIGNALED } };
	struct scatterlist sg;
	int n;

	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 2 * BIG / PAGE_SIZE);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	sg_init_one(&sg, memory, 2 * BIG);
	if (ib_dma_map_sg(pd->device, &sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -EIO;
	n = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
	if (n != 1)
		return -EIO;
	r.mr = mr;
	r.key = mr->lkey;
	r.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;
	return ib_post_send(active.id->qp, &r.wr, NULL) ?: wait_for(&ib_registered);
}

static int ib_make(struct sockaddr *to)
{
	struct sockaddr_in at = *(struct sockaddr_in *)to;
	int err;

	at.sin_port = htons(PORT);
	listener = rdma_create_id(&init_net, on_cm, NULL, RDMA_PS_TCP, IB_QPT_RC);
	active.id = rdma_create_id(&init_net, on_cm, NULL, RDMA_PS_TCP, IB_QPT_RC);
	err = rdma_bind_addr(listener, (struct sockaddr *)&at) ?: rdma_listen(listener, 1) ?:
	      rdma_resolve_addr(active.id, NULL, (struct sockaddr *)&at, 4000) ?: wait_for(&ib_up);
	return err ?: ib_register() ?: ib_post_one_recv(&passive);
}

static void ib_end(struct ib_end *e)
{
	ib_drain_qp(e->id->qp);
	rdma_destroy_qp(e->id);
	ib_free_cq(e->cq);
	rdma_destroy_id(e->id);
}

static void ib_leave(void)
{
	rdma_disconnect(active.id);
	ib_end(&active);
	ib_end(&passive);
	rdma_destroy_id(listener);
	ib_dereg_mr(mr);
	ib_dealloc_pd(pd);
}

static int ib_send(void)
{
	struct ib_sge sge = { .addr = mr->iova, .length = SMALL, .lkey = mr->lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .wr_cqe = &active.send, .send_flags = IB_SEND_SIGNALED,
				 .sg_list = &sge, .num_sge = 1 };

	return ib_post_send(active.id->qp, &wr, NULL);
}

static int ib_write(void)
{
	struct ib_sge sge = { .addr = mr->iova, .length = BIG, .lkey = mr->lkey };
	struct ib_rdma_wr wr = { .wr = { .opcode = IB_WR_RDMA_WRITE, .wr_cqe = &active.send, .send_flags = IB_SEND_SIGNALED,
					 .sg_list = &sge, .num_sge = 1 },
				 .remote_addr = mr->iova + BIG, .rkey = mr->rkey };

	return ib_post_send(active.id->qp, &wr.wr, NULL);
}

/* --- kDAPL --- */

static DAT_IA_HANDLE ia;
static DAT_EP_HANDLE ep[2];
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static DAT_VADDR base;
static DAT_DTO_COOKIE cookie;
static DECLARE_COMPLETION(kd_up);

static DAT_RETURN kd_post_one_recv(void)
{
	DAT_LMR_TRIPLET t = { base + BIG, SMALL, lmr_context };

	return dat_ep_post_recv(ep[1], 1, &t, cookie, NONE);
}

static void on_dto(DAT_PVOID data, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;

	if (d->status == DAT_DTO_ERR_FLUSHED)
		return;
	failed += d->status != DAT_DTO_SUCCESS;
	if (d->operation != DAT_DTO_RECEIVE) {
		sent++;
		return;
	}
	received++;
	failed += kd_post_one_recv() != DAT_SUCCESS;
}

static void on_conn(DAT_PVOID data, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	if (ev->event_number == DAT_CONNECTION_REQUEST_EVENT)
		failed += dat_cr_accept(ev->event_data.cr_arrival_event_data.cr_handle, ep[1], 0, NULL) != DAT_SUCCESS;
	else if (ev->event_data.connect_event_data.ep_handle == ep[0])
		complete(&kd_up);
}

static DAT_RETURN kd_make(void)
{
	DAT_UPCALL_OBJECT dto_up = { NULL, on_dto }, conn_up = { NULL, on_conn };
	DAT_REGION_DESCRIPTION va = { .for_va = memory };
	DAT_EVD_HANDLE dto[2], conn;
	DAT_LMR_HANDLE lmr;
	DAT_IA_ATTR attr;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret;
	int i;

	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL) ?: dat_pz_create(ia, &pz) ?:
	      dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, va, 2 * BIG, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			      DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &lmr_context, &rmr_context, NULL, &base) ?:
	      dat_evd_kcreate(ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &conn_up, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &conn);
	for (i = 0; i < 2 && !ret; i++)
		ret = dat_evd_kcreate(ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &dto_up, DAT_EVD_DTO_FLAG, &dto[i]) ?:
		      dat_ep_create(ia, pz, dto[i], dto[i], conn, NULL, &ep[i]);
	ret = ret ?: kd_post_one_recv() ?: dat_psp_create_any(ia, &qual, conn, DAT_PSP_CONSUMER_FLAG, &psp) ?:
	      dat_ep_connect(ep[0], attr.ia_address_ptr, qual, WAIT_MS * 1000, 0, NULL, DAT_QOS_BEST_EFFORT, 0);
	return ret ?: wait_for(&kd_up) ? DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE) : DAT_SUCCESS;
}

static int kd_send(void)
{
	DAT_LMR_TRIPLET t = { base, SMALL, lmr_context };

	return dat_ep_post_send(ep[0], 1, &t, cookie, NONE);
}

static int kd_write(void)
{
	DAT_LMR_TRIPLET t = { base, BIG, lmr_context };
	DAT_RMR_TRIPLET r = { base + BIG, BIG, rmr_context };

	return dat_ep_post_rdma_write(ep[0], 1, &t, cookie, &r, NONE);
}

/* --- both --- */

/* One request after the other. Softirqs run where they are allowed again, so no other thread is waited for. */
static int some(int (*post)(void), int n, bool receives)
{
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);
	int i, err = 0;

	sent = received = 0;
	for (i = 1; i <= n && !err; i++) {
		local_bh_disable();
		err = post();
		local_bh_enable();
		while (!err && (READ_ONCE(sent) < i || (receives && READ_ONCE(received) < i))) {
			if (time_after(jiffies, until) || failed)
				err = -ETIMEDOUT;
			cond_resched();
		}
	}
	return err;
}

static u64 measure(int (*post)(void), bool receives)
{
	u64 from;

	if (some(post, WARM, receives))
		return 0;
	from = get_cycles();
	return some(post, rounds, receives) ? 0 : div_u64(get_cycles() - from, rounds);
}

static void compare(const char *what, int (*ib)(void), int (*kd)(void), bool receives)
{
	u64 a = measure(ib, receives), b = measure(kd, receives);
	s64 permille = a ? div64_s64((s64)(b - a) * 1000, a) : 0;
	size_t at = strlen(text);

	snprintf(text + at, RESULT - at, "%s ib %llu kdapl %llu permille %lld\n", what, a, b, a && b && !failed ? permille : 9999);
}

static int __init cost_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;
	int err;

	memory = alloc_pages_exact(2 * BIG, GFP_KERNEL | __GFP_ZERO);
	if (!memory)
		return -ENOMEM;
	ret = dat_ia_open(ia_name, QLEN, &async, &ia) ?: dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL);
	err = ret ? -EIO : ib_make((struct sockaddr *)attr.ia_address_ptr);
	if (!err)
		ret = kd_make();
	if (err || ret) {
		/* memory and connection stay: this guest is done with */
		pr_err("kdapl_cost: ib_core %d, kDAPL %08x: nothing is measured\n", err, ret);
		__module_get(THIS_MODULE);
		return 0;
	}
	compare("send-64", ib_send, kd_send, true);
	compare("write-65536", ib_write, kd_write, false);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	ib_leave();
	free_pages_exact(memory, 2 * BIG);
	return 0;
}

static void __exit cost_exit(void)
{
}

module_init(cost_init);
module_exit(cost_exit);
MODULE_DESCRIPTION("Cost of kDAPL beside ib_core");
MODULE_LICENSE("Dual BSD/GPL");
