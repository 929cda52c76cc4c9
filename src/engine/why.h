/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The last failure sentences of an adapter, in memory. */
#ifndef ENGINE_WHY_H
#define ENGINE_WHY_H

#include <netinet/in.h>
#include <stdint.h>

struct eng_why_ring;

struct eng_why_ring *eng_why_ring_new(void); /* or NULL */
void eng_why_ring_free(struct eng_why_ring *r);

/* A GID, or an address as IPv6 writes those of IPv4 too, as people write it. Returns buf. */
const char *eng_addr_text(const uint8_t addr[16], char buf[INET6_ADDRSTRLEN]);

#endif
