/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interfaces and their addresses, as the kernel states them (rtnetlink). */
#ifndef DEVICE_NETLINK_H
#define DEVICE_NETLINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct dev_nl_link {
	uint32_t ifindex;
	char name[IF_NAMESIZE];
	uint8_t mac[6];
	bool has_mac, up, running, loopback;
	uint32_t mtu;
};

struct dev_nl_addr {
	uint32_t ifindex;
	uint8_t addr[16]; /* IPv4 as ::ffff:a.b.c.d */
	bool link_local;
};

/*
 * The interfaces / addresses of this network namespace in the kernel's order;
 * addresses that cannot be used yet (duplicate detection) or at all are left
 * out. *ret is one allocation to free(). Returns their number or negative errno.
 */
int dev_nl_links(struct dev_nl_link **ret);
int dev_nl_addrs(struct dev_nl_addr **ret);

/* Returns a descriptor that becomes readable when links or addresses change, or negative errno. */
int dev_nl_listen(void);
/* Empties it. Returns true if there was something: the caller dumps everything again. */
bool dev_nl_drain(int fd);

#endif
