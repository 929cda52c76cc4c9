/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A logical unit of a target as a disk: octets in, octets out, over one session, which is made again when it is lost; what had
 * no response is sent again then. A session that finds another unit than before in its place is ended.
 *
 * All calls wait, and several threads may call at once: their commands are under way together. One of those that wait is the
 * leader, which sleeps until the session has something and takes all responses; the others sleep until it does.
 *
 * Each call that returns int gives 0, or a negative errno and leaves a sentence to its thread.
 */
#ifndef ULP_SRP_DISK_H
#define ULP_SRP_DISK_H

#include "ulp/srp/unit.h"

#define SRP_DISK_WHY_MAX 512

struct srp_disk_conf {
	struct sockaddr_storage to;
	struct srp_conf session;
	uint64_t lun;                   /* as on the wire */
	int timeout_ms;                 /* for a login, and for a command */
	int reconnect_ms;               /* how long a lost session is tried to be made again; 0: not at all */
};

struct srp_disk;

/* Logs in, and asks for the facts. Returns NULL: why says what failed. */
struct srp_disk *srp_disk_open(const struct srp_disk_conf *conf, char why[SRP_DISK_WHY_MAX]);
/* Logs in alone, for questions to any unit. */
struct srp_disk *srp_disk_open_session(const struct srp_disk_conf *conf, char why[SRP_DISK_WHY_MAX]);
/* No call is under way any more. */
void srp_disk_close(struct srp_disk *d);

const struct srp_disk_facts *srp_disk_facts(const struct srp_disk *d);
/* For the only thread of a disk. */
const struct srp_session *srp_disk_session(const struct srp_disk *d);
/* Why the last call of this thread that failed did so. */
const char *srp_disk_why(void);
/* How often the session has been made again. */
unsigned srp_disk_reconnects(const struct srp_disk *d);

/* Octets of whole blocks. */
int srp_disk_read(struct srp_disk *d, void *at, size_t len, uint64_t offset);
/* fua: they are on the medium when the call returns; -EOPNOTSUPP if the unit cannot do that. */
int srp_disk_write(struct srp_disk *d, const void *at, size_t len, uint64_t offset, bool fua);
/* Whole blocks become zeroes, without data on the wire; may_unmap: their space may be given back. -EOPNOTSUPP: unknown to the unit. */
int srp_disk_zero(struct srp_disk *d, uint64_t len, uint64_t offset, bool may_unmap, bool fua);
/* What has been written is on the medium. */
int srp_disk_flush(struct srp_disk *d);
/* The space of whole blocks is given back. */
int srp_disk_unmap(struct srp_disk *d, uint64_t len, uint64_t offset);

/* The numbers of the target's units, for the only thread of a disk. Returns how many were written, at most max, or a negative errno. */
int srp_disk_luns(struct srp_disk *d, uint64_t *ret_luns, unsigned max);

#endif
