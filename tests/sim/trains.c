/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs that share trains: which may, and the effect of one's failure on the others. */
#include "engine/pending.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/tape.h"

#include "proto/ib/coalesce.h"
#include "proto/ib/post.h"
#include "proto/ib/frame_wire.h"
#include "proto/ib/path.h"
#include "util/clock.h"

#include <sys/mman.h>

#define MOST 20
#define LEN 64u
#define PAGE 4096u
#define FEW (4 * PAGE) /* bytes that may wait */

/* Pairs of queue pairs of one host, or of two. */
struct pairs {
	struct sim_world w;
	struct sim_end a[MOST], b[MOST];
	int n;
	struct tape tape;
	uint16_t place[TAPE_MAX]; /* of each packet in its train */
};

static int note_place(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	struct pairs *c = ut_container(t, struct pairs, tape);

	c->place[t->n] = raw->id;
	return 1;
}

static struct pairs *open_pairs_as(int n, int hosts, bool own, const struct sim_qp_options *qo)
{
	static struct pairs c;

	sim_world_open(&c.w, &(struct sim_options){ .hosts = hosts, .own = own });
	c.n = n;
	for (int i = 0; i < n; i++) {
		sim_pair(&c.a[i], &c.w.host[0], &c.b[i], &c.w.host[hosts - 1], qo);
		sim_end_memory(&c.a[i], FEW);
		sim_end_memory(&c.b[i], 2 * PAGE);
		pattern_fill(c.a[i].mem, LEN, (unsigned)i);
		CHECK(sim_post_recv(&c.b[i], (uint64_t)i, c.b[i].mem, LEN) == 0);
	}
	tape_start(&c.tape, &c.w);
	c.tape.judge = note_place;
	return &c;
}

static struct pairs *open_pairs(int n, int hosts, const struct sim_qp_options *qo)
{
	return open_pairs_as(n, hosts, false, qo);
}

static void close_pairs(struct pairs *c)
{
	for (int i = 0; i < c->n; i++) {
		sim_end_close(&c->a[i]);
		sim_end_close(&c->b[i]);
	}
	sim_world_close(&c->w);
}

/* The posters find the lock taken, so that all of it is there when the next round begins. */
static void post_all(struct pairs *c)
{
	struct eng_dev *dev = &c->w.host[0].dev;

	ut_lock(&dev->lock);
	for (int i = 0; i < c->n; i++)
		CHECK(sim_post(&c->a[i], &(struct sim_op){ .code = IBV_WR_SEND, .id = (uint64_t)i,
							   .at = c->a[i].mem, .len = LEN }) == 0);
	eng_dev_unlock(dev);
}

static void arrived(struct pairs *c, int i)
{
	sim_wc_is(&c->w, c->a[i].scq, IBV_WC_SUCCESS);
	sim_wc_is(&c->w, c->b[i].rcq, IBV_WC_SUCCESS);
	pattern_check(c->b[i].mem, LEN, (unsigned)i);
}

/* The k-th packet of this kind is at this place of its train. */
static void is_at(const struct pairs *c, uint8_t opcode, int k, int place)
{
	const struct tape_packet *x = tape_find(&c->tape, opcode, k);

	CHECK(x != NULL);
	CHECK_MSG(c->place[x - c->tape.v] == place, "packet %d at %d, not %d", k,
		  c->place[x - c->tape.v], place);
}

static void one_train(void)
{
	struct pairs *c = open_pairs(MOST, 1, &(struct sim_qp_options){ 0 });

	post_all(c);
	for (int i = 0; i < MOST; i++)
		arrived(c, i);
	CHECK(c->tape.n == 2 * MOST);
	for (int i = 0; i < MOST; i++) {
		CHECK(c->tape.v[i].sport == c->tape.v[0].sport);
		is_at(c, WIRE_RC_SEND_ONLY, i, i);
		is_at(c, WIRE_RC_ACKNOWLEDGE, i, i);
	}
	close_pairs(c);
}

/* On a network each pair of queue pairs has a port of its own, by which it is spread. */
static void own_ports(void)
{
	struct pairs *c = open_pairs(MOST, 2, &(struct sim_qp_options){ 0 });

	post_all(c);
	for (int i = 0; i < MOST; i++) {
		arrived(c, i);
		CHECK(tape_find(&c->tape, WIRE_RC_SEND_ONLY, i)->sport ==
		      ibp_flow_sport(0, c->a[i].qp->qpn, c->b[i].qp->qpn));
		is_at(c, WIRE_RC_SEND_ONLY, i, 0);
	}
	close_pairs(c);
}

/* The first packet says for which process a train is. */
static void own_slots(void)
{
	static const uint32_t to[4] = { 0x010123, 0x010456, 0x020123, 0x020456 };
	struct sim_world *w;
	struct pairs c = { .n = 4 };

	w = &c.w;
	sim_world_open(w, &(struct sim_options){ .hosts = 1, .slots = true });
	for (int i = 0; i < 4; i++) {
		sim_end_create(&c.a[i], &w->host[0], &(struct sim_qp_options){ 0 });
		sim_end_aim(&c.a[i], w->host[0].addr, to[i], 0, 0, &(struct sim_qp_options){ 0 });
		sim_end_memory(&c.a[i], LEN);
	}
	tape_start(&c.tape, w);
	c.tape.judge = note_place;
	post_all(&c);
	for (int i = 0; i < 4; i++)
		is_at(&c, WIRE_RC_SEND_ONLY, i, i % 2);
	for (int i = 0; i < 4; i++)
		sim_end_close(&c.a[i]);
	sim_world_close(w);
}

/* There is no timeout that would send it again. */
static void fault_in(bool own)
{
	struct pairs *c = open_pairs_as(MOST, 1, own, &(struct sim_qp_options){ .timeout_zero = true });

	for (int i = 3; i < MOST; i += 5)
		CHECK(munmap(c->a[i].mem, c->a[i].mem_len) == 0);
	post_all(c);
	for (int i = 0; i < MOST; i++) {
		if (i % 5 != 3)
			arrived(c, i);
		else
			sim_wc_is(&c->w, c->a[i].scq, IBV_WC_LOC_PROT_ERR);
	}
	CHECK(tape_count(&c->tape, WIRE_RC_SEND_ONLY) == MOST - MOST / 5);
	CHECK(sim_counter(&c->w.host[0], ENG_C_retransmits) == 0);
	close_pairs(c);
}

static void fault_between_others(void)
{
	fault_in(false);
}

/* Where packets are put together at once. */
static void fault_between_ready(void)
{
	fault_in(true);
}

static void later(struct pairs *c)
{
	c->w.now += SIM_DELAY;
	while (sim_round(&c->w))
		;
}

static void send_message(struct sim_end *e, uint64_t id, size_t off)
{
	struct eng_dev *dev = &e->h->dev;

	ut_lock(&dev->lock);
	CHECK(sim_post(e, &(struct sim_op){ .code = IBV_WR_SEND, .id = id, .at = e->mem + off,
					    .len = LEN }) == 0);
	eng_dev_mark(dev, e->qp);
	ut_unlock(&dev->lock);
}

/*
 * The acknowledgement of the first finds no room behind the request of the second, whose memory
 * turns out to be gone just then; and the second stands behind the first among those that owe one.
 */
static void fault_among_acks(void)
{
	struct pairs *c = open_pairs(3, 2, &(struct sim_qp_options){ 0 });

	for (int i = 1; i < 3; i++) {
		CHECK(sim_post_recv(&c->a[i], 7, c->a[i].mem, LEN) == 0);
		send_message(&c->b[i], 0, PAGE);
	}
	sim_round(&c->w);
	send_message(&c->a[0], 0, 0);
	send_message(&c->a[1], 1, 0);
	later(c);
	CHECK(munmap(c->b[1].mem + PAGE, PAGE) == 0);
	send_message(&c->b[1], 9, PAGE);
	later(c);
	CHECK(tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 4);
	arrived(c, 0);
	sim_wc_is(&c->w, c->b[1].scq, IBV_WC_SUCCESS);
	CHECK(sim_wc_is(&c->w, c->b[1].scq, IBV_WC_LOC_PROT_ERR).wr_id == 9);
	close_pairs(c);
}

/* A message, and its answer, which the responder's program posts before the round that receives the message: the
 * acknowledgement is set aside and leaves with the answer. */
static struct pairs *answer_at_once(bool own)
{
	struct pairs *c = open_pairs_as(1, 2, own, &(struct sim_qp_options){ .timeout_zero = true });

	CHECK(sim_post_recv(&c->a[0], 7, c->a[0].mem, LEN) == 0);
	send_message(&c->a[0], 0, 0);
	sim_round(&c->w);
	send_message(&c->b[0], 9, PAGE);
	return c;
}

/* The socket is full: neither leaves; then both do, in order and once. */
static void ahead_waits(void)
{
	struct pairs *c = answer_at_once(true);
	const struct tape_packet *ack, *answer;

	sim_link_block(c->w.host[1].link, true);
	later(c);
	CHECK(tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 1 && tape_count(&c->tape, WIRE_RC_ACKNOWLEDGE) == 0);
	sim_link_block(c->w.host[1].link, false);
	arrived(c, 0);
	sim_wc_is(&c->w, c->a[0].rcq, IBV_WC_SUCCESS);
	sim_wc_is(&c->w, c->b[0].scq, IBV_WC_SUCCESS);
	ack = tape_find(&c->tape, WIRE_RC_ACKNOWLEDGE, 0);
	answer = tape_find(&c->tape, WIRE_RC_SEND_ONLY, 1);
	CHECK(ack && answer && ack < answer);
	CHECK(tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 2 && tape_count(&c->tape, WIRE_RC_ACKNOWLEDGE) == 2);
	CHECK(sim_counter(&c->w.host[1], ENG_C_tx_pkts) == 2 && sim_counter(&c->w.host[0], ENG_C_rx_icrc_errors) == 0);
	close_pairs(c);
}

/* The answer's memory is gone: the acknowledgement leaves all the same. */
static void ahead_of_nothing(bool own)
{
	struct pairs *c = answer_at_once(own);

	CHECK(munmap(c->b[0].mem + PAGE, PAGE) == 0);
	later(c);
	arrived(c, 0);
	CHECK(sim_wc_is(&c->w, c->b[0].scq, IBV_WC_LOC_PROT_ERR).wr_id == 9);
	CHECK(tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 1 && tape_count(&c->tape, WIRE_RC_ACKNOWLEDGE) == 1);
	close_pairs(c);
}

static void ahead_of_a_fault(void)
{
	ahead_of_nothing(false);
	ahead_of_nothing(true);
}

static void take_in(struct sim_host *h)
{
	struct eng_dev *dev = &h->dev;
	struct link_rx rx[4];
	int n;

	ut_lock(&dev->lock);
	while ((n = h->link->ops->recv(h->link, rx, 4)) > 0)
		ibp_receive(dev, rx, n, h->world->now);
	ut_unlock(&dev->lock);
}

/* As a poster that finds nothing but its own request to do. Returns true if all is on its way. */
static bool posts(struct sim_end *e, uint64_t id, unsigned how)
{
	struct eng_dev *dev = &e->h->dev;
	bool sent;

	ut_lock(&dev->lock);
	CHECK(sim_post(e, &(struct sim_op){ .code = IBV_WR_SEND, .id = id, .at = e->mem + PAGE, .len = LEN }) == 0);
	CHECK(eng_dev_pop_pending(dev) == e->qp);
	sent = ibp_post(e->qp, PROTO_POST_SEND | how, 0) == PROTO_SENT;
	if (!sent)
		eng_dev_mark(dev, e->qp);
	ut_unlock(&dev->lock);
	return sent;
}

static void deliver(struct pairs *c)
{
	c->w.now += SIM_DELAY;
	sim_net_deliver(c->w.net, c->w.now);
}

/* A pair of which b owes an acknowledgement, after a message each way. */
static struct pairs *owing(void)
{
	struct pairs *c = open_pairs_as(1, 2, true, &(struct sim_qp_options){ .timeout_zero = true });

	for (int i = 0; i < 6; i++) {
		CHECK(sim_post_recv(&c->a[0], (uint64_t)i, c->a[0].mem, LEN) == 0);
		CHECK(sim_post_recv(&c->b[0], (uint64_t)i, c->b[0].mem, LEN) == 0);
	}
	send_message(&c->a[0], 0, 0);
	send_message(&c->b[0], 0, PAGE);
	sim_round(&c->w);
	later(c);
	later(c); /* the acknowledgements, too */
	send_message(&c->a[0], 1, 0);
	sim_round(&c->w);
	deliver(c);
	take_in(&c->w.host[1]);
	CHECK(tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 3 && tape_count(&c->tape, WIRE_RC_ACKNOWLEDGE) == 2);
	return c;
}

static void both_ways(struct pairs *c, int n)
{
	for (int i = 0; i < n; i++)
		sim_wc_is(&c->w, c->b[0].scq, IBV_WC_SUCCESS);
	for (int i = 0; i < 2; i++)
		sim_wc_is(&c->w, c->a[0].scq, IBV_WC_SUCCESS);
	CHECK(sim_counter(&c->w.host[0], ENG_C_rx_icrc_errors) == 0 && sim_counter(&c->w.host[1], ENG_C_rx_icrc_errors) == 0);
	CHECK(sim_counter(&c->w.host[0], ENG_C_retransmits) == 0 && sim_counter(&c->w.host[1], ENG_C_retransmits) == 0);
}

/* A post that needs no round sends at once, the acknowledgement that is due first. */
static void sent_at_once(void)
{
	struct pairs *c = owing();

	CHECK(posts(&c->b[0], 1, 0));
	CHECK(tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 4 && tape_count(&c->tape, WIRE_RC_ACKNOWLEDGE) == 3);
	CHECK(tape_find(&c->tape, WIRE_RC_ACKNOWLEDGE, 2) < tape_find(&c->tape, WIRE_RC_SEND_ONLY, 3));
	CHECK(posts(&c->b[0], 2, 0) && tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 5);
	/* What may coalesce is left to a round. */
	CHECK(!posts(&c->b[0], 3, PROTO_POST_BATCH) && tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 5);
	sim_run(&c->w, SIM_DELAY, NULL, NULL);
	CHECK(!posts(&c->b[0], 4, PROTO_POST_MANY) && tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 6);
	both_ways(c, 5);
	close_pairs(c);
}

/* Without room in the socket a round sends both later, once. */
static void sent_when_there_is_room(void)
{
	struct pairs *c = owing();

	sim_link_block(c->w.host[1].link, true);
	CHECK(!posts(&c->b[0], 1, 0) && tape_count(&c->tape, WIRE_RC_ACKNOWLEDGE) == 2);
	sim_link_block(c->w.host[1].link, false);
	both_ways(c, 2);
	CHECK(tape_count(&c->tape, WIRE_RC_SEND_ONLY) == 4 && tape_count(&c->tape, WIRE_RC_ACKNOWLEDGE) == 4);
	CHECK(tape_find(&c->tape, WIRE_RC_ACKNOWLEDGE, 2) < tape_find(&c->tape, WIRE_RC_SEND_ONLY, 3));
	close_pairs(c);
}

/* A train waits for the socket when one of its queue pairs goes. */
static void one_goes(void)
{
	struct pairs *c = open_pairs(3, 1, &(struct sim_qp_options){ .timeout_zero = true });

	sim_link_block(c->w.host[0].link, true);
	post_all(c);
	sim_round(&c->w);
	sim_end_close(&c->a[0]);
	sim_link_block(c->w.host[0].link, false);
	arrived(c, 1);
	arrived(c, 2);
	CHECK(sim_counter(&c->w.host[0], ENG_C_retransmits) == 0);
	sim_end_close(&c->b[0]);
	c->a[0] = c->a[2];
	c->b[0] = c->b[2];
	c->n = 2;
	close_pairs(c);
}

/* As a poster does that holds the lock: the queue pair is kicked, or may join those that wait. */
static bool waits(struct sim_end *e, uint32_t len, bool more)
{
	struct eng_dev *dev = &e->h->dev;
	struct eng_qp *qp;

	eng_dev_held(dev);
	CHECK(sim_post(e, &(struct sim_op){ .code = IBV_WR_SEND, .at = e->mem, .len = len }) == 0);
	qp = eng_dev_pop_pending(dev);
	CHECK(qp == e->qp);
	if (more && ibp_coalesce_more(qp))
		return true;
	dev->proto->qp_kick(qp);
	return ibp_may_coalesce(dev, true);
}

/* 31 of one queue pair, 63 of all (the next post fills the train), 64 KiB of one, and no large request, nor one that comes when
 * another packet is due. */
static void coalescing(void)
{
	struct pairs *c = open_pairs(MOST, 1, &(struct sim_qp_options){ 0 });
	struct eng_dev *dev = &c->w.host[0].dev;

	ut_lock(&dev->lock);
	for (int i = 0; i < 31; i++)
		CHECK(waits(&c->a[0], LEN, i));
	CHECK(!waits(&c->a[0], LEN, true));
	ibp_transmit(dev, c->w.now, ENG_ACKS_NOW);
	for (int i = 0; i < 63; i++)
		CHECK_MSG(waits(&c->a[1 + i % 16], LEN, i >= 16), "post %d", i);
	CHECK(!waits(&c->a[1], LEN, true));
	ibp_transmit(dev, c->w.now, ENG_ACKS_NOW);
	CHECK(waits(&c->a[1], LEN, false) && !waits(&c->a[1], FEW + 1, true));
	CHECK(!waits(&c->a[2], LEN, false));
	ibp_transmit(dev, c->w.now, ENG_ACKS_NOW);
	for (int i = 0; i < 4; i++)
		CHECK(waits(&c->a[0], FEW, i));
	CHECK(!waits(&c->a[0], FEW, true));
	ut_unlock(&dev->lock);
	close_pairs(c);
}

enum { FULL = 15 }; /* packets of a full train at an MTU of 4,096 */

static bool has_payload(uint8_t opcode)
{
	return opcode != WIRE_RC_ACKNOWLEDGE && opcode != WIRE_RC_RDMA_READ_REQUEST;
}

/* The message moves bytes of one end to the other in so many trains, once the window is open. */
static void long_message(enum ibv_wr_opcode code, uint32_t packets, uint32_t expected)
{
	const uint32_t len = packets * 4096;
	bool read = code == IBV_WR_RDMA_READ;
	static struct pairs c;
	uint32_t trains = 0;

	CHECK(IBP_TRAIN_BYTES / (4096 + WIRE_BTH_LEN + WIRE_ICRC_LEN) == FULL);
	sim_world_open(&c.w, &(struct sim_options){ .net.rx_bytes = 32u << 20 });
	sim_pair(&c.a[0], &c.w.host[0], &c.b[0], &c.w.host[1], &(struct sim_qp_options){ .mtu = IBV_MTU_4096 });
	sim_end_memory(&c.a[0], len);
	sim_end_memory(&c.b[0], len);
	pattern_fill(read ? c.b[0].mem : c.a[0].mem, len, 1);
	/* The first ones open the window. */
	for (uint64_t i = 0; i < 4; i++) {
		tape_start(&c.tape, &c.w);
		c.tape.judge = note_place;
		CHECK(sim_post(&c.a[0], &(struct sim_op){ .code = code, .id = i, .at = c.a[0].mem, .len = len,
							  .remote = c.b[0].mem, .rkey = c.b[0].mr->key }) == 0);
		sim_wc_is(&c.w, c.a[0].scq, IBV_WC_SUCCESS);
	}
	pattern_check(read ? c.a[0].mem : c.b[0].mem, len, 1);
	for (int i = 0; i < c.tape.n; i++)
		trains += has_payload(c.tape.v[i].p.opcode) && !c.place[i];
	CHECK_MSG(trains == expected, "%u trains", trains);
	c.n = 1;
	close_pairs(&c);
}

/* Turns end with a train: only the first packet of a Write, which is longer, and the last packets make short ones. */
static void long_write(void)
{
	long_message(IBV_WR_RDMA_WRITE, 256, 1 + (256 - 2 + FULL - 1) / FULL);
}

/* Each piece of a READ is four full trains, and one of its first two packets behind the last one of the piece before. */
static void long_read(void)
{
	long_message(IBV_WR_RDMA_READ, 3 * (4 * FULL + 3), 3 * 4 + 4);
}

/* One packet of such a READ is lost: the first, one inside a full train, the last and the first of a piece, the last. */
static void long_read_with_loss(void)
{
	static const int lost[] = { 0, 30, 62, 63, 188 };
	const uint32_t len = 3 * (4 * FULL + 3) * 4096;
	struct rig *r = rig_open_on(&(struct sim_options){ .net.rx_bytes = 32u << 20 }, &(struct sim_qp_options){ .mtu = IBV_MTU_4096 }, len);

	pattern_fill(r->b.mem, len, 1);
	for (int i = 0; i < 8; i++) {
		if (i >= 3) {
			memset(r->a.mem, 0, len);
			r->tape.judge = tape_drop;
			r->tape.k = r->tape.n + 3 + lost[i - 3]; /* behind the requests */
		}
		rig_op(r, IBV_WR_RDMA_READ, (uint64_t)i, 0, 0, len, 0);
		sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
		pattern_check(r->a.mem, len, 1);
		CHECK((sim_counter(&r->w.host[0], ENG_C_retransmits) > 0) == (i >= 3));
	}
	rig_close(r);
}

static const struct test_case cases[] = {
	{ "-", "one train for many", one_train },
	{ "95", "own ports on a network", own_ports },
	{ "-", "own trains for each slot", own_slots },
	{ "74", "a fault between others", fault_between_others },
	{ "74", "a fault between packets that are ready", fault_between_ready },
	{ "74", "a fault among acknowledgements", fault_among_acks },
	{ "-", "an acknowledgement ahead of a train that waits", ahead_waits },
	{ "-", "an acknowledgement ahead of a fault", ahead_of_a_fault },
	{ "-", "a post that needs no round", sent_at_once },
	{ "-", "a post that needs no round, without room", sent_when_there_is_room },
	{ "-", "one goes while all wait", one_goes },
	{ "-", "requests that coalesce", coalescing },
	{ "-", "the trains of a long Write", long_write },
	{ "-", "the trains of a long READ", long_read },
	{ "-", "a long READ that loses a packet", long_read_with_loss },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
