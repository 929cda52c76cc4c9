/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The counters of a port as files of the device tree, below ports/1:
 *
 *     counters/     what the PMA of an adapter counts (IBTA 16.1.3.5), under the kernel's names
 *     hw_counters/  what the transport counts: our names (engine/counter.h), and those of rdma_rxe and mlx5_ib for
 *                   the same things
 *
 * A file has the sum over all processes that use or have used the adapter, dead ones too. Each process adds what it
 * has counted since it last did (device/counts.h):
 *
 *     .counters/DEV/sum      one line "NAME VALUE" a counter, of every release; the lock of a writer is a flock() on it
 *     .counters/DEV/p, h     the files. ports/1/counters and hw_counters have hard links to them, so a reader that keeps
 *                            a descriptor sees each new value, also after the tree was written anew
 *
 * Values are rewritten in place and only grow. A file has room for the next digits (line ends behind the number), so no
 * reader sees a half of one. A file that has gone is not missed.
 */
#ifndef DEVICE_SYSFS_COUNTS_H
#define DEVICE_SYSFS_COUNTS_H

#include "engine/counter.h"

#include <stdbool.h>
#include <stdint.h>

#define DEV_COUNT_SOURCES 4

struct dev_count_row {
	const char *file;
	bool hw;          /* in hw_counters */
	unsigned n;       /* sources */
	unsigned divisor; /* PortXmitData and PortRcvData count units of four octets */
	enum eng_counter from[DEV_COUNT_SOURCES];
};

/* Returns the i-th file, or NULL: there are no more. The first ones are named here, then every engine's counter. */
const struct dev_count_row *dev_count_row(unsigned i, struct dev_count_row *buf);

/* Makes the files of a device, zero where they are new. root: of the tree. Returns 0 or -errno. */
int dev_counts_prepare(const char *root, const char *dev);
/* Adds what a process has counted, by enum eng_counter. wait: also if another process is writing just now. Returns 0,
 * -EAGAIN, -ENOENT (the tree has no such device), or another negative errno; then nothing was added. */
int dev_counts_add(const char *root, const char *dev, const uint64_t delta[ENG_C_COUNT], bool wait);

#endif
