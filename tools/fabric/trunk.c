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

#include "mgmt/carry.h"
#include "mgmt/port.h"
#include "mgmt/topology.h"
#include "trunk_crypt.h"
#include "util/clock.h"
#include "util/sys.h"
#include "wire/field.h"

/*
 * Bodies: type 1, then
 *	PORTS  for each trunk: number 1, enabled 1, widths, speeds, extended speeds, MTU capability
 *	MAD    number 1, has_grh 1, hops 1, sl 1, slid 2, dlid 2, pkey 2, sqpn 4, dqpn 4, qkey 4, GRH 40, MAD 256
 */
enum { BODY_PORTS = 1, BODY_MAD = 2 };

#define PORT_LEN 6u
#define MAD_HEAD 23u
#define MAD_BODY_LEN (MAD_HEAD + 40 + MAD_LEN)
#define TELL_NS UT_S
#define SILENCE_NS (6 * UT_S)
#define BATCH 64		/* datagrams for one turn of the loop */

struct trunks {
	struct loop *loop;
	struct fab *fabric;
	int fd;
	struct trunk_crypt crypt;
	uint64_t tell_at, heard_at;
	bool is_alive;
	struct fab_port *ports[FAB_TRUNKS_MAX + 1];
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

/* --- receiving --- */

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
	if (n && body[0] == BODY_PORTS)
		take_ports(t, body, n);
	else if (n && body[0] == BODY_MAD)
		take_mad(t, body, n);
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
	}
}

uint64_t trunk_next(const struct trunks *t)
{
	return t->tell_at;
}

void trunk_print(const struct trunks *t, FILE *out)
{
	fprintf(out, "trunks: %s, %" PRIu64 " forged, %" PRIu64 " replayed\n", t->is_alive ? "peer heard" : "peer silent",
		t->crypt.forged, t->crypt.replayed);
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
	loop_del(t->loop, t->fd);
	ut_close(t->fd);
	free(t);
}
