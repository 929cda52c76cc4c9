/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/names.h"

#include "host/shm/segment.h"
#include "link/fabric/greet.h"
#include "util/alloc.h"
#include "util/syscall.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define KEPT 1024u /* answers of each kind, each at the place of its address or GUID; a power of two */
#define ANSWER_S 1

struct fabric_names {
	int fd;
	uint64_t guid;
	const struct pkt_page *page;
	struct kept {
		uint64_t generation; /* of the answer, + 1; 0: none */
		struct fabric_peer peer;
	} by_ip[KEPT], by_guid[KEPT];
};

int fabric_names_open(const struct fabric_place *where, struct fabric_names **ret, char why[FABRIC_WHY_MAX])
{
	struct fabric_names *n = ut_zalloc(sizeof(*n));
	struct pkt_welcome w;

	if (!n)
		return fabric_say(why, where, -ENOMEM);
	n->fd = fabric_greet(where, -1, &w, &n->page, why);
	if (n->fd < 0) {
		int r = n->fd;

		free(n);
		return r;
	}
	n->guid = w.guid;
	*ret = n;
	return 0;
}

void fabric_names_close(struct fabric_names *n)
{
	if (!n)
		return;
	ut_close_fd(&n->fd);
	shm_seg_unmap(n->page, sizeof(*n->page));
	free(n);
}

uint64_t fabric_names_guid(const struct fabric_names *n)
{
	return n->guid;
}

uint64_t fabric_names_generation(const struct fabric_names *n)
{
	return atomic_load(&n->page->generation);
}

/* Receives the answer of this type; others are not for this connection. Returns 0 or -ENETDOWN. */
static int receive(struct fabric_names *n, enum pkt_type type, struct pkt_message *m)
{
	struct timespec t = { ANSWER_S, 0 };

	for (;;) {
		struct pollfd p = { .fd = n->fd, .events = POLLIN };
		long r = UT_SYS(SYS_ppoll, &p, 1, &t, NULL, 8);

		if (r > 0)
			r = UT_SYS(SYS_recvfrom, n->fd, m, sizeof(*m), MSG_DONTWAIT, NULL, NULL);
		if (r <= 0 || !pkt_parse(m, (size_t)r, true))
			return -ENETDOWN;
		if (m->head.type == type)
			return 0;
	}
}

/* A connection that failed once is not used again: an answer may still be on its way. */
static int ask(struct fabric_names *n, enum pkt_type answer, struct pkt_message *m)
{
	long r = n->fd < 0 ? -ENETDOWN
			   : UT_SYS(SYS_sendto, n->fd, m, pkt_length(m->head.type), MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);

	if (r >= 0)
		r = receive(n, answer, m);
	if (r < 0 && n->fd >= 0)
		ut_close_fd(&n->fd);
	return r < 0 ? -ENETDOWN : 0;
}

static struct kept *place(struct fabric_names *n, uint32_t ip, uint64_t guid)
{
	return ip ? &n->by_ip[ip % KEPT] : &n->by_guid[(guid ^ guid >> 10 ^ guid >> 20 ^ guid >> 40) % KEPT];
}

static const struct fabric_peer *find_kept(struct fabric_names *n, uint32_t ip, uint64_t guid)
{
	const struct kept *k = place(n, ip, guid);

	if (k->generation != atomic_load(&n->page->generation) + 1 || (ip ? k->peer.ip != ip : k->peer.guid != guid))
		return NULL;
	return &k->peer;
}

static struct fabric_peer peer_of(const struct pkt_peer *p)
{
	return (struct fabric_peer){ .ip = p->ip, .lid = p->lid, .lmc = p->lmc & 7, .guid = p->guid, .prefix = p->prefix };
}

/* By both of its names. */
static void keep(struct fabric_names *n, const struct pkt_peer *p, uint64_t generation)
{
	const struct kept k = { generation + 1, peer_of(p) };

	if (!p->guid)
		return;
	*place(n, 0, p->guid) = k;
	if (p->ip)
		*place(n, p->ip, 0) = k;
}

int fabric_names_find(struct fabric_names *n, uint32_t ip, uint64_t guid, struct fabric_peer *ret)
{
	struct pkt_message m = { .head = pkt_head(PKT_FIND), .u.find = { .ip = ip, .guid = guid } };
	const struct fabric_peer *kept = find_kept(n, ip, guid);
	uint64_t generation = atomic_load(&n->page->generation);
	int r;

	if (kept) {
		*ret = *kept;
		return 0;
	}
	r = ask(n, PKT_FOUND, &m);
	if (r < 0)
		return r;
	if (!m.u.found.v[0].guid)
		return -ENOENT;
	/* If the fabric has changed since the question, the answers are not kept for longer. */
	for (uint32_t i = PKT_PEERS; i-- > 0;)
		keep(n, &m.u.found.v[i], generation);
	*ret = peer_of(&m.u.found.v[0]);
	return 0;
}

int fabric_names_members(struct fabric_names *n, const uint8_t mgid[16], unsigned slot, uint32_t *ret)
{
	struct pkt_message m = { .head = pkt_head(PKT_COUNT), .u.count.slot = slot };
	int r;

	memcpy(m.u.count.mgid, mgid, 16);
	r = ask(n, PKT_COUNTED, &m);
	if (r == 0)
		*ret = m.u.counted.n;
	return r;
}
