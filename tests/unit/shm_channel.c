/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two links of one host that reach each other through shared memory: datagrams arrive as from the
 * wire, the source port included when another socket has the wanted one (the ICRC covers it).
 * Messages arrive as they were written, in one order with datagrams; a reader that returns nothing leaves no
 * room.
 */
#include "shm_channel_util.h"

#include "host/shm/handshake.h"
#include "host/shm/inlet.h"
#include "host/shm/lane.h"
#include "host/shm/ring.h"

#include <errno.h>
#include <poll.h>

/* A foreign socket on 127.0.0.1; its port. */
static uint16_t occupy(int *fd)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(sa);

	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(*fd >= 0 && bind(*fd, (struct sockaddr *)&sa, n) == 0);
	CHECK(getsockname(*fd, (struct sockaddr *)&sa, &n) == 0);
	return ntohs(sa.sin_port);
}

/* Sends until it goes (the ends must agree first) and takes it at the other end. */
static void pass(struct link *from, struct link *to, const struct ut_flow *f, struct link_rx *ret)
{
	uint64_t end = ut_now() + 20 * UT_S;
	struct link_rx v[8];
	uint8_t data[32] = { 0 };
	int r = -EAGAIN, n = 0;

	put_bth(data, to->qpn_fixed | 0x55);
	while (!n && ut_now() < end) {
		if (r == -EAGAIN)
			r = from->ops->send(from, f, to->qpn_fixed | 0x55, data, 32, 32);
		from->ops->recv(from, v, 8);
		n = to->ops->recv(to, v, 8);
	}
	CHECK(r == 0 && n == 1 && v[0].len == 32);
	*ret = v[0];
}

static void messages(struct link *a, struct link *b, const struct ut_flow *f)
{
	struct shm_channel *c = channel_of(b);
	const struct shm_channel_ops *n = c->ops;
	static uint8_t big[SHM_CHANNEL_MAX];
	struct shm_message v[8];
	int r = 0;

	CHECK(say(a, b, f, "one", "data", 5) == 0 && say(a, b, f, "two", big, sizeof(big)) == 0);
	CHECK(take_messages(b, v, 8) == 2);
	CHECK(!strcmp((const char *)v[0].data, "one") && v[0].len == SHM_CHANNEL_HEADER_BYTES + 5);
	CHECK(!strcmp((const char *)v[0].data + SHM_CHANNEL_HEADER_BYTES, "data"));
	CHECK(v[1].len == SHM_CHANNEL_HEADER_BYTES + sizeof(big) && !memcmp(v[1].src, LO4, 16));
	n->release(c);
	/* Held records keep their room, and for longer than a process waits for a processor no
	 * message is dropped: a UC message would be lost. */
	CHECK(say(a, b, f, "three", "", 1) == 0 && take_messages(b, v, 8) == 1);
	for (int i = 0; i < 4; i++)
		r = say(a, b, f, "four", big, sizeof(big));
	for (uint64_t end = ut_now() + 50 * UT_MS; r == -EAGAIN && ut_now() < end;)
		r = say(a, b, f, "four", big, sizeof(big));
	CHECK(r == -EAGAIN);
	n->release(c);
	CHECK(take_messages(b, v, 1) == 1 && say(a, b, f, "four", big, sizeof(big)) < 0);
	n->release(c);
	CHECK(say(a, b, f, "four", big, sizeof(big)) == 0);
	while (take_messages(b, v, 8) > 0)
		n->release(c);
}

static void try_messages(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123);
	struct ut_flow back = flow_to((const uint8_t *)SECOND, LO4, 0xd123);
	struct link *a, *b;
	struct link_rx rx;

	open_pair(port, &a, &b);
	shm_channel_messages(channel_of(a), false);
	shm_channel_messages(channel_of(b), false);
	CHECK(way(a, b, &f) == SHM_REACH_LOCAL);
	/* The asked process can answer from the first question on. */
	CHECK(say(b, a, &back, "answer", "", 1) == 0);
	messages(a, b, &f);
	pass(a, b, &f, &rx);
	close_pair(a, b);
}

/* One of them does not know messages. */
static void datagrams_only(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123);
	struct link *a, *b;
	struct link_rx rx;

	open_pair(port, &a, &b);
	shm_channel_messages(channel_of(a), false);
	CHECK(way(a, b, &f) == SHM_REACH_WIRE);
	CHECK(channel_of(b)->ops->reach(channel_of(b), &f, a->qpn_fixed | 0x55) == SHM_REACH_WIRE);
	pass(a, b, &f, &rx);
	close_pair(a, b);
}

static int send_to(struct link *from, struct link *to, const struct ut_flow *f)
{
	uint8_t data[32] = { 0 };

	put_bth(data, to->qpn_fixed | 0x55);
	return from->ops->send(from, f, to->qpn_fixed | 0x55, data, 32, 32);
}

/* Octets of records that were taken out of the rings of its peers. */
static uint64_t octets_taken(struct link *l)
{
	struct shm_peer_rx *r;
	uint64_t sum = 0;

	ut_list_each(r, &chan_of(l)->rx, node)
		sum += r->ring.head;
	return sum;
}

/* Returns true if this end has put a record into a ring. */
static bool has_put(struct link *l)
{
	struct shm_peer_tx *t;

	ut_list_each(t, &chan_of(l)->tx, node)
		if (t->ring.tail)
			return true;
	return false;
}

/*
 * A link that gets the local path after its first datagrams holds the next one back until the peer has answered and opened
 * its own ring, by which it acknowledges. A peer that is woken answers at once, though its socket gave something lately.
 * Returns false if this process was without a processor for so long that the link has taken the wire.
 */
static bool held_until_both(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123);
	uint64_t end = ut_now() + 20 * UT_S;
	struct link_rx v[8];
	struct link *a, *b;
	int n = 0, r;

	CHECK(udp_open(port, &a) == 0 && a->ops->add_addr(a, LO4, 0) == 0);
	b = open_with_channel(port);
	CHECK(b->ops->add_addr(b, (const uint8_t *)SECOND, 0) == 0);
	pass(a, b, &f, &v[0]);
	shm_handshake_refuse_all(udp_host(a));
	go_local(&a);
	b->ops->sleep(b, true, false);
	while (b->ops->recv(b, v, 8) > 0)
		;
	CHECK(send_to(a, b, &f) == -EAGAIN);
	CHECK(b->ops->recv(b, v, 8) == 0 && a->ops->recv(a, v, 8) == 0);
	r = send_to(a, b, &f);
	CHECK(!has_put(a));
	if (r == -EAGAIN) {
		/* The message with the ring, the answer to what b has asked, and b's own ring. */
		CHECK(b->ops->recv(b, v, 8) == 0 && a->ops->recv(a, v, 8) == 0);
		CHECK(send_to(a, b, &f) == 0 && has_put(a));
		while (!n && ut_now() < end)
			n = b->ops->recv(b, v, 8);
		CHECK(n == 1 && octets_taken(b));
	}
	close_pair(a, b);
	return r == -EAGAIN;
}

/* The last datagrams, and responses, do not wait, and keep their place before those that do. */
static void not_held(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123);
	uint64_t end = ut_now() + 20 * UT_S;
	struct link_rx v[8];
	struct link *a, *b;

	while (!held_until_both(port))
		CHECK(ut_now() < end);
	open_pair(port, &a, &b);
	CHECK(send_to(a, b, &f) == -EAGAIN);
	a->leaving = true;
	CHECK(send_to(a, b, &f) == 0);
	a->leaving = false;
	CHECK(!chan_of(a)->host->leaving && !has_put(a) && b->ops->recv(b, v, 8) == 1);
	pass(a, b, &f, &v[0]);
	close_pair(a, b);
}

/* A pair that exchanges messages. */
static void open_local(uint16_t port, const struct ut_flow *f, struct link **a, struct link **b)
{

	open_pair(port, a, b);
	shm_channel_messages(channel_of(*a), false);
	shm_channel_messages(channel_of(*b), false);
	CHECK(way(*a, *b, f) == SHM_REACH_LOCAL);
}

/* A reader that let go of a ring lives on: its content is lost, and the way is found anew. */
static void let_go(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123);
	struct shm_message v[8];
	struct shm_reservation at;
	struct link *a, *b;

	open_local(port, &f, &a, &b);
	CHECK(channel_of(a)->ops->reserve(channel_of(a), &f, b->qpn_fixed | 0x55, 8, &at) == 0);
	channel_of(a)->ops->commit(channel_of(a), &at, 8);
	((struct shm_record *)at.data - 1)->bytes = SHM_MESSAGE_MAX + 1; /* no record */
	CHECK(take_messages(b, v, 8) == 0);
	channel_of(b)->ops->release(channel_of(b));
	CHECK(say(a, b, &f, "lost", "", 1) == -ENOTCONN);
	CHECK(way(a, b, &f) == SHM_REACH_LOCAL);
	CHECK(say(a, b, &f, "found", "", 1) == 0);
	CHECK(take_messages(b, v, 8) == 1 && !strcmp((const char *)v[0].data, "found"));
	channel_of(b)->ops->release(channel_of(b));
	close_pair(a, b);
}

/* Rings that are never empty do not shut out datagrams from the socket. */
static void both_ways(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123);
	uint64_t end = ut_now() + 20 * UT_S;
	struct shm_message messages[8];
	struct link_rx v[8];
	struct link *a, *b, *c;
	bool came = false;

	open_local(port, &f, &a, &b);
	b->ops->sleep(b, false, false); /* it polls */
	CHECK(udp_open(port, &c) == 0 && c->ops->add_addr(c, LO4, 0) == 0);
	for (bool sent = false; !came && ut_now() < end;) {
		CHECK(say(a, b, &f, "on and on", "", 1) == 0);
		if (!sent)
			sent = send_to(c, b, &f) == 0;
		b->local_news = channel_of(b)->ops->poll(channel_of(b), messages, 8) > 0;
		came = b->ops->recv(b, v, 8) > 0;
		channel_of(b)->ops->release(channel_of(b));
		c->ops->recv(c, v, 8);
	}
	CHECK(came);
	c->ops->close(c);
	close_pair(a, b);
}

/* Takes so many messages, and sleeps. Was it woken? */
static bool woken(struct link *b, int messages)
{
	struct pollfd p = { .fd = b->ops->fd(b), .events = POLLIN };
	bool yes = poll(&p, 1, 0) == 1;
	struct shm_message v[8];

	CHECK(take_messages(b, v, 8) == messages);
	channel_of(b)->ops->release(channel_of(b));
	while (poll(&p, 1, 0) == 1)
		CHECK(take_messages(b, v, 8) == 0);
	return yes;
}

/* A message without a notification is there for a polling reader; a sleeping reader is woken by
 * the next message, or on request. */
static void quiet_ones(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123);
	struct link *a, *b;

	open_local(port, &f, &a, &b);
	b->ops->sleep(b, true, false);
	woken(b, 0);
	for (int i = 0; i < 3; i++) {
		CHECK(say(a, b, &f, "loud", "", 1) == 0 && woken(b, 1));
		CHECK(say_so(a, b, &f, "quiet", "", 1, true) == 0 && channel_of(a)->unnotified == 1 && !woken(b, 1));
		channel_of(a)->ops->notify(channel_of(a)); /* too late, it has been taken */
		CHECK(!channel_of(a)->unnotified && !woken(b, 0));
		CHECK(say_so(a, b, &f, "quiet", "", 1, true) == 0);
		CHECK(say_so(a, b, &f, "and another", "", 1, true) == 0 && channel_of(a)->unnotified == 1);
		channel_of(a)->ops->notify(channel_of(a));
		CHECK(!channel_of(a)->unnotified && woken(b, 2));
		CHECK(say_so(a, b, &f, "quiet", "", 1, true) == 0);
		CHECK(say(a, b, &f, "loud", "", 1) == 0 && !channel_of(a)->unnotified && woken(b, 2));
	}
	CHECK(say_so(a, b, &f, "left unread", "", 1, true) == 0);
	close_pair(a, b);
}

/* Puts one message by a lane. Returns false if it leads nowhere, or the ring has no room. */
static bool put_by(struct link *l, const struct shm_lane *lane, const char *note, bool more)
{
	struct shm_channel *c = channel_of(l);
	struct shm_record *at;
	uint64_t skip;

	if (!shm_lane_leads(c, lane))
		return false;
	at = shm_lane_reserve(lane, 1, &skip);
	if (!at)
		return false;
	memset(at->header, 0, SHM_CHANNEL_HEADER_BYTES);
	memcpy(at->header, note, strlen(note));
	*(uint8_t *)(at + 1) = 'x';
	shm_lane_commit(c, lane, at, 1, skip, more);
	return true;
}

static bool lane_of(struct link *a, struct link *b, const struct ut_flow *f, struct shm_lane *ret)
{
	return channel_of(a)->ops->lane(channel_of(a), f, b->qpn_fixed | 0x55, ret);
}

/* Messages by a lane keep their order among others, and wake a reader that sleeps. The lane ends with its ring, and one of a
 * process that is not there leads nowhere. */
static void lanes(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123), other = flow_to((const uint8_t *)SECOND, (const uint8_t *)SECOND, 0xd123);
	struct shm_lane lane = { 0 }, none = { 0 };
	struct shm_message v[8];
	struct link *a, *b;
	unsigned full = 0;

	open_local(port, &f, &a, &b);
	CHECK(!shm_lane_leads(channel_of(a), &none) && lane_of(a, b, &f, &lane));
	CHECK(!channel_of(a)->ops->lane(channel_of(a), &f, (b->qpn_fixed ^ 1u << HOST_SLOT_SHIFT) | 0x55, &none));
	CHECK(!lane_of(a, b, &other, &none)); /* its receiver would see another source */
	b->ops->sleep(b, true, false);
	woken(b, 0);
	CHECK(say(a, b, &f, "one", "", 1) == 0 && put_by(a, &lane, "two", false) && say(a, b, &f, "three", "", 1) == 0);
	CHECK(take_messages(b, v, 8) == 3 && !strcmp((const char *)v[1].data, "two") && !strcmp((const char *)v[2].data, "three"));
	CHECK(v[1].len == SHM_CHANNEL_HEADER_BYTES + 1 && v[1].data[SHM_CHANNEL_HEADER_BYTES] == 'x');
	channel_of(b)->ops->release(channel_of(b));
	woken(b, 0);
	CHECK(put_by(a, &lane, "alone", false) && woken(b, 1));
	CHECK(put_by(a, &lane, "more follows", true) && !woken(b, 0));
	channel_of(a)->ops->flush(channel_of(a));
	CHECK(woken(b, 1));
	CHECK(say_so(a, b, &f, "quiet", "", 1, true) == 0 && put_by(a, &lane, "loud", false) && !channel_of(a)->unnotified && woken(b, 2));
	while (put_by(a, &lane, "until it is full", false))
		full++;
	CHECK(full == SHM_RING_BYTES / SHM_LINE && shm_lane_leads(channel_of(a), &lane));
	channel_of(b)->ops->release(channel_of(b));
	shm_channel_forget_addr(channel_of(a), LO4); /* its rings end */
	CHECK(!put_by(a, &lane, "nowhere", false) && !lane_of(a, b, &f, &lane));
	close_pair(a, b);
}

/* One that an observer watches does not lead, and ends as others do; no epoch makes a lane look watched. */
static void watched_lanes(void)
{
	struct shm_channel c = { .epoch = 7 };
	struct shm_lane lane = { .epoch = 7 }, watched = { .epoch = 7 | SHM_LANE_WATCHED }, none = { 0 };

	CHECK(shm_lane_leads(&c, &lane) && !shm_lane_is_watched(&c, &lane));
	CHECK(!shm_lane_leads(&c, &watched) && shm_lane_is_watched(&c, &watched));
	shm_channel_end_lanes(&c);
	CHECK(!shm_lane_leads(&c, &lane) && !shm_lane_is_watched(&c, &watched));
	c.epoch = SHM_LANE_WATCHED - 1;
	shm_channel_end_lanes(&c);
	CHECK(c.epoch == 1 && !shm_lane_leads(&c, &none) && !shm_lane_is_watched(&c, &none));
}

/* Without a processor for 20 ms a link takes the wire. */
static bool took_wire(struct link *l)
{
	struct shm_peer_tx *t;

	ut_list_each(t, &chan_of(l)->tx, node)
		if (t->state == SHM_PEER_WIRE)
			return true;
	return false;
}

/* Datagrams come with addresses and ports as from the wire. Returns false if they did come from there. */
static bool datagrams(uint16_t port)
{
	struct link *a, *b;
	struct ut_flow f;
	struct link_rx rx;
	uint16_t taken;
	bool local;
	int fd;

	open_pair(port, &a, &b);
	taken = occupy(&fd);
	f = flow_to(LO4, (const uint8_t *)SECOND, taken);
	pass(a, b, &f, &rx);
	CHECK(rx.sport == a->ops->source_port(a, &f) && rx.sport != taken);
	f.sport = 0xd123;
	pass(a, b, &f, &rx);
	CHECK(rx.sport == a->ops->source_port(a, &f));
	CHECK(!memcmp(rx.src, LO4, 16) && !memcmp(rx.dst, SECOND, 16));
	local = !took_wire(a);
	CHECK(!local || octets_taken(b));
	close(fd);
	close_pair(a, b);
	return local;
}

/* Inlets name all rings of the peers or none: a thread that polls would read the others seldom. */
static void inlets(uint16_t port)
{
	struct shm_peer_rx peers[SHM_INLETS + 1] = { 0 };
	static struct shm_ring ring;
	struct shm_inlets in = { 0 };
	struct shm_channel *c;
	struct link *a, *b;

	open_pair(port, &a, &b);
	c = &chan_of(a)->base;
	for (unsigned i = 0; i < SHM_INLETS; i++) {
		peers[i].ring.ring = &ring;
		ut_list_add_tail(&chan_of(a)->rx, &peers[i].node);
	}
	ut_list_add_tail(&chan_of(a)->rx, &peers[SHM_INLETS].node);
	CHECK(c->ops->inlets(c, &in) && shm_inlets_lead(c, &in) && in.n == SHM_INLETS); /* the last one has no ring yet */
	peers[SHM_INLETS].ring.ring = &ring;
	CHECK(!c->ops->inlets(c, &in) && !shm_inlets_lead(c, &in));
	for (unsigned i = 0; i <= SHM_INLETS; i++)
		ut_list_del(&peers[i].node);
	close_pair(a, b);
}

/* A datagram by a ring is the peer's, also where the peer has left meanwhile and its socket is closed. */
static void peer_has_left(uint16_t port)
{
	struct ut_flow f = flow_to(LO4, (const uint8_t *)SECOND, 0xd123);
	struct link *a, *b;
	struct link_rx rx, v[8];

	open_pair(port, &a, &b);
	pass(a, b, &f, &rx);
	CHECK(send_to(a, b, &f) == 0);
	a->ops->close(a);
	CHECK(b->ops->recv(b, v, 8) == 1);
	CHECK(b->ops->sender(b, &v[0]) == LINK_SENDER_PEER);
	b->ops->close(b);
}

int main(void)
{
	uint16_t port = free_port();
	uint64_t end = ut_now() + 60 * UT_S;

	while (!datagrams(port))
		CHECK(ut_now() < end);
	try_messages(port);
	datagrams_only(port);
	not_held(port);
	let_go(port);
	both_ways(port);
	quiet_ones(port);
	lanes(port);
	inlets(port);
	peer_has_left(port);
	watched_lanes();
	return 0;
}
