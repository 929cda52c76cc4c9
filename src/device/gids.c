/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/gids.h"

#include "device/adapter.h"
#include "engine/event.h"
#include "util/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum rank { RANK_IPV4, RANK_IPV6, RANK_LINK_LOCAL, RANK_COUNT };

static enum rank rank_of(const struct dev_nl_addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (memcmp(a->addr, mapped, sizeof(mapped)) == 0)
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
			ut_error("DAPPLE_ADDRESS takes addresses in 127.0.0.0/8 separated by "
				 "commas; \"%.*s\" is none", (int)len, list);
		} else {
			ret[n] = (struct dev_nl_addr){ .ifindex = ifindex };
			ret[n].addr[10] = ret[n].addr[11] = 0xff;
			memcpy(ret[n++].addr + 12, &in, 4);
		}
		list += len + (list[len] == ',');
	}
	return n;
}

int dev_addrs_pick(uint32_t ifindex, bool loopback, const struct dev_nl_addr *all, int n,
		   struct dev_nl_addr ret[DEV_ADDRS_MAX])
{
	const char *chosen = loopback ? getenv("DAPPLE_ADDRESS") : NULL;
	int count = 0;

	if (chosen && *chosen)
		return pick_chosen(chosen, ifindex, ret);
	for (int rank = 0; rank < RANK_COUNT; rank++)
		for (int i = 0; i < n && count < DEV_ADDRS_MAX; i++)
			if (all[i].ifindex == ifindex && rank_of(&all[i]) == (enum rank)rank)
				ret[count++] = all[i];
	return count;
}

static bool is_loopback(const struct dev_info *info)
{
	return info->loopback;
}

int dev_addrs_now(const struct dev_info *info, struct dev_nl_addr ret[DEV_ADDRS_MAX])
{
	struct dev_nl_addr *all = NULL;
	int n = dev_nl_addrs(&all);

	if (n < 0)
		return n;
	n = dev_addrs_pick(info->ifindex, is_loopback(info), all, n, ret);
	free(all);
	return n;
}
