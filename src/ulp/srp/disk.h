/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A logical unit of a target as a disk: octets in, octets out, over one session, which is made again when it is lost. All
 * calls wait. Each that returns int gives 0, or a negative errno and leaves a sentence. A disk belongs to one thread.
 */
#ifndef ULP_SRP_DISK_H
#define ULP_SRP_DISK_H

#include "ulp/srp/initiator.h"

#define SRP_DISK_WHY_MAX 512

struct srp_disk_conf {
	struct sockaddr_storage to;
	struct srp_conf session;
	uint64_t lun;                   /* as on the wire */
	int timeout_ms;                 /* for a login, and for a command */
	int reconnect_ms;               /* how long a lost session is tried to be made again; 0: not at all */
};

/* What the unit says of itself. */
struct srp_disk_facts {
	uint8_t type;                   /* peripheral device type; 0: a disk */
	char vendor[9], product[17], revision[5], serial[65];
	uint32_t block;                 /* octets of a logical block */
	uint64_t blocks;
	uint32_t transfer_max;          /* octets of a command */
	uint32_t unmap_max;             /* logical blocks of an UNMAP; 0: there is none */
	bool read_only, zeroes;         /* zeroes: unmapped blocks read as zeroes */
};

struct srp_disk;

/* Logs in, and asks for the facts. Returns NULL: why says what failed. */
struct srp_disk *srp_disk_open(const struct srp_disk_conf *conf, char why[SRP_DISK_WHY_MAX]);
/* Logs in alone, for commands to any unit. */
struct srp_disk *srp_disk_open_session(const struct srp_disk_conf *conf, char why[SRP_DISK_WHY_MAX]);
void srp_disk_close(struct srp_disk *d);

const struct srp_disk_facts *srp_disk_facts(const struct srp_disk *d);
const struct srp_session *srp_disk_session(const struct srp_disk *d);
const char *srp_disk_why(const struct srp_disk *d);
/* How often the session has been made again. */
unsigned srp_disk_reconnects(const struct srp_disk *d);

/* Octets of whole blocks. */
int srp_disk_read(struct srp_disk *d, void *at, size_t len, uint64_t offset);
int srp_disk_write(struct srp_disk *d, const void *at, size_t len, uint64_t offset);
/* What has been written is on the medium. */
int srp_disk_flush(struct srp_disk *d);
/* The space of whole blocks is given back. */
int srp_disk_unmap(struct srp_disk *d, uint64_t len, uint64_t offset);

/* Executes a command of any kind on the disk's unit, again while the unit says that it is busy or has an attention. */
int srp_disk_command(struct srp_disk *d, struct srp_io *io);
/* The numbers of the target's units. Returns how many were written, at most max, or a negative errno. */
int srp_disk_luns(struct srp_disk *d, uint64_t *ret_luns, unsigned max);

/* Status and sense in words: "CHECK CONDITION, ILLEGAL REQUEST (5/24/00)". Returns text. */
const char *srp_status_text(char *text, size_t len, const struct srp_io *io);

#endif
