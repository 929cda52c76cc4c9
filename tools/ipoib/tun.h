/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A TUN device in the network namespace of the caller: the kernel's end of an interface. The kernel sees a device of layer 3,
 * without link-layer addresses; IP packets are read from it and written to it.
 */
#ifndef IPOIB_TUN_H
#define IPOIB_TUN_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#define TUN_ADDRS_MAX 32

struct tun {
	int fd;
	int changes;               /* readable: addresses may have changed */
	char name[IFNAMSIZ];
	uint32_t index;
	uint8_t addrs[TUN_ADDRS_MAX][16]; /* of util/ip.h */
	unsigned n_addrs;
};

/* Makes a device and leaves nothing. Returns 0 or a negative errno; *ret_step is
 * then what was refused. */
int tun_try(const char **ret_step);

/* Makes the device with its addresses (IPv4 "" and IPv6 NULL: none), and switches it on, without a carrier. Returns 0 or a
 * negative errno; *ret_step is then what was refused. */
int tun_open(struct tun *t, const char *name, const char *ip, int prefix, const char *ip6, const char **ret_step);
void tun_close(struct tun *t);
void tun_set_carrier(struct tun *t, bool on);
int tun_set_mtu(struct tun *t, unsigned mtu);
/* Reads the addresses anew. */
void tun_read_addrs(struct tun *t);
bool tun_has_addr(const struct tun *t, const uint8_t ip[16]);

#endif
