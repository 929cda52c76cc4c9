/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Latencies by samples: for some milliseconds at a time the rings of observers (observe/ring.h) are read, and each
 * request whose acknowledgement or answer is among them gives a time. Small rings suffice: what is overwritten between
 * two looks is no loss. Requests of RoCE have acknowledgements; iWARP has none, and direct accesses need none.
 *
 * A process that is captured already has no second observer, and gives no samples.
 */
#ifndef VIEW_SAMPLE_H
#define VIEW_SAMPLE_H

#include <stdint.h>

struct sampler;

/* Listens, and asks the processes that run; those that begin later come by themselves. Returns NULL after a sentence. */
struct sampler *sampler_new(void);
/* The processes take their observers away. */
void sampler_free(struct sampler *s);

/* Reads for so long. got(): a request of the queue pair `qpn` of that process took so many ns. peer_of() returns the
 * number of the queue pair's peer, or 0: packets of the wire name one end each. */
void sampler_read(struct sampler *s, unsigned ms, uint32_t (*peer_of)(long pid, uint32_t qpn, void *arg),
		  void (*got)(long pid, uint32_t qpn, uint64_t ns, void *arg), void *arg);

#endif
