/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trunk.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters.h"
#include "mgmt/carry.h"
#include "mgmt/packets.h"
#include "mgmt/port.h"
#include "mgmt/topology.h"
#include "trunk_crypt.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/sys.h"
#include "wire/field.h"
#include "wire/smp_fields.h"

/*
 * Bodies: type 1, then
 *	PORTS  for each trunk: number 1, enabled 1, widths, speeds, extended speeds, MTU capability
 *	MAD    number 1, has_grh 1, hops 1, sl 1, slid 2, dlid 2, pkey 2, sqpn 4, dqpn 4, qkey 4, GRH 40, MAD 256
 *	PACKET number 1, bytes sent with this one 8, packet from LRH to ICRC
 *	ASK    bytes sent 8: a sender without credit asks whether what it waits for is lost
 *	CREDIT bytes received, or lost, 8
 *	HOSTS  is_first 1, then for each host: address 4, LID 2, GUID 8, prefix 8
 */
enum { BODY_PORTS = 1, BODY_MAD = 2, BODY_PACKET = 3, BODY_ASK = 4, BODY_CREDIT = 5, BODY_HOSTS = 6 };

#define PORT_LEN 6u
#define MAD_HEAD 23u
#define MAD_BODY_LEN (MAD_HEAD + 40 + MAD_LEN)
#define TELL_NS UT_S
#define SILENCE_NS (6 * UT_S)
#define BATCH 64		/* datagrams for one turn of the loop */
#define PACKET_HEAD 10u
#define CREDIT_BYTES (TRUNK_WINDOW_BYTES / 4)	/* received, after which the sender learns of it */
#define ASK_NS (20 * UT_MS)
#define HOST_LEN 22u
#define HOSTS_IN_BODY 90u

struct departing {
	struct ut_list node;
	uint8_t trunk;
	size_t len;
	uint8_t packet[];
};

struct trunks {
	struct loop *loop;
	struct fab *fabric;
	int fd;
	struct trunk_crypt crypt;
	uint64_t tell_at, heard_at;
	bool is_alive;
	struct fab_port *ports[FAB_TRUNKS_MAX + 1];
	struct ad *adapters;
	struct ut_list queue;		/* packets that wait for credit */
	size_t queued;
	uint64_t sent, credited;	/* bytes of packets, in the peer's session */
	uint64_t got, told;		/* bytes from the peer, in its session */
	uint64_t ask_at;		/* UT_NEVER: nothing waits */
	uint64_t lost;			/* packets for which there was no room */
	uint64_t generation;		/* of the model, when the hosts were told */
	uint8_t session[TRUNK_SESSION];	/* the peer's, of these counts */
};

/* --- sending --- */

static void send_body(struct trunks *t, bool to_greeter, const uint8_t *body, size_t n)
{
	uint8_t datagram[TRUNK_DATAGRAM_MAX];
	size_t len = trunk_crypt_wrap(&t->crypt, to_greeter, body, n, datagram);

	/* Lost datagrams are as those of a network: the state is told again, MADs by whom they matter to. */
	(void)!send(t->fd, datagram, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void tell_ports(struct trunks *t, bool to_greeter)
{
	uint8_t body[1 + PORT_LEN * FAB_TRUNKS_MAX] = { BODY_PORTS };
	size_t n = 1;
	unsigned i;

	for (i = 1; i <= FAB_TRUNKS_MAX; i++) {
		if (!t->ports[i])
			continue;
		body[n] = (uint8_t)i;
		body[n + 1] = fab_port_trunk_own(t->ports[i], body + n + 2);
		n += PORT_LEN;
	}
	send_body(t, to_greeter, body, n);
}

void trunk_depart(struct trunks *t, struct fab_port *port, const struct mad *m)
{
	uint8_t body[1 + MAD_BODY_LEN] = { BODY_MAD }, *b = body + 1;

	if (!t->is_alive)
		return;
	b[0] = port->trunk;
	b[1] = m->has_grh;
	b[2] = m->hops;
	b[3] = m->sl;
	wire_put16(b + 4, m->slid);
	wire_put16(b + 6, m->dlid);
	wire_put16(b + 8, m->pkey);
	wire_put32(b + 10, m->sqpn);
	wire_put32(b + 14, m->dqpn);
	wire_put32(b + 18, m->qkey);
	memcpy(b + MAD_HEAD, m->grh, 40);
	memcpy(b + MAD_HEAD + 40, m->bytes, MAD_LEN);
	send_body(t, false, body, sizeof(body));
}

void trunk_port_changed(struct trunks *t, struct fab_port *port)
{
	t->tell_at = 0;	/* with the next turn of the loop */
}

/* --- packets of adapters --- */

static void send_number(struct trunks *t, uint8_t type, uint64_t n)
{
	uint8_t body[9] = { type };

	wire_put64(body + 1, n);
	send_body(t, false, body, sizeof(body));
}

static void send_packet(struct trunks *t, uint8_t trunk, const uint8_t *packet, size_t len)
{
	uint8_t body[TRUNK_BODY_MAX] = { BODY_PACKET, trunk };

	t->sent += len;
	wire_put64(body + 2, t->sent);
	memcpy(body + PACKET_HEAD, packet, len);
	send_body(t, false, body, PACKET_HEAD + len);
}

static bool has_credit(const struct trunks *t)
{
	return t->sent - t->credited < TRUNK_WINDOW_BYTES;
}

static void keep(struct trunks *t, uint8_t trunk, const uint8_t *packet, size_t len)
{
	struct departing *d = t->queued + len <= TRUNK_QUEUE_BYTES ? malloc(sizeof(*d) + len) : NULL;

	if (!d) {
		t->lost++;
		return;
	}
	d->trunk = trunk;
	d->len = len;
	memcpy(d->packet, packet, len);
	if (ut_list_empty(&t->queue))
		t->ask_at = ut_now() + ASK_NS;
	ut_list_add_tail(&t->queue, &d->node);
	t->queued += len;
}

static void drop_first(struct trunks *t)
{
	struct departing *d = ut_list_first(&t->queue, struct departing, node);

	ut_list_del(&d->node);
	t->queued -= d->len;
	free(d);
}

static void send_queue(struct trunks *t)
{
	struct departing *d;

	while (has_credit(t) && (d = ut_list_first(&t->queue, struct departing, node))) {
		send_packet(t, d->trunk, d->packet, d->len);
		drop_first(t);
	}
	t->ask_at = ut_list_empty(&t->queue) ? UT_NEVER : ut_now() + ASK_NS;
}

static void packet_departs(void *ctx, struct fab_port *port, const uint8_t *packet, size_t len)
{
	struct trunks *t = ctx;

	if (!t->is_alive || len > TRUNK_BODY_MAX - PACKET_HEAD)
		t->lost++;
	else if (ut_list_empty(&t->queue) && has_credit(t))
		send_packet(t, port->trunk, packet, len);
	else
		keep(t, port->trunk, packet, len);
}

void trunk_join(struct trunks *t, struct ad *adapters)
{
	t->adapters = adapters;
	ad_on_depart(adapters, packet_departs, t);
}

/* --- hosts --- */

static void put_host(uint8_t *at, const struct fab_node *n)
{
	const struct fab_port *p = &n->ports[1];

	wire_put32(at, addr_of(n));
	wire_put16(at + 4, fab_port_lid(p));
	wire_put64(at + 6, p->guid);
	wire_put64(at + 14, wire_get_PORT_INFO_gid_prefix(p->info));
}

static void tell_hosts(struct trunks *t)
{
	uint8_t body[2 + HOST_LEN * HOSTS_IN_BODY] = { BODY_HOSTS, 1 };
	struct fab_node *n;
	size_t len = 2;

	t->generation = t->fabric->generation;
	ut_list_each(n, &t->fabric->nodes, link) {
		if (!addr_of(n) || !fab_port_lid(&n->ports[1]))
			continue;
		put_host(body + len, n);
		len += HOST_LEN;
		if (len < sizeof(body))
			continue;
		send_body(t, false, body, len);
		body[1] = 0;
		len = 2;
	}
	if (len > 2 || body[1])
		send_body(t, false, body, len);
}

static void take_hosts(struct trunks *t, const uint8_t *body, size_t n)
{
	size_t at;

	if (!t->adapters || n < 2)
		return;
	if (body[1])
		ad_far_clear(t->adapters);
	for (at = 2; at + HOST_LEN <= n; at += HOST_LEN) {
		struct pkt_peer h = { .ip = wire_get32(body + at), .lid = wire_get16(body + at + 4),
				     .guid = wire_get64(body + at + 6), .prefix = wire_get64(body + at + 14) };

		if (h.ip && h.guid)
			ad_far_add(t->adapters, &h);
	}
}

/* --- receiving --- */

static void take_packet(struct trunks *t, const uint8_t *body, size_t n)
{
	struct fab_port *p = n > PACKET_HEAD && body[1] <= FAB_TRUNKS_MAX ? t->ports[body[1]] : NULL;
	uint64_t sent = n > PACKET_HEAD ? wire_get64(body + 2) : 0;

	t->got = sent > t->got ? sent : t->got;
	if (t->got - t->told >= CREDIT_BYTES) {
		t->told = t->got;
		send_number(t, BODY_CREDIT, t->got);
	}
	if (p && fab_port_is_up(p) && t->adapters)
		ad_arrive(t->adapters, p, body + PACKET_HEAD, n - PACKET_HEAD);
}

static void take_number(struct trunks *t, const uint8_t *body, size_t n)
{
	uint64_t v = n == 9 ? wire_get64(body + 1) : 0;

	if (n != 9)
		return;
	if (body[0] == BODY_ASK) {
		t->got = v > t->got ? v : t->got;
		t->told = t->got;
		send_number(t, BODY_CREDIT, t->got);
	} else if (v <= t->sent && v > t->credited) {
		t->credited = v;
		send_queue(t);
	}
}

/* The peer has started anew, and counts from zero. */
static void begin_session(struct trunks *t)
{
	if (memcmp(t->session, t->crypt.peer, sizeof(t->session)) == 0)
		return;
	memcpy(t->session, t->crypt.peer, sizeof(t->session));
	t->got = t->told = 0;
	t->credited = t->sent;
	t->generation = UINT64_MAX;
	while (!ut_list_empty(&t->queue))
		drop_first(t);
	t->ask_at = UT_NEVER;
}

static void take_ports(struct trunks *t, const uint8_t *body, size_t n)
{
	size_t at;

	for (at = 1; at + PORT_LEN <= n; at += PORT_LEN) {
		struct fab_port *p = body[at] <= FAB_TRUNKS_MAX ? t->ports[body[at]] : NULL;

		if (p)
			fab_port_trunk_far(p, body[at + 1] != 0, body + at + 2);
	}
}

static void take_mad(struct trunks *t, const uint8_t *body, size_t n)
{
	const uint8_t *b = body + 1;
	struct mad m = { 0 };

	if (n != 1 + MAD_BODY_LEN || b[0] > FAB_TRUNKS_MAX || !t->ports[b[0]])
		return;
	m.has_grh = b[1] != 0;
	m.hops = b[2];
	m.sl = b[3] & 15;
	m.slid = wire_get16(b + 4);
	m.dlid = wire_get16(b + 6);
	m.pkey = wire_get16(b + 8);
	m.sqpn = wire_get32(b + 10) & 0xffffff;
	m.dqpn = wire_get32(b + 14) & 0xffffff;
	m.qkey = wire_get32(b + 18);
	memcpy(m.grh, b + MAD_HEAD, 40);
	memcpy(m.bytes, b + MAD_HEAD + 40, MAD_LEN);
	if (fab_port_is_up(t->ports[b[0]]) && mad_is_smp(&m) == (m.dqpn == 0))
		fab_arrive(t->ports[b[0]], &m);
}

static void take_body(struct trunks *t, const uint8_t *body, size_t n)
{
	bool was_alive = t->is_alive;

	t->heard_at = ut_now();
	t->is_alive = true;
	begin_session(t);
	if (n && body[0] == BODY_PORTS)
		take_ports(t, body, n);
	else if (n && body[0] == BODY_MAD)
		take_mad(t, body, n);
	else if (n && body[0] == BODY_PACKET)
		take_packet(t, body, n);
	else if (n && body[0] == BODY_HOSTS)
		take_hosts(t, body, n);
	else if (n && (body[0] == BODY_ASK || body[0] == BODY_CREDIT))
		take_number(t, body, n);
	if (!was_alive)
		tell_ports(t, false);
}

static void on_datagram(void *arg, uint32_t events)
{
	struct trunks *t = arg;
	uint8_t datagram[TRUNK_DATAGRAM_MAX + 1], *body;
	ssize_t n;
	size_t len;
	int i;

	for (i = 0; i < BATCH; i++) {
		n = recv(t->fd, datagram, sizeof(datagram), MSG_DONTWAIT);
		if (n < 0 && errno == ECONNREFUSED)
			continue;	/* the other end does not run yet */
		if (n < 0)
			return;
		switch (trunk_crypt_unwrap(&t->crypt, datagram, (size_t)n, &body, &len)) {
		case TRUNK_BODY:
			take_body(t, body, len);
			break;
		case TRUNK_GREETING:
			tell_ports(t, true);
			break;
		case TRUNK_REFUSED:
			break;
		}
	}
}

/* --- time --- */

static void lose_peer(struct trunks *t)
{
	static const uint8_t nothing[4];
	unsigned i;

	t->is_alive = false;
	while (!ut_list_empty(&t->queue))
		drop_first(t);
	t->ask_at = UT_NEVER;
	if (t->adapters)
		ad_far_clear(t->adapters);
	for (i = 1; i <= FAB_TRUNKS_MAX; i++)
		if (t->ports[i])
			fab_port_trunk_far(t->ports[i], false, nothing);
}

void trunk_run(struct trunks *t, uint64_t now)
{
	if (t->is_alive && now > t->heard_at + SILENCE_NS)
		lose_peer(t);
	if (now >= t->tell_at) {
		tell_ports(t, false);
		t->tell_at = now + TELL_NS;
		/* Told anew although nothing has changed: a datagram may have been lost. */
		tell_hosts(t);
	}
	if (t->is_alive && t->generation != t->fabric->generation)
		tell_hosts(t);
	if (now >= t->ask_at) {
		send_number(t, BODY_ASK, t->sent);
		t->ask_at = now + ASK_NS;
	}
}

uint64_t trunk_next(const struct trunks *t)
{
	return t->ask_at < t->tell_at ? t->ask_at : t->tell_at;
}

void trunk_print(const struct trunks *t, FILE *out)
{
	fprintf(out, "trunks: %s, %" PRIu64 " forged, %" PRIu64 " replayed, %" PRIu64 " packets lost\n",
		t->is_alive ? "peer heard" : "peer silent", t->crypt.forged, t->crypt.replayed, t->lost);
}

/* --- life --- */

/* "HOST:PORT", "[ADDRESS]:PORT" or "PORT". Returns the addresses, or NULL with the resolver's text. */
static struct addrinfo *resolve(const char *text, bool passive, int family, const char **ret_why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_family = family, .ai_flags = passive ? AI_PASSIVE : 0 };
	struct addrinfo *found = NULL;
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text, *begin = text;
	char host[256] = "";
	size_t n = colon ? (size_t)(colon - text) : 0;
	int r;

	if (n > 1 && text[0] == '[' && text[n - 1] == ']') {
		begin++;
		n -= 2;
	}
	snprintf(host, sizeof(host), "%.*s", (int)n, begin);
	r = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	*ret_why = r ? gai_strerror(r) : "";
	return r ? NULL : found;
}

static int open_socket(const struct trunk_spec *spec, const char **ret_why)
{
	struct addrinfo *peer = resolve(spec->peer, false, AF_UNSPEC, ret_why), *own = NULL;
	const char *bind_to = spec->bind ? spec->bind : strrchr(spec->peer, ':') ? strrchr(spec->peer, ':') + 1 : "";
	int fd = -1;

	if (!peer)
		return -1;
	own = resolve(bind_to, true, peer->ai_family, ret_why);
	if (own) {
		fd = socket(peer->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd >= 0 && (bind(fd, own->ai_addr, own->ai_addrlen) < 0 ||
				connect(fd, peer->ai_addr, peer->ai_addrlen) < 0)) {
			ut_close(fd);
			fd = -1;
		}
		if (fd < 0)
			*ret_why = strerror(errno);
		freeaddrinfo(own);
	}
	freeaddrinfo(peer);
	return fd;
}

static void find_ports(struct trunks *t)
{
	struct fab_node *n;
	unsigned i;

	ut_list_each(n, &t->fabric->nodes, link)
		for (i = 1; i <= n->n_ports; i++)
			if (n->ports[i].is_trunk)
				t->ports[n->ports[i].trunk] = &n->ports[i];
}

struct trunks *trunk_open(struct loop *loop, struct fab *f, const struct trunk_spec *spec, char *why, size_t size)
{
	struct trunks *t = calloc(1, sizeof(*t));
	const char *reason = "no memory";
	uint8_t key[TRUNK_KEY];

	if (t && trunk_crypt_key(spec->key, key, &reason) < 0) {
		snprintf(why, size, "the key \"%s\" cannot be used (%s): the fabric does not start; make it by head -c 32 "
			 "/dev/urandom with mode 0600, on both hosts the same", spec->key, reason);
		free(t);
		return NULL;
	}
	if (t && trunk_crypt_init(&t->crypt, key) == 0) {
		t->loop = loop;
		t->fabric = f;
		t->ask_at = UT_NEVER;
		ut_list_init(&t->queue);
		t->fd = open_socket(spec, &reason);
		if (t->fd >= 0 && loop_add(loop, t->fd, EPOLLIN, on_datagram, t) == 0) {
			find_ports(t);
			return t;
		}
		ut_close(t->fd);
	}
	snprintf(why, size, "the trunk to %s cannot be opened (%s): the fabric does not start; correct address and port",
		 spec->peer, reason);
	free(t);
	return NULL;
}

void trunk_close(struct trunks *t)
{
	if (!t)
		return;
	while (!ut_list_empty(&t->queue))
		drop_first(t);
	loop_del(t->loop, t->fd);
	ut_close(t->fd);
	free(t);
}
