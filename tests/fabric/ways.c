/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links of adapters at the nodes of a fabric whose model and socket `data` are served by a thread: what passes shared
 * memory and what the fabric process, routes that change under them, and receivers that do not read.
 */
#include "adapters.h"
#include "host/shm/channel.h"
#include "host/shm/peer.h"
#include "link/fabric/fabric.h"
#include "mgmt/port.h"
#include "mgmt/switch.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/fabstar.h"
#include "util/clock.h"
#include "wire/ib_fields.h"
#include "wire/ib_packet.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOSTS FABSTAR_HOSTS
#define WAIT_NS (30 * UT_S)
#define PACKET 1024u /* bytes, BTH to ICRC */
#define TRAIN 32u

struct world {
	char dir[64];
	struct fabstar star;
	struct ad *ad;
	pthread_mutex_t lock; /* model and ad */
	pthread_t server;
	atomic_bool end;
	struct link *link[HOSTS];
	struct shm_channel *chan[HOSTS];
};

static void *serve(void *arg)
{
	struct world *w = arg;

	while (!atomic_load(&w->end)) {
		struct pollfd p = { .fd = ad_fd(w->ad), .events = POLLIN };

		poll(&p, 1, 20);
		pthread_mutex_lock(&w->lock);
		ad_serve(w->ad);
		pthread_mutex_unlock(&w->lock);
	}
	return NULL;
}

static void open_links(struct world *w, bool local)
{
	char why[FABRIC_WHY_MAX], node[8];

	for (int i = 0; i < HOSTS; i++) {
		struct fabric_place where = { .fabric = "ways", .node = node, .port = 1 };

		snprintf(node, sizeof(node), "h%d", i);
		CHECK_MSG(fabric_open(&where, &w->link[i], why) == 0, "%s", why);
		if (local) {
			CHECK(shm_channel_open(fabric_host(w->link[i]), &w->chan[i]) == 0);
			fabric_use_channel(w->link[i], w->chan[i]);
		}
		CHECK(w->link[i]->ops->add_addr(w->link[i], fabric_address(w->link[i]), 0) == 0);
	}
}

static void world_open(struct world *w, bool local)
{
	char path[128];

	memset(w, 0, sizeof(*w));
	strcpy(w->dir, "/tmp/dapple-ways-XXXXXX");
	CHECK(mkdtemp(w->dir));
	setenv("DAPPLE_RUNTIME_DIR", w->dir, 1);
	snprintf(path, sizeof(path), "%s/fabric", w->dir);
	CHECK(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/fabric/ways", w->dir);
	CHECK(mkdir(path, 0700) == 0);
	pthread_mutex_init(&w->lock, NULL);
	fabstar_make(&w->star, 0);
	CHECK(ad_open(path, w->star.f, false, &w->ad) == 0);
	CHECK(pthread_create(&w->server, NULL, serve, w) == 0);
	open_links(w, local);
}

static void world_close(struct world *w)
{
	char path[160];

	for (int i = 0; i < HOSTS; i++)
		if (w->link[i])
			w->link[i]->ops->close(w->link[i]);
	atomic_store(&w->end, true);
	pthread_join(w->server, NULL);
	ad_close(w->ad);
	fab_free(w->star.f);
	snprintf(path, sizeof(path), "%s/fabric/ways/data", w->dir);
	unlink(path);
	for (const char *p = "/fabric/ways\0/fabric\0\0"; *p || p[1]; p += strlen(p) + 1) {
		snprintf(path, sizeof(path), "%s%s", w->dir, p);
		rmdir(path);
	}
	rmdir(w->dir);
}

/* --- packets --- */

static struct ut_flow flow(int from, int to)
{
	return (struct ut_flow){ .slid = fabstar_lid(from), .dlid = fabstar_lid(to), .lids = 1 };
}

/* Of a queue pair of the process at a host. */
static uint32_t qpn_of(const struct world *w, int host)
{
	return w->link[host]->qpn_fixed | 5;
}

static uint8_t bytes[TRAIN * PACKET];

/* Packet `i` of a test carries its number. */
static int send_train(struct world *w, int from, int to, uint32_t first)
{
	struct ut_flow f = flow(from, to);

	for (uint32_t i = 0; i < TRAIN; i++) {
		uint8_t *at = bytes + i * PACKET;
		uint32_t n = first + i;

		memset(at, 0, WIRE_BTH_LEN);
		wire_set_BTH_opcode(at, WIRE_UC_SEND_ONLY);
		wire_set_BTH_pkey(at, 0xffff);
		wire_set_BTH_dest_qpn(at, qpn_of(w, to));
		memcpy(at + WIRE_BTH_LEN, &n, sizeof(n));
	}
	return w->link[from]->ops->send(w->link[from], &f, qpn_of(w, to), bytes, sizeof(bytes), PACKET);
}

/* Reads what waits. Packets come in order, none twice. Returns how many have come. */
static uint32_t receive(struct link *l, uint32_t *next, bool all)
{
	struct link_rx v[64];
	uint32_t got = 0;
	int n;

	while ((n = l->ops->recv(l, v, 64)) > 0) {
		for (int i = 0; i < n; i++) {
			uint32_t number;

			CHECK(v[i].lids && v[i].len == PACKET);
			memcpy(&number, v[i].data + WIRE_BTH_LEN, sizeof(number));
			CHECK_MSG(all ? number == *next : number >= *next, "packet %u, not %u", number, *next);
			*next = number + 1;
		}
		got += (uint32_t)n;
	}
	return got;
}

static uint64_t carried(struct world *w)
{
	struct ad_counts c;

	pthread_mutex_lock(&w->lock);
	ad_counts(w->ad, &c);
	pthread_mutex_unlock(&w->lock);
	return c.packets;
}

/* --- the cases --- */

/* n trains from host 0 to host 1, whose link is read meanwhile. */
static void stream(struct world *w, uint32_t n)
{
	uint64_t until = ut_now() + WAIT_NS;
	uint32_t sent = 0, next = 0;

	while (next < n * TRAIN) {
		CHECK_MSG(ut_now() < until, "%u of %u packets have come, %u were sent", next, n * TRAIN, sent * TRAIN);
		if (sent < n) {
			int r = send_train(w, 0, 1, sent * TRAIN);

			CHECK_MSG(r == 0 || r == -EAGAIN, "send: %d", r);
			sent += r == 0;
		}
		receive(w->link[0], &(uint32_t){ 0 }, false);
		receive(w->link[1], &next, true);
	}
}

static void by_memory(void)
{
	struct world w;

	world_open(&w, true);
	stream(&w, 300);
	CHECK(carried(&w) == 0);
	world_close(&w);
}

static void by_fabric(void)
{
	struct world w;

	world_open(&w, false);
	stream(&w, 300);
	CHECK(carried(&w) == 300 * TRAIN);
	world_close(&w);
}

/* Waits until ends() answers so. */
static void until_ends(struct world *w, struct ut_flow f, uint16_t pkey, uint32_t mtu, int want)
{
	uint64_t until = ut_now() + WAIT_NS;
	uint32_t next = 0;
	struct ut_flow e;
	int r;

	while ((r = w->link[0]->ops->ends(w->link[0], &f, pkey, mtu, &e)) != want) {
		CHECK_MSG(ut_now() < until, "ends: %d, not %d", r, want);
		receive(w->link[0], &next, false);
	}
	if (r == 0)
		CHECK(!memcmp(e.src, fabric_address(w->link[0]), 16) && !memcmp(e.dst, fabric_address(w->link[1]), 16));
}

static void change(struct world *w, void (*what)(struct fab_port *p))
{
	uint32_t before = w->link[0]->routes, next = 0;
	uint64_t until = ut_now() + WAIT_NS;

	pthread_mutex_lock(&w->lock);
	what(fabstar_port(&w->star, 1));
	ad_settle(w->ad);
	pthread_mutex_unlock(&w->lock);
	while (w->link[0]->routes == before) {
		CHECK(ut_now() < until);
		receive(w->link[0], &next, false);
	}
}

static void cut(struct fab_port *p)
{
	fab_port_cut(p, true);
}

static void mend(struct fab_port *p)
{
	fab_port_cut(p, false);
	fabstar_activate(p);
	fabstar_activate(p->peer);
	fab_touch(p->node->fabric);
}

static void move(struct fab_port *p)
{
	wire_set_PORT_INFO_lid(p->info, fabstar_lid(1) + 1);
	fab_touch(p->node->fabric);
}

static void routes(void)
{
	struct world w;

	world_open(&w, true);
	until_ends(&w, flow(0, 1), 0xffff, 2048, 0);
	until_ends(&w, flow(0, 1), 0xffff, 4096, -EHOSTUNREACH);   /* longer than the links carry */
	until_ends(&w, flow(0, 1), 0x8002, 2048, -EHOSTUNREACH);   /* another partition */
	until_ends(&w, flow(1, 0), 0xffff, 2048, -EHOSTUNREACH);   /* not our LID */
	until_ends(&w, (struct ut_flow){ .slid = fabstar_lid(0), .dlid = 0xc001, .lids = 1 }, 0xffff, 256, -EHOSTUNREACH);
	change(&w, cut);
	until_ends(&w, flow(0, 1), 0xffff, 2048, -EHOSTUNREACH);
	change(&w, mend);
	until_ends(&w, flow(0, 1), 0xffff, 2048, 0);
	change(&w, move); /* its LID leads to a port that does not have it any more */
	until_ends(&w, flow(0, 1), 0xffff, 2048, -EHOSTUNREACH);
	world_close(&w);
}

/* A receiver that reads late loses nothing: its senders wait. */
static void slow(void)
{
	uint64_t until = ut_now() + WAIT_NS;
	uint32_t sent = 0, next = 0;
	struct world w;

	world_open(&w, false);
	while (send_train(&w, 0, 1, sent * TRAIN) == 0) {
		CHECK_MSG(++sent < 10000, "a sender is never held");
		CHECK(ut_now() < until);
	}
	while (next < sent * TRAIN) {
		CHECK_MSG(ut_now() < until, "%u of %u packets have come", next, sent * TRAIN);
		receive(w.link[1], &next, true);
	}
	stream(&w, 0);
	world_close(&w);
}

/* A receiver that is stopped holds others for a while only, and their packets to other ports not for longer. */
static void stopped(void)
{
	uint64_t until = ut_now() + WAIT_NS;
	uint32_t sent = 0, next = 0;
	bool left = false;
	struct world w;

	world_open(&w, false);
	while (send_train(&w, 0, 1, sent++ * TRAIN) == 0)
		CHECK(ut_now() < until);
	while (next < TRAIN) {
		CHECK_MSG(ut_now() < until, "a third port gets nothing");
		left = left || send_train(&w, 0, 2, 0) == 0;
		receive(w.link[2], &next, false);
	}
	world_close(&w);
}

static const struct test_case cases[] = {
	{ "-", "packets within the host take shared memory", by_memory },
	{ "-", "without it they pass the fabric process", by_fabric },
	{ "-", "routes change under a sender", routes },
	{ "-", "a slow receiver loses nothing", slow },
	{ "-", "a stopped receiver holds senders for a while only", stopped },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
