/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Order: kinds as asked for, and in each kind lo first, then by interface number. Programs that take the
 * first device without asking are mostly two processes on one host, and lo has an address when no other
 * interface has.
 */
#include "device/devices.h"

#include "device/gids.h"
#include "device/kind/kind.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_MAX 1 /* adapters of a kind that stand on no interface */

/* Is word[0..len) an element of a comma list? */
static bool listed(const char *list, const char *word, size_t len)
{
	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == len && memcmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static void complain(const char *word, size_t len)
{
	ut_error("DAPPLE_ADAPTER: \"%.*s\" is not a kind of adapters (roce, iwarp, ib): no device is "
		 "listed; name a kind, or unset it", (int)len, word);
}

/* At a node of a fabric the fabric's adapter comes alone: programs there expect the devices of such a host. */
static const char *usual_kinds(void)
{
	const char *fabric = ut_env("DAPPLE_FABRIC");

	return fabric && *fabric ? "ib" : "roce,iwarp";
}

/* The kinds in the order asked for. A wrong word leaves none: better no device
 * than another than the one meant. Returns their number. */
static int chosen_kinds(const struct dev_kind_row *ret[DEV_KINDS])
{
	const char *list = ut_env("DAPPLE_ADAPTER");
	int n = 0;

	if (!list || !*list)
		list = usual_kinds();
	while (*list) {
		size_t len = strcspn(list, ",");
		bool again = false;
		const struct dev_kind_row *k = dev_kind_by_word(list, len);

		if (!k) {
			complain(list, len);
			return 0;
		}
		for (int i = 0; i < n; i++)
			again |= ret[i] == k;
		if (!again)
			ret[n++] = k;
		list += len + (list[len] == ',');
	}
	return n;
}

bool dev_list_has_node(void)
{
	const struct dev_kind_row *rows[DEV_KINDS];
	int n = chosen_kinds(rows);

	for (int i = 0; i < n; i++)
		if (rows[i]->is_found)
			return true;
	return false;
}

static bool has_mac(const struct dev_nl_link *l)
{
	static const uint8_t zero[6];

	return l->has_mac && memcmp(l->mac, zero, 6);
}

/* Locally administered, made of its number: unique in this namespace. */
static void make_mac(const struct dev_nl_link *l, uint8_t mac[6])
{
	mac[0] = 0x02;
	mac[1] = 0xda;
	for (int i = 0; i < 4; i++)
		mac[2 + i] = (uint8_t)(l->ifindex >> (24 - 8 * i));
}

/* lo and a tunnel have none; a VLAN or a bridge may have that of an interface before it. */
static bool shares_mac(const struct dev_nl_link *links, int i)
{
	for (int k = 0; k < i; k++)
		if (has_mac(&links[k]) && !memcmp(links[k].mac, links[i].mac, 6))
			return true;
	return false;
}

/*
 * The modified EUI-64 of a MAC. Its two octets in the middle are ff fe; the kinds after the first
 * count on from there, so that two nodes on an interface differ.
 */
static uint64_t guid_of(const uint8_t mac[6], unsigned kind)
{
	uint64_t high = (uint64_t)(mac[0] ^ 2u) << 16 | (uint64_t)mac[1] << 8 | mac[2];
	uint64_t low = (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5];

	return high << 40 | (uint64_t)((0xfffeu + kind) & 0xffff) << 24 | low;
}

/* Of the i-th of these links. */
static void fill(struct dev_info *d, const struct dev_kind_row *k, const struct dev_nl_link *links, int i)
{
	const struct dev_nl_link *l = &links[i];
	uint8_t mac[6];

	*d = (struct dev_info){ .kind = k->kind, .node_type = k->node_type,
				.ifindex = l->ifindex };
	snprintf(d->name, sizeof(d->name), "%s%s", k->prefix, l->name);
	snprintf(d->ifname, sizeof(d->ifname), "%s", l->name);
	d->loopback = l->loopback;
	make_mac(l, mac);
	memcpy(d->mac, has_mac(l) ? l->mac : mac, 6);
	if (has_mac(l) && !shares_mac(links, i))
		memcpy(mac, l->mac, 6);
	d->guid = guid_of(mac, (unsigned)k->kind);
	d->image_guid = guid_of(mac, 0);
	/* Two kinds live on an interface; lo of the first kind is 0, unless a fabric's adapter has that number. */
	d->index = 2 * (l->ifindex - 1) + (unsigned)k->kind + (ut_env("DAPPLE_FABRIC") ? FOUND_MAX : 0);
}

static bool usable(const struct dev_nl_link *l, const struct dev_nl_addr *addrs, int n)
{
	if (!l->up)
		return false;
	if (l->loopback)
		return true;
	for (int i = 0; i < n; i++)
		if (addrs[i].ifindex == l->ifindex)
			return true;
	return false;
}

static int by_order(const void *pa, const void *pb)
{
	const struct dev_nl_link *a = pa, *b = pb;

	if (a->loopback != b->loopback)
		return a->loopback ? -1 : 1;
	return a->ifindex < b->ifindex ? -1 : a->ifindex > b->ifindex;
}

/* Returns how many of the kind's adapters are in v. */
static int on_interfaces(const struct dev_kind_row *row, const char *names, const struct dev_nl_link *links, int n_links,
			 const struct dev_nl_addr *addrs, int n_addrs, struct dev_info *v)
{
	int n = 0;

	for (int i = 0; i < n_links; i++) {
		if (!usable(&links[i], addrs, n_addrs))
			continue;
		fill(&v[n], row, links, i);
		n += !names || listed(names, v[n].name, strlen(v[n].name));
	}
	return n;
}

static int that_are_found(const struct dev_kind_row *row, const char *names, struct dev_info *v)
{
	int n = row->find(v, FOUND_MAX), kept = 0;

	for (int i = 0; i < n; i++)
		if (!names || listed(names, v[i].name, strlen(v[i].name)))
			v[kept++] = v[i];
	return n < 0 ? n : kept;
}

/* names: DAPPLE_DEVICES or NULL. */
static int build(const struct dev_kind_row *const *rows, int n_rows, const char *names,
		 struct dev_nl_link *links, int n_links, const struct dev_nl_addr *addrs,
		 int n_addrs, struct dev_info **ret)
{
	struct dev_info *v = ut_calloc((size_t)n_rows * (size_t)(n_links + FOUND_MAX) + 1, sizeof(*v));
	int n = 0, more;

	if (!v)
		return -ENOMEM;
	if (n_links)
		qsort(links, (size_t)n_links, sizeof(*links), by_order);
	for (int k = 0; k < n_rows; k++) {
		more = rows[k]->is_found ? that_are_found(rows[k], names, v + n)
					 : on_interfaces(rows[k], names, links, n_links, addrs, n_addrs, v + n);
		if (more < 0) {
			free(v);
			return more;
		}
		n += more;
	}
	*ret = v;
	return n;
}

static int list(const struct dev_kind_row *const *rows, int n_rows, const char *names,
		struct dev_info **ret)
{
	struct dev_nl_link *links = NULL;
	struct dev_nl_addr *addrs = NULL;
	int n_links = dev_nl_links(&links), n_addrs, n;

	if (n_links < 0)
		return n_links;
	n_addrs = dev_nl_addrs(&addrs);
	n = n_addrs < 0 ? n_addrs
			: build(rows, n_rows, names, links, n_links, addrs, n_addrs, ret);
	free(links);
	free(addrs);
	return n;
}

int dev_list(struct dev_info **ret)
{
	const struct dev_kind_row *rows[DEV_KINDS];
	const char *names = ut_env("DAPPLE_DEVICES");

	return list(rows, chosen_kinds(rows), names && *names ? names : NULL, ret);
}

int dev_list_all(struct dev_info **ret)
{
	const struct dev_kind_row *rows[DEV_KINDS];
	for (int i = 0; i < DEV_KINDS; i++)
		rows[i] = dev_kind_at(i);
	return list(rows, DEV_KINDS, NULL, ret);
}
