/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A UD queue pair that sends to itself under the rule "port-down=... nth=2": the port goes down and comes up again, with
 * events, and says so; a datagram that is sent meanwhile is lost, and one afterwards arrives. Public verbs alone.
 * usage: fault_port DEVICE; exit 0 or 1
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QKEY 0x11111111u
#define BYTES 256
#define LIMIT_MS 60000

#define NEED(cond)                                                                  \
	do {                                                                        \
		if (!(cond)) {                                                      \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_comp_channel *chan;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_ah *ah;
static struct ibv_mr *mr;
static char memory[2 * BYTES];

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEED(list);
	for (int i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	NEED(ctx);
	ibv_free_device_list(list);
}

static void make_queue_pair(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { 8, 8, 1, 1, 0 } };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64 };

	pd = ibv_alloc_pd(ctx);
	chan = ibv_create_comp_channel(ctx);
	NEED(pd && chan);
	cq = ibv_create_cq(ctx, 16, NULL, chan, 0);
	NEED(cq);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	NEED(mr && ibv_req_notify_cq(cq, 0) == 0);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	NEED(qp);
	NEED(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	a.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(qp, &a, IBV_QP_STATE));
	a.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN));
	NEED(!ibv_query_gid(ctx, 1, 0, &to.grh.dgid));
	ah = ibv_create_ah(pd, &to);
	NEED(ah);
}

static void post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, BYTES, mr->lkey };
	struct ibv_recv_wr w = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED(!ibv_post_recv(qp, &w, &bad));
}

static void post_send(void)
{
	struct ibv_sge sge = { (uintptr_t)memory + BYTES, 8, mr->lkey };
	struct ibv_send_wr w = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				 .wr.ud = { ah, qp->qp_num, QKEY } }, *bad;

	NEED(!ibv_post_send(qp, &w, &bad));
}

/* Waits for a completion of a receive. */
static void receive(void)
{
	struct pollfd p = { .fd = chan->fd, .events = POLLIN };
	struct ibv_cq *from;
	struct ibv_wc wc;
	void *arg;

	while (ibv_poll_cq(cq, 1, &wc) == 0) {
		NEED(poll(&p, 1, LIMIT_MS) == 1 && !ibv_get_cq_event(chan, &from, &arg));
		ibv_ack_cq_events(cq, 1);
		NEED(!ibv_req_notify_cq(cq, 0));
	}
	NEED(wc.status == IBV_WC_SUCCESS && wc.wr_id == 1);
}

static void event(enum ibv_event_type type, enum ibv_port_state state)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;
	struct ibv_port_attr port;

	NEED(poll(&p, 1, LIMIT_MS) == 1 && !ibv_get_async_event(ctx, &e));
	NEED(e.event_type == type && e.element.port_num == 1);
	ibv_ack_async_event(&e);
	/* The port may be up again before this thread looks. */
	NEED(!ibv_query_port(ctx, 1, &port) && (port.state == state || state == IBV_PORT_DOWN));
	printf("%s, then the port is %s\n", ibv_event_type_str(type), ibv_port_state_str(port.state));
}

int main(int argc, char **argv)
{
	NEED(argc == 2);
	open_device(argv[1]);
	make_queue_pair();
	post_receive();
	post_receive();
	post_send();
	receive();
	post_send(); /* takes the port down */
	event(IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
	event(IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
	post_send();
	receive();
	puts("received again");
	return 0;
}
