/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the octets of a logical unit lie: a file or block device, or memory. Calls from several threads are safe. A store
 * stays open until the process ends.
 */
#ifndef ULP_SRP_STORE_H
#define ULP_SRP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srp_store {
	int fd;
	uint64_t len;
	bool read_only;
};

/*
 * Opens a file or a block device, which no other process may serve for writing meanwhile. Returns 0 or a negative errno
 * (-EWOULDBLOCK: another one does).
 */
int srp_store_open(struct srp_store *s, const char *path, bool read_only);
/* Makes memory of len octets, all 0. */
int srp_store_memory(struct srp_store *s, uint64_t len);

/* Each returns 0 or a negative errno, which for a write says that an unknown part has been written. */
int srp_store_read(const struct srp_store *s, void *at, size_t len, uint64_t offset);
int srp_store_write(const struct srp_store *s, const void *at, size_t len, uint64_t offset);
/* Octets become 0; with `release`, their space is given back where that is possible. */
int srp_store_zero(const struct srp_store *s, uint64_t offset, uint64_t len, bool release);
/* What has been written survives the end of the machine. */
int srp_store_sync(const struct srp_store *s);

#endif
