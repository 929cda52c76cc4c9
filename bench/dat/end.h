/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One end of a connection, on verbs or on DAT, behind the same calls: so that both are measured by
 * the same loop. Faults end the program. */
#ifndef BENCH_DAT_END_H
#define BENCH_DAT_END_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 32, MESSAGE = 65536, BUFFER = DEPTH * MESSAGE, INLINE = 64 };

struct end {
	char *buf;
	void *impl;
	uint64_t peer_addr;
	uint32_t peer_key;
	/* From offset to the same offset of the peer; completes in the request queue. */
	void (*write)(struct end *e, uint32_t off, uint32_t len);
	void (*send)(struct end *e, uint32_t off, uint32_t len);
	void (*recv)(struct end *e, uint32_t off, uint32_t len);
	/* Take completions of requests or receives: how many came. block: at least one, asleep
	 * meanwhile. */
	unsigned int (*reap_sent)(struct end *e, bool block);
	unsigned int (*reap_received)(struct end *e, bool block);
};

/* Both ends call; `control` is a socket to the other process. */
void verbs_open(struct end *e, bool server, int control);
void dat_open(struct end *e, bool server, int control, const char *ia);

void tell(int control, const void *p, size_t n);
void hear(int control, void *p, size_t n);
void swap_keys(struct end *e, int control, uint32_t key);

#define MUST(cond)                                                                             \
	do {                                                                                   \
		if (!(cond)) {                                                                 \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);   \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

#endif
