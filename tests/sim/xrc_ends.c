/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared XRC domains when something is wrong (proto/ib/xrc/forward.h): the results at the sender,
 * the target and the home of the queue, the death of one of them, and forged messages in a ring.
 */
#include "engine/qp_state.h"
#include "proto/ib/port.h"
#include "proto/ib/xrc/home.h"
#include "sim/xrc_world.h"
#include "support/cases.h"
#include "support/engine.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/rng.h"
#include "wire/ib_opcode.h"

/* The connection again, after its queue pairs failed. */
static void reconnect(void)
{
	static const struct sim_qp_options o;
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct sim_end *e[2] = { &x.a, &x.t };

	for (int i = 0; i < 2; i++) {
		CHECK(eng_qp_modify(e[i]->qp, &reset, IBV_QP_STATE) == 0);
		CHECK(eng_qp_modify(e[i]->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	}
	sim_end_connect(&x.a, &x.t, 100, 200, &o);
	sim_end_connect(&x.t, &x.a, 200, 100, &o);
}

static void works(int to)
{
	xw_recv(to, 77, 0, 8192);
	xw_send(to, 78, 0, 5000);
	CHECK(sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS).wr_id == 78);
	CHECK(xw_got(to, IBV_WC_SUCCESS).wr_id == 77);
}

static void too_long(void)
{
	for (int apart = 0; apart < 2; apart++) {
		xw_open(apart);
		works(2);
		xw_recv(2, 1, 0, 2000);
		xw_send(2, 2, 0, 2001);
		sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_INV_REQ_ERR);
		CHECK(xw_got(2, IBV_WC_LOC_LEN_ERR).wr_id == 1);
		CHECK(xw_state(&x.t) == IBV_QPS_ERR);
		CHECK(sim_event(x.t.h, IBV_EVENT_QP_REQ_ERR));
		CHECK(strstr(x.t.h->said, "longer than the posted receive"));
		CHECK(strstr(x.w.host[2].said, "longer than the posted receive"));
		reconnect();
		works(2);
		works(1);
		xw_close();
	}
}

static void wrong_keys(void)
{
	struct ibv_sge sge;
	struct ibv_recv_wr *bad, wr = { .wr_id = 4, .sg_list = &sge, .num_sge = 1 };

	xw_open(true);
	/* The receive names the key of another process. */
	sge = (struct ibv_sge){ (uintptr_t)x.q[2].mem, 4096, x.q[3].mr->key ^ 0x5500 };
	CHECK(eng_srq_post(x.q[2].srq, &wr, &bad) == 0);
	xw_send(2, 1, 0, 3000);
	sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_OP_ERR);
	CHECK(xw_got(2, IBV_WC_LOC_PROT_ERR).wr_id == 4);
	reconnect();
	/* Memory of the target is not that of the queue's owner. */
	xw_send_to(x.q[2].srq->number, 2, IBV_WR_RDMA_WRITE, 0, 3000, 1);
	sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_ACCESS_ERR);
	CHECK(sim_event(x.t.h, IBV_EVENT_QP_ACCESS_ERR));
	reconnect();
	works(2);
	xw_close();
}

/* The number alone gives no access. */
static void other_domains(void)
{
	static const struct sim_options net;
	static const struct sim_qp_options o;
	int other = xw_file(), files[3] = { other, -1, 0 };

	for (int i = 0; files[i]; i++) {
		xw_open_with(true, &net, &o, files[i]);
		xw_recv(2, 1, 0, 4096);
		xw_send(2, 2, 0, 100);
		sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_INV_REQ_ERR);
		CHECK(sim_event(x.t.h, IBV_EVENT_QP_REQ_ERR));
		sim_no_wc(&x.w, x.q[2].cq, UT_S);
		xw_close();
	}
	close(other);
}

static void no_such_queue(void)
{
	xw_open(false);
	/* No process has the slot; its process has no such number; no way for messages. */
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			x.w.local->apart = 1u << 2;
		xw_send_to(i == 0 ? 0x440001 : x.q[2].srq->number ^ (i == 1), 1, IBV_WR_SEND, 0,
			   100, 2);
		sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_INV_REQ_ERR);
		reconnect();
	}
	/* A Read or an atomic has no answer from there. */
	x.w.local->apart = 0;
	xw_send_to(x.q[2].srq->number, 1, IBV_WR_RDMA_READ, 0, 100, 2);
	sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_INV_REQ_ERR);
	xw_close();
}

/* --- within a message --- */

static struct tape tape;

static int no_last(struct tape *t, const struct tape_packet *p, struct sim_packet *raw)
{
	return p->p.opcode != WIRE_XRC_SEND_LAST;
}

/* A message of which the end does not come. */
static void half(void)
{
	memset(&tape, 0, sizeof(tape));
	xw_open(true);
	tape_start(&tape, &x.w);
	tape.judge = no_last;
	xw_recv(2, 1, 0, 8192);
	xw_send(2, 2, 0, 5000);
	sim_run(&x.w, 200 * UT_US, NULL, NULL);
	CHECK(eng_cq_held(x.q[2].cq) == 0 && eng_cq_held(x.a.scq) == 0);
}

static void queue_gone(void)
{
	half();
	xw_srq_gone(&x.q[2]);
	tape.judge = NULL;
	sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_INV_REQ_ERR);
	CHECK(sim_event(x.t.h, IBV_EVENT_QP_REQ_ERR));
	xw_close();
}

/* A domain that was closed and opened anew is the same one, and nothing of ours kept it open. */
static void domain_again(void)
{
	xw_open(true);
	works(2);
	xw_queue_close(&x.q[2]);
	xw_queue_open(&x.q[2], &x.w.host[2], x.file, 512);
	works(2);
	xw_close();
}

static void die(int host)
{
	x.w.host[host].stopped = true;
	x.w.local->gone |= 1u << host;
}

static void live(int host)
{
	x.w.host[host].stopped = false;
	x.w.local->gone = 0;
}

static void owner_dies(void)
{
	half();
	die(2);
	tape.judge = NULL;
	sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_OP_ERR);
	CHECK(xw_state(&x.t) == IBV_QPS_ERR);
	CHECK(sim_event(x.t.h, IBV_EVENT_QP_FATAL));
	CHECK(strstr(x.t.h->said, "the process of the shared receive queue is gone"));
	live(2);
	xw_close();
}

/* With the answer still out: no process waits longer than a probe takes. */
static void owner_dies_silently(void)
{
	struct sim_qp_options o = { .timeout = 20 }; /* 4 s */
	static const struct sim_options net;
	uint64_t start;

	for (int apart = 0; apart < 2; apart++) {
		xw_open_with(apart, &net, &o, 0);
		works(2);
		start = x.w.now;
		x.w.host[2].stopped = true;
		xw_recv(2, 1, 0, 8192);
		xw_send(2, 2, 0, 5000);
		sim_no_wc(&x.w, x.a.scq, 300 * UT_MS);
		die(2);
		sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_OP_ERR);
		CHECK(x.w.now - start < 400 * UT_MS);
		live(2);
		xw_close();
	}
}

/* Another process has the slot now: it knows nothing of that. */
static void owner_forgets(void)
{
	struct ibp_port *port;

	half();
	ut_lock(&x.w.host[2].dev.lock);
	port = x.w.host[2].dev.proto_port;
	ibp_forwards_fini(port);
	ibp_forwards_init(port);
	ut_unlock(&x.w.host[2].dev.lock);
	tape.judge = NULL;
	sim_wc_is(&x.w, x.a.scq, IBV_WC_REM_OP_ERR);
	CHECK(eng_cq_held(x.q[2].cq) == 0);
	xw_close();
}

/* The receive that was taken comes back, whatever end the target comes to. */
static void target_ends(void)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };

	half();
	CHECK(eng_qp_modify(x.t.qp, &err, IBV_QP_STATE) == 0);
	CHECK(xw_got(2, IBV_WC_WR_FLUSH_ERR).wr_id == 1);
	tape.judge = NULL;
	sim_wc_is(&x.w, x.a.scq, IBV_WC_RETRY_EXC_ERR);
	reconnect();
	works(2);
	xw_close();

	half(); /* the CLOSE finds no room: the home probes */
	x.w.local->full = true;
	CHECK(eng_qp_modify(x.t.qp, &err, IBV_QP_STATE) == 0);
	x.w.local->full = false;
	CHECK(xw_got(2, IBV_WC_WR_FLUSH_ERR).wr_id == 1);
	xw_close();

	half();
	die(1);
	CHECK(xw_got(2, IBV_WC_WR_FLUSH_ERR).wr_id == 1);
	live(1);
	xw_close();
}

/* The sender is silent: as with any responder the receive waits, and no process polls for it. */
static void sender_silent(void)
{
	uint64_t sent;

	half();
	x.w.host[0].stopped = true;
	sim_no_wc(&x.w, x.q[2].cq, UT_S);
	sent = sim_counter(&x.w.host[2], ENG_C_tx_pkts);
	sim_no_wc(&x.w, x.q[2].cq, 60 * UT_S);
	CHECK(sim_counter(&x.w.host[2], ENG_C_tx_pkts) - sent <= 61);
	x.w.host[0].stopped = false;
	xw_close();
}

static void overrun(void)
{
	enum ibv_wc_status last = IBV_WC_SUCCESS;

	xw_open(true);
	xw_queue_close(&x.q[3]);
	xw_queue_open(&x.q[3], &x.w.host[3], x.file, 1);
	for (int i = 0; i < 8; i++) {
		xw_recv(3, i, 0, 64);
		xw_send(3, i, 0, 64);
	}
	for (int i = 0; i < 8; i++)
		last = sim_wc(&x.w, x.a.scq).status;
	CHECK(last == IBV_WC_WR_FLUSH_ERR);
	CHECK(xw_state(&x.t) == IBV_QPS_ERR && xw_state(&x.a) == IBV_QPS_ERR);
	CHECK(sim_event(x.t.h, IBV_EVENT_QP_FATAL));
	reconnect();
	works(2);
	xw_close();
}

/* Many targets: what stands for those that are gone serves the next. */
static void many_targets(void)
{
	struct sim_qp_options t = { .type = IBV_QPT_XRC_RECV };

	xw_open(true);
	t.xrcd = x.q[1].xrcd;
	for (unsigned i = 0; i < IBP_PROXIES_MAX + 100; i++) {
		CHECK(eng_qp_destroy(x.t.qp) == 0);
		CHECK(eng_cq_destroy(x.t.scq) == 0 && eng_cq_destroy(x.t.rcq) == 0);
		sim_end_create(&x.t, &x.w.host[1], &t);
		reconnect();
		works(2);
	}
	xw_close();
}

/* The n-th allocation of a message fails. If the home cannot allocate a proxy the target gets an
 * error, and the next message may succeed. */
static void no_memory(void)
{
	enum ibv_wc_status v;
	unsigned failed = 0;

	for (unsigned n = 1; n < 40; n++) {
		xw_open(true);
		xw_recv(2, 1, 0, 8192);
		ut_fault_arm(n, 0);
		xw_send(2, 2, 0, 100);
		v = sim_wc(&x.w, x.a.scq).status;
		ut_fault_arm(0, 0);
		CHECK(v == IBV_WC_SUCCESS || v == IBV_WC_REM_OP_ERR);
		if (v != IBV_WC_SUCCESS) {
			failed++;
			reconnect();
			xw_send(2, 2, 0, 100);
			sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS);
		}
		xw_got(2, IBV_WC_SUCCESS);
		CHECK(eng_cq_held(x.q[2].cq) == 0);
		xw_close();
	}
	CHECK_MSG(failed >= 3, "%u", failed);
}

/* --- nonsense --- */

static struct ibp_forward_header honest(enum ibp_forward_kind kind)
{
	return (struct ibp_forward_header){ .kind = (uint8_t)kind, .mark = IBP_FORWARD_MARK, .unit = 10,
					.opcode = WIRE_XRC_SEND_ONLY, .qpn = x.t.qp->qpn, .run = 5,
					.req = { .srqn = x.q[2].srq->number } };
}

/* The bytes of a request are all there, or none are. */
static void nonsense(void)
{
	struct ut_rng rng = { .state = 99 };
	uint8_t junk[2048];

	for (int round = 0; round < 20; round++) {
		xw_open(round & 1);
		for (int i = 0; i < 8; i++)
			xw_recv(2, i, 65536, 4096);
		for (int i = 0; i < 2000; i++) {
			int from = 1 + (int)ut_rng_below(&rng, 3), to = 1 + (int)ut_rng_below(&rng, 3);
			struct ibp_forward_header n =
				honest((enum ibp_forward_kind)(1 + ut_rng_below(&rng, 8)));
			struct eng_xrcd *d = x.q[2].xrcd;

			for (size_t j = 0; j < sizeof(junk); j++)
				junk[j] = (uint8_t)ut_rng_u64(&rng);
			n.kind |= ut_rng_below(&rng, 2) ? IBP_FORWARD_FIRST : 0;
			n.psn = ut_rng_below(&rng, 4);
			n.run = ut_rng_below(&rng, 4);
			n.opcode = (uint8_t)(WIRE_XRC_SEND_FIRST + ut_rng_below(&rng, 0x18));
			if ((n.kind & IBP_FORWARD_KIND) == IBP_FORWARD_OPEN) {
				n.open.fs = d->fs;
				n.open.ino = d->ino;
			}
			for (uint32_t k = ut_rng_below(&rng, 3); k; k--)
				((uint8_t *)&n)[ut_rng_below(&rng, sizeof(n))] =
					(uint8_t)ut_rng_u64(&rng);
			local_net_inject(x.w.local, from, to, &n, junk, ut_rng_below(&rng, 1500));
			sim_round(&x.w);
		}
		for (size_t j = 0; j < 65536; j++)
			CHECK(x.q[2].mem[j] == 0); /* of no posted receive */
		xw_close();
	}
}

/* Answers without a request, and answers of another run, change nothing. */
static void false_answers(void)
{
	xw_open(true);
	works(2);
	for (int kind = IBP_FORWARD_DONE; kind <= IBP_FORWARD_ASK; kind++) {
		struct ibp_forward_header n = honest((enum ibp_forward_kind)kind);

		local_net_inject(x.w.local, 3, 1, &n, NULL, 0);
		sim_round(&x.w);
	}
	works(2);
	x.w.host[2].stopped = true;
	xw_recv(2, 1, 0, 8192);
	xw_send(2, 2, 0, 5000);
	sim_run(&x.w, UT_MS, NULL, NULL);
	for (int kind = IBP_FORWARD_DONE; kind < IBP_FORWARD_ASK; kind++) {
		struct ibp_forward_header n = honest((enum ibp_forward_kind)kind);

		local_net_inject(x.w.local, 3, 1, &n, NULL, 0);
		sim_round(&x.w);
	}
	CHECK(eng_cq_held(x.a.scq) == 0 && xw_state(&x.t) == IBV_QPS_RTS);
	x.w.host[2].stopped = false;
	sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS);
	xw_close();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "68", "too long for the receive", too_long },
		{ "68", "wrong keys", wrong_keys },
		{ "68", "another domain, a private domain", other_domains },
		{ "68", "no such queue, no way there", no_such_queue },
		{ "68", "the queue goes away within a message", queue_gone },
		{ "69", "the domain is closed and opened again", domain_again },
		{ "68", "the owner dies within a message", owner_dies },
		{ "68", "the owner dies owing an answer", owner_dies_silently },
		{ "68", "another process in the owner's place", owner_forgets },
		{ "68", "the target ends within a message", target_ends },
		{ "68", "the sender is silent within a message", sender_silent },
		{ "68", "the owner's completion queue overruns", overrun },
		{ "68", "more targets than stand-ins", many_targets },
		{ "-", "no memory at the owner", no_memory },
		{ "-", "nonsense in the ring", nonsense },
		{ "-", "false answers", false_answers },
	};

	return RUN_CASES(cases, argc, argv);
}
