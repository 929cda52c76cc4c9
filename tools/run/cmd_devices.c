/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/devices.h"
#include "device/gids.h"
#include "device/kind/kind.h"
#include "device/netlink.h"
#include "util/ip.h"

/* dapple devices: the adapters that ibv_get_device_list() returns to a program here. */

struct look {
	bool json;
	FILE *out; /* in memory: --watch prints what differs from the list before */
};

static const char *kind_name(enum dev_kind kind)
{
	switch (kind) {
	case DEV_ROCE:
		return "roce";
	case DEV_IWARP:
		return "iwarp";
	case DEV_IB:
		return "ib";
	}
	return "?";
}

static const char *state_of(const struct dev_info *d)
{
	struct ibv_port_attr p;

	return dev_kind_find(d->kind)->query_port(d, &p) == 0 && p.state == IBV_PORT_ACTIVE ? "active" : "down";
}

/* The addresses, and whether the place in the list is the GID index: on RoCE each address is a GID. */
static int addresses(const struct dev_info *d, struct dev_nl_addr v[DEV_ADDRS_MAX], bool *ret_gids)
{
	int n = dev_kind_find(d->kind)->addrs(d, v);

	*ret_gids = d->kind == DEV_ROCE;
	return n < 0 ? 0 : n;
}

static const char *text_of(const struct dev_nl_addr *a, char text[INET6_ADDRSTRLEN])
{
	bool v4 = ut_ip_is_v4(a->addr);

	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? a->addr + 12 : a->addr, text, INET6_ADDRSTRLEN);
}

static void print_row(struct look *l, const struct dev_info *d)
{
	struct dev_nl_addr v[DEV_ADDRS_MAX];
	char text[INET6_ADDRSTRLEN], index[16];
	bool gids;
	int n = addresses(d, v, &gids);

	fprintf(l->out, "%-16s %-6s %-10s %-7s %016" PRIx64, d->name, kind_name(d->kind), d->ifname, state_of(d), d->guid);
	for (int i = 0; i < n; i++) {
		snprintf(index, sizeof(index), gids ? "%d" : "-", i);
		fprintf(l->out, "%s %3s  %s\n", i ? "                                                           " : "", index,
			text_of(&v[i], text));
	}
	if (!n)
		fputs("   -  no address\n", l->out);
}

static void print_field(struct look *l, const char *name, const char *value)
{
	fprintf(l->out, "\"%s\": \"%s\"", name, value);
}

static void print_object(struct look *l, const struct dev_info *d)
{
	const char *const fields[][2] = {
		{ "name", d->name }, { "kind", kind_name(d->kind) }, { "interface", d->ifname }, { "state", state_of(d) },
	};
	struct dev_nl_addr v[DEV_ADDRS_MAX];
	char text[INET6_ADDRSTRLEN], guid[20];
	bool gids;
	int n = addresses(d, v, &gids);

	fputs("  {", l->out);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		print_field(l, fields[i][0], fields[i][1]);
		fputs(", ", l->out);
	}
	snprintf(guid, sizeof(guid), "%016" PRIx64, d->guid);
	print_field(l, "node_guid", guid);
	fputs(", \"addresses\": [", l->out);
	for (int i = 0; i < n; i++) {
		fputs(i ? ", {" : "{", l->out);
		print_field(l, "address", text_of(&v[i], text));
		if (gids)
			fprintf(l->out, ", \"gid_index\": %d", i);
		fputc('}', l->out);
	}
	fputs("]}", l->out);
}

/* Returns the number of adapters or a negative errno. */
static int print_all(struct look *l)
{
	struct dev_info *list;
	int n = dev_list(&list);

	if (n < 0)
		return n;
	if (l->json)
		fputs("[\n", l->out);
	else if (n)
		fprintf(l->out, "%-16s %-6s %-10s %-7s %-16s %3s  %s\n", "NAME", "KIND", "INTERFACE", "STATE", "NODE GUID",
			"-g", "ADDRESS");
	for (int i = 0; i < n; i++) {
		if (l->json && i)
			fputs(",\n", l->out);
		if (l->json)
			print_object(l, &list[i]);
		else
			print_row(l, &list[i]);
	}
	if (l->json)
		fputs(n ? "\n]\n" : "]\n", l->out);
	if (n)
		free(list);
	return n;
}

/* Composes the list, and prints it unless it equals *before, which it replaces. Returns as print_all(). */
static int show(bool json, char **before)
{
	struct look l = { .json = json };
	char *text = NULL;
	size_t size;
	int n;

	l.out = open_memstream(&text, &size);
	if (!l.out)
		return -ENOMEM;
	n = print_all(&l);
	fclose(l.out);
	if (n >= 0 && (!*before || strcmp(*before, text))) {
		fputs(text, stdout);
		fflush(stdout);
	}
	free(*before);
	*before = text;
	return n;
}

/* Prints the list again whenever it changes, until the program is ended. */
static int watch(bool json, char **before)
{
	struct pollfd p = { .events = POLLIN };

	p.fd = dev_nl_listen();
	if (p.fd < 0) {
		run_say("cannot listen to changes of addresses (%s): --watch ends here; run dapple devices again instead",
			strerror(-p.fd));
		return 1;
	}
	while (poll(&p, 1, -1) >= 0 || errno == EINTR)
		if (dev_nl_drain(p.fd) && show(json, before) < 0)
			break;
	close(p.fd);
	return 1;
}

int run_cmd_devices(int argc, char **argv)
{
	struct run_opts o = { .command = "devices", .argv = argv, .argc = argc, .index = 1 };
	bool json = false, again = false;
	char *before = NULL;
	const char *name;
	int n, r;

	while ((name = run_opts_next(&o))) {
		if (strcmp(name, "json") == 0) {
			json = true;
			continue;
		}
		if (strcmp(name, "watch") == 0) {
			again = true;
			continue;
		}
		if (strcmp(name, "adapter") != 0)
			return run_usage_error("devices", "option \"%s\" is unknown", name);
		name = run_opts_value(&o);
		if (!name)
			return RUN_EXIT_USAGE;
		r = run_adapter_check("devices", name);
		if (r != 0)
			return r;
		if (setenv("DAPPLE_ADAPTER", name, 1) < 0)
			abort();
	}
	if (o.index < argc)
		return run_usage_error("devices", "argument \"%s\" is unexpected", argv[o.index]);
	n = show(json, &before);
	r = n > 0 ? 0 : 1;
	if (n < 0)
		run_say("cannot list the adapters (%s): none is shown; see dapple doctor", strerror(-n));
	else if (n == 0)
		run_say("no network interface is up: there is no adapter; switch one on: ip link set lo up");
	if (n >= 0 && again)
		r = watch(json, &before);
	free(before);
	return r;
}
