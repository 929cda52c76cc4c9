/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapple-ipoib: IP over InfiniBand for the network namespace in which it runs, at the node of DAPPLE_FABRIC. `dapple fabric
 * up --ipoib` starts one for each node.
 *
 *	dapple-ipoib ADDRESS/PREFIX [connected]
 *
 * ib0 is the interface of the port's first P_Key and has the address; each further P_Key in the port's table that has a
 * broadcast group gives ib0.PKEY. Descriptor 1 gets the line "ready" when ib0 can send or there is no use in waiting, or
 * a sentence; the process ends with the other end of descriptor 0, and with the fabric.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "nic.h"
#include "run.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/sys.h"

#define NICS_MAX 16
#define READY_S 10
#define PKEY_FULL 0x8000

struct ipoib {
	struct loop *loop;
	struct port port;
	struct ibv_context *verbs;
	struct nic *nics[NICS_MAX];
	const char *ip;
	int prefix;
	bool is_over, is_told, is_connected;
	uint64_t told_by;
};

static struct nic *nic_of(const struct ipoib *p, uint64_t ticket)
{
	uint64_t number = ticket >> NIC_TICKET_SHIFT;

	return number < NICS_MAX ? p->nics[number] : NULL;
}

static void on_path(void *ctx, uint64_t ticket, int status, const struct sac_path *path)
{
	struct nic *n = nic_of(ctx, ticket);

	if (n)
		nic_path(n, ticket, status, path);
}

static void on_group(void *ctx, uint64_t ticket, int status, const struct sac_group *g)
{
	struct nic *n = nic_of(ctx, ticket);

	if (n)
		nic_group(n, ticket, status, g);
}

/* --- interfaces --- */

static int open_nic(struct ipoib *p, unsigned number, uint16_t pkey, const char **ret_step)
{
	char name[IFNAMSIZ] = "ib0";
	struct nic_config c = { .name = name, .ip = number ? "" : p->ip, .prefix = p->prefix, .pkey = pkey | PKEY_FULL,
				.port = &p->port, .verbs = p->verbs, .loop = p->loop, .number = number,
				/* Connections have the port's first P_Key. */
				.is_connected = p->is_connected && !number };
	struct nic *n = calloc(1, sizeof(*n));
	int r;

	if (number)
		snprintf(name, sizeof(name), "ib0.%04x", pkey | PKEY_FULL);
	*ret_step = "taking memory";
	r = n ? nic_open(n, &c, ret_step) : -ENOMEM;
	if (r < 0) {
		free(n);
		return r;
	}
	/* The name is the device's from now on. */
	n->c.name = n->tun.name;
	p->nics[number] = n;
	return 0;
}

static struct nic *nic_with(const struct ipoib *p, uint16_t pkey)
{
	unsigned i;

	for (i = 0; i < NICS_MAX; i++)
		if (p->nics[i] && p->nics[i]->c.pkey == (pkey | PKEY_FULL))
			return p->nics[i];
	return NULL;
}

static void close_gone(struct ipoib *p)
{
	unsigned i;

	for (i = 1; i < NICS_MAX; i++)
		if (p->nics[i] && port_pkey_index(&p->port, p->nics[i]->c.pkey) < 0) {
			nic_close(p->nics[i]);
			free(p->nics[i]);
			p->nics[i] = NULL;
		}
}

static void open_new(struct ipoib *p)
{
	const char *step;
	unsigned free_one;
	int i;

	for (i = 0; i < p->port.now.pkeys_n; i++) {
		uint16_t pkey = p->port.now.pkeys[i];

		if (!(pkey & ~PKEY_FULL) || nic_with(p, pkey))
			continue;
		for (free_one = 1; free_one < NICS_MAX && p->nics[free_one]; free_one++)
			;
		if (free_one < NICS_MAX)
			open_nic(p, free_one, pkey, &step);
	}
}

static void on_change(void *ctx, uint32_t events)
{
	struct ipoib *p = ctx;
	unsigned i;

	if (events & ATT_PKEY_CHANGE) {
		close_gone(p);
		open_new(p);
	}
	for (i = 0; i < NICS_MAX; i++)
		if (p->nics[i])
			nic_changed(p->nics[i], events);
}

static const struct port_ops port_ops = { on_change, on_path, on_group };

/* --- life --- */

static void on_port(void *arg, uint32_t events)
{
	struct ipoib *p = arg;

	if (!port_serve(&p->port))
		p->is_over = true;
}

static void on_end(void *arg, uint32_t events)
{
	struct ipoib *p = arg;

	p->is_over = true;
}

/* The other end waits for one line. */
static void tell(const char *line)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dprintf(1, "%s\n", line);
	dup2(null, 1);
	ut_close(null);
}

static void tell_ready(struct ipoib *p, uint64_t now)
{
	const struct nic *n = p->nics[0];

	if (p->is_told || !(n->is_up || !port_is_active(&p->port) || n->has_failed || now >= p->told_by))
		return;
	p->is_told = true;
	tell("ready");
}

static uint64_t deadline(const struct ipoib *p)
{
	uint64_t at = sac_deadline(&p->port.sa), next;
	unsigned i;

	for (i = 0; i < NICS_MAX; i++) {
		next = p->nics[i] ? nic_deadline(p->nics[i]) : UT_NEVER;
		at = next < at ? next : at;
	}
	return p->is_told || at < p->told_by ? at : p->told_by;
}

static void run(struct ipoib *p)
{
	unsigned i;

	p->told_by = ut_now() + READY_S * UT_S;
	while (!p->is_over) {
		uint64_t now = ut_now();

		sac_run(&p->port.sa, now);
		for (i = 0; i < NICS_MAX; i++)
			if (p->nics[i])
				nic_run(p->nics[i], now);
		tell_ready(p, now);
		loop_once(p->loop, deadline(p));
	}
}

static int open_verbs(struct ipoib *p)
{
	struct ibv_device **v = ibv_get_device_list(NULL);

	if (v && v[0])
		p->verbs = ibv_open_device(v[0]);
	if (v)
		ibv_free_device_list(v);
	return p->verbs ? 0 : -ENODEV;
}

static int open_all(struct ipoib *p, const char **ret_step)
{
	int r;

	*ret_step = "opening the adapter";
	r = open_verbs(p);
	if (r < 0)
		return r;
	*ret_step = "making a poll loop";
	p->loop = loop_new();
	if (!p->loop)
		return -errno;
	r = loop_add(p->loop, p->port.fd, EPOLLIN, on_port, p);
	if (r == 0)
		r = loop_add(p->loop, 0, EPOLLIN, on_end, p);
	return r < 0 ? r : open_nic(p, 0, p->port.now.pkeys[0], ret_step);
}

/* ADDRESS/PREFIX, cut in place. */
static bool take_address(struct ipoib *p, char *text)
{
	char *slash = strchr(text, '/');
	struct in_addr in;

	if (!slash)
		return false;
	*slash = '\0';
	p->ip = text;
	p->prefix = atoi(slash + 1);
	return inet_pton(AF_INET, text, &in) == 1 && p->prefix >= 0 && p->prefix <= 32;
}

int main(int argc, char **argv)
{
	struct ipoib p = { .prefix = 0 };
	char why[ATT_WHY_MAX + 200];
	const char *step = "";
	int r;

	p.is_connected = argc == 3 && strcmp(argv[2], "connected") == 0;
	if (argc != (p.is_connected ? 3 : 2) || !take_address(&p, argv[1])) {
		fputs("usage: dapple-ipoib ADDRESS/PREFIX [connected]\n", stderr);
		return RUN_EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	r = port_open(&p.port, &port_ops, &p, why);
	if (r < 0) {
		tell(why);
		return 1;
	}
	r = open_all(&p, &step);
	if (r < 0) {
		snprintf(why, sizeof(why), "IP over InfiniBand is not possible here (%s failed: %s): the node has no ib0; permit "
			 "/dev/net/tun, or leave --ipoib out", step, strerror(-r));
		tell(why);
		return 1;
	}
	open_new(&p);
	run(&p);
	return 0;
}
