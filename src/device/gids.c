/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/gids.h"

#include "device/adapter.h"
#include "device/cm/cma_host.h"
#include "engine/event.h"
#include "engine/gid.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/ip.h"
#include "util/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum rank { RANK_IPV4, RANK_IPV6, RANK_LINK_LOCAL, RANK_COUNT };

static enum rank rank_of(const struct dev_nl_addr *a)
{
	if (ut_ip_is_v4(a->addr))
		return RANK_IPV4;
	return a->link_local ? RANK_LINK_LOCAL : RANK_IPV6;
}

/*
 * DAPPLE_ADDRESS=127.0.0.2[,...] replaces the addresses of lo: processes of
 * one user share a port, two users on one host need an address each.
 */
static int pick_chosen(const char *list, uint32_t ifindex, struct dev_nl_addr *ret)
{
	char word[INET_ADDRSTRLEN];
	int n = 0;

	while (*list && n < DEV_ADDRS_MAX) {
		size_t len = strcspn(list, ",");
		struct in_addr in;

		if (len < sizeof(word)) {
			memcpy(word, list, len);
			word[len] = 0;
		}
		if (len >= sizeof(word) || inet_pton(AF_INET, word, &in) != 1 ||
		    ntohl(in.s_addr) >> 24 != 127) {
			ut_error("DAPPLE_ADDRESS: \"%.*s\" is not an address in 127.0.0.0/8: it is left out; "
				 "write such addresses, separated by commas", (int)len, list);
		} else {
			ret[n] = (struct dev_nl_addr){ .ifindex = ifindex };
			ut_ip_set_v4(ret[n++].addr, &in);
		}
		list += len + (list[len] == ',');
	}
	return n;
}

/* `all` is a dev_nl_addrs() dump. */
static int pick(uint32_t ifindex, bool loopback, const struct dev_nl_addr *all, int n,
		struct dev_nl_addr ret[DEV_ADDRS_MAX])
{
	const char *chosen = loopback ? ut_env("DAPPLE_ADDRESS") : NULL;
	int count = 0;

	if (chosen && *chosen)
		return pick_chosen(chosen, ifindex, ret);
	for (int rank = 0; rank < RANK_COUNT; rank++)
		for (int i = 0; i < n && count < DEV_ADDRS_MAX; i++)
			if (all[i].ifindex == ifindex && rank_of(&all[i]) == (enum rank)rank)
				ret[count++] = all[i];
	return count;
}

int dev_addrs_now(const struct dev_info *info, struct dev_nl_addr ret[DEV_ADDRS_MAX])
{
	struct dev_nl_addr *all = NULL;
	int n = dev_nl_addrs(&all);

	if (n < 0)
		return n;
	n = pick(info->ifindex, info->loopback, all, n, ret);
	free(all);
	return n;
}

static bool among(const uint8_t gid[16], const struct dev_nl_addr *v, int n)
{
	for (int i = 0; i < n; i++)
		if (memcmp(v[i].addr, gid, 16) == 0)
			return true;
	return false;
}

static void drop_gone(struct dev_adapter *a, const struct dev_nl_addr *v, int n)
	UT_REQUIRES(a->dev.lock)
{
	for (uint32_t i = 0; i < ENG_GIDS_MAX; i++) {
		const struct eng_gid *g = eng_gid_at(&a->dev, i);
		uint8_t raw[16];

		if (!g || among(g->gid.raw, v, n))
			continue;
		memcpy(raw, g->gid.raw, sizeof(raw));
		eng_gid_del(&a->dev, i);
		if (a->wired)
			a->kind->del_addr(a, raw);
	}
}

static void add_new(struct dev_adapter *a, const struct dev_nl_addr *v, int n)
	UT_REQUIRES(a->dev.lock)
{
	for (int i = 0; i < n; i++) {
		struct eng_gid g = { .ifindex = v[i].ifindex, .valid = true,
				     .type = a->kind->gid_type };

		memcpy(g.gid.raw, v[i].addr, sizeof(g.gid.raw));
		if (eng_gid_find(&a->dev, &g.gid) >= 0)
			continue;
		if (eng_gid_add(&a->dev, &g) < 0) {
			ut_warn("%s: the GID table is full (%d addresses): later addresses of %s have no GID; "
				"take addresses off the interface", a->info.name, ENG_GIDS_MAX, a->info.ifname);
			return;
		}
		if (a->wired && a->dev.qpn_mask)
			a->kind->add_addr(a, &g);
	}
}

/* Returns 1 if the interface was found, 0 if it is gone, or negative errno. */
static int look_up(uint32_t ifindex, struct dev_nl_link *ret)
{
	struct dev_nl_link *v = NULL;
	int n = dev_nl_links(&v), found = 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n && !found; i++) {
		if (v[i].ifindex == ifindex) {
			*ret = v[i];
			found = 1;
		}
	}
	free(v);
	return found;
}

static void note_port(struct dev_adapter *a, bool up, bool gone) UT_REQUIRES(a->dev.lock)
{
	if (up != a->port_up)
		eng_async_port(&a->dev, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	if (gone && !a->gone) {
		ut_warn("%s: interface %s is gone: the adapter sends and receives nothing; close it, and open one that "
			"is listed now", a->info.name, a->info.ifname);
		eng_async_port(&a->dev, IBV_EVENT_DEVICE_FATAL);
		dev_cm_note(a, NULL);
	}
	a->port_up = up;
	a->gone = gone;
}

/* Compares the addresses with those of the last look. */
static void take_addrs(struct dev_adapter *a, const struct dev_nl_addr *v, int n)
	UT_REQUIRES(a->dev.lock)
{
	for (int i = 0; i < a->n_addrs; i++)
		if (!among(a->addrs[i].addr, v, n))
			dev_cm_note(a, a->addrs[i].addr);
	for (int i = 0; i < n; i++)
		if (!among(v[i].addr, a->addrs, a->n_addrs))
			dev_cm_note(a, v[i].addr);
	memcpy(a->addrs, v, (size_t)n * sizeof(*v));
	a->n_addrs = n;
}

static void take_all(struct dev_adapter *a, const struct dev_nl_link *l, bool found,
		     struct dev_nl_addr *v, int n) UT_EXCLUDES(a->dev.lock)
{
	struct dev_nl_addr *gids = v + DEV_ADDRS_MAX;
	int n_gids = found ? a->kind->gids(&a->info, v, n, gids) : 0;

	ut_lock(&a->dev.lock);
	drop_gone(a, gids, n_gids);
	add_new(a, gids, n_gids);
	take_addrs(a, v, n);
	note_port(a, found && l->up && l->running, !found);
	eng_dev_unlock(&a->dev);
}

int dev_gids_refresh(struct dev_adapter *a)
{
	struct dev_nl_addr *v = ut_malloc(2 * DEV_ADDRS_MAX * sizeof(*v));
	struct dev_nl_link l = { 0 };
	int found = look_up(a->info.ifindex, &l);
	int n = v ? dev_addrs_now(&a->info, v) : -ENOMEM;

	if (n < 0 || found < 0) {
		ut_warn("%s: cannot read the addresses of %s (%s): its GIDs stay as they were; raise the limits on "
			"descriptors and memory", a->info.name, a->info.ifname, strerror(n < 0 ? -n : -found));
		free(v);
		return n < 0 ? n : found;
	}
	/* A chosen address of lo does not outlive lo. */
	take_all(a, &l, found, v, found ? n : 0);
	free(v);
	return 0;
}
