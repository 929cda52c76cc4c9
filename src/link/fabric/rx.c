/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/local.h"

#include "host/mailbox.h"
#include "host/outbox.h"
#include "host/service.h"
#include "host/shm/channel.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/syscall.h"
#include "wire/ib_link.h"
#include "wire/ib_packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define READS (FABRIC_RX_SLOTS - 1) /* messages in one call */
#define RECORDS 7  /* of the shm channel in one call */
#define LOOK_EMPTY 24  /* empty calls per look at the epoll set */
#define LOOK_CALLS 16  /* calls per look when there is always something */
#define LOOK_WARM (100 * UT_US) /* between looks while messages come through shared memory */
#define WARM 1000      /* empty calls that ask the socket directly, after a message */

/* LRH, and GRH if there is one, become fields. Returns false if the bytes are no packet. */
static bool fill(struct link_rx *rx, const uint8_t *at, size_t off, size_t len, uint16_t seg)
{
	struct wire_link_packet p;

	if (wire_link_parse(at, len, &p) != WIRE_OK)
		return false;
	*rx = (struct link_rx){ .data = p.ib, .off = off + (size_t)(p.ib - at), .len = (uint32_t)p.ib_len, .seg = seg,
				.lids = true, .sl = p.lrh.sl, .slid = p.lrh.slid, .dlid = p.lrh.dlid };
	if (p.lrh.lnh != WIRE_LNH_GLOBAL)
		return true;
	rx->grh = true;
	rx->tos = p.grh.tclass;
	rx->ttl = p.grh.hop_lmt;
	rx->flow_label = p.grh.flow_label;
	memcpy(rx->src, p.grh.sgid, 16);
	memcpy(rx->dst, p.grh.dgid, 16);
	return true;
}

static int hand_out(struct fabric_link *n, struct link_rx *v, int got, int max)
{
	struct fabric_carry *c = &n->carry;

	while (got < max && c->left) {
		uint32_t len = c->left < c->step ? c->left : c->step;

		if (fill(&v[got], c->at, c->off, len, c->seg++))
			got++;
		else
			n->stats.dropped++;
		c->at += len;
		c->off += len;
		c->left -= len;
	}
	return got;
}

/* Reads one message into the next place. Returns false if there is none. */
static bool read_message(struct fabric_link *n)
{
	size_t off = (size_t)n->rx_slot * FABRIC_RX_SLOT_BYTES;
	uint8_t *at = n->stage.base + off;
	struct pkt_head h;
	struct pkt_message m;
	long r = n->gone ? -EAGAIN : UT_SYS(SYS_recvfrom, n->data.fd, at, FABRIC_RX_SLOT_BYTES, MSG_DONTWAIT, NULL, NULL);

	if (r == -EAGAIN)
		return false;
	if (r <= 0) {
		n->gone = true;
		return false;
	}
	if (!pkt_parse(at, (size_t)r, true)) {
		n->stats.dropped++;
		return true;
	}
	memcpy(&h, at, sizeof(h));
	if (h.type != PKT_TRAIN) {
		memcpy(&m, at, (size_t)r);
		fabric_told(n, &m);
		return true;
	}
	n->carry = (struct fabric_carry){ .at = at + sizeof(h), .off = off + sizeof(h), .left = (uint32_t)r - sizeof(h),
					  .step = h.seg };
	n->rx_slot = (n->rx_slot + 1) % FABRIC_RX_SLOTS;
	n->stats.received++;
	return true;
}

static int read_data(struct fabric_link *n, struct link_rx *v, int got, int max)
{
	for (unsigned i = 0; i < READS && got < max && !n->carry.left; i++) {
		if (!read_message(n)) {
			n->warm -= n->warm > 0;
			break;
		}
		n->warm = WARM;
		got = hand_out(n, v, got, max);
	}
	return got;
}

/* --- what other processes of the port pass to this one --- */

static bool fill_passed(struct fabric_link *n, const struct host_message *m, size_t off, size_t len, struct link_rx *rx)
{
	if (m->type != HOST_MSG_FORWARD || !fill(rx, n->stage.base + off, off, len, 0))
		return false;
	rx->passed = true;
	n->stats.received_passed++;
	n->rx_slot = (n->rx_slot + 1) % FABRIC_RX_SLOTS;
	return true;
}

static int read_service(struct fabric_link *n, struct host_service *s, struct link_rx *v, int got, int max)
{
	struct host_message m;
	size_t len;

	for (unsigned i = 0; i < READS && got < max; i++) {
		size_t off = (size_t)n->rx_slot * FABRIC_RX_SLOT_BYTES;

		if (!host_receive(&n->host, s->port.fd, &m, n->stage.base + off, FABRIC_RX_SLOT_BYTES, &len)) {
			ut_list_del(&s->ready);
			break;
		}
		got += fill_passed(n, &m, off, len, &v[got]);
	}
	return got;
}

static void read_mail(struct fabric_link *n)
{
	struct host_message m;
	size_t len, off = (size_t)n->rx_slot * FABRIC_RX_SLOT_BYTES;

	while (host_receive(&n->host, n->at.mail.fd, &m, n->stage.base + off, FABRIC_RX_SLOT_BYTES, &len))
		host_dispatch(&n->host, &n->at, &m, n->stage.base + off, len);
	n->at.mail_ready = false;
}

static int read_boxes(struct fabric_link *n, struct link_rx *v, int got, int max)
{
	struct host_service *s, *t;

	if (n->at.mail_ready || (n->at.mail_polled && n->at.mail_polled--))
		read_mail(n);
	ut_list_each_safe(s, t, &n->host.services_ready, ready)
		got = read_service(n, s, v, got, max);
	return got;
}

static bool look_is_due(struct fabric_link *n, bool local_news)
{
	uint64_t now;

	if (!local_news)
		return ++n->calls % LOOK_CALLS == 0;
	now = ut_now();
	if (now - n->looked < LOOK_WARM)
		return false;
	n->looked = now;
	return true;
}

/* Records of the shm channel. One that was begun lies where the next ones would: it is handed out alone. */
static int read_records(struct fabric_link *n, struct link_rx *v, int max)
{
	int got = hand_out(n, v, 0, max);
	size_t at = 0;

	if (got || !n->chan)
		return got;
	for (unsigned i = 0; i < RECORDS && got < max && !n->carry.left && fabric_local_take(n, &at); i++)
		got = hand_out(n, v, got, max);
	return got;
}

static void follow_routes(struct fabric_link *n)
{
	if (fabric_routes_due(&n->routes))
		fabric_routes_run(&n->routes);
	if (!n->routes.moved)
		return;
	n->routes.moved = false;
	n->base.routes++;
}

static int read_sockets(struct fabric_link *n, struct link_rx *v, int got, int max, bool news)
{
	bool looked;

	if (!got)
		n->rx_slot = 0;
	looked = look_is_due(n, news) && host_look(&n->host);
	if (looked || (n->warm && !news))
		got = read_data(n, v, got, max);
	if (!got && !news && (!n->warm || ++n->empties >= LOOK_EMPTY ||
				       atomic_load_explicit(&n->sleeping, memory_order_relaxed))) {
		n->empties = 0;
		if (host_look(&n->host))
			got = read_data(n, v, got, max);
	}
	return n->carry.left ? got : read_boxes(n, v, got, max);
}

int fabric_recv(struct link *l, struct link_rx *v, int max)
{
	struct fabric_link *n = fabric_of(l);
	int got = read_records(n, v, max);
	bool news = l->local_news || (n->chan && (got || shm_channel_warm(n->chan)));

	if (n->host.outbox_used)
		host_outbox_flush(&n->host);
	follow_routes(n);
	if (!l->cheap && !n->carry.left)
		got = read_sockets(n, v, got, max, news);
	if (n->chan)
		shm_channel_settle(n->chan);
	return got;
}
