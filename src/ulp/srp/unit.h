/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Questions to a logical unit over a session: what it is, how large it is, what it can do. The session's thread asks. */
#ifndef ULP_SRP_UNIT_H
#define ULP_SRP_UNIT_H

#include "ulp/srp/initiator.h"

/* What a unit says of itself. */
struct srp_disk_facts {
	uint8_t type;                   /* peripheral device type; 0: a disk */
	char vendor[9], product[17], revision[5], serial[65];
	uint32_t block;                 /* octets of a logical block */
	uint64_t blocks;
	uint32_t transfer_max;          /* octets of a command */
	uint32_t unmap_max;             /* logical blocks of an UNMAP; 0: there is none */
	uint32_t same_max;              /* logical blocks of a WRITE SAME */
	bool read_only, zeroes;         /* zeroes: unmapped blocks read as zeroes */
	bool same_unmaps;               /* WRITE SAME may give space back */
	bool fua;                       /* a write may be on the medium when it is done */
};

struct srp_unit {
	struct srp_session *session;
	uint64_t lun;                   /* as on the wire */
	int timeout_ms;                 /* for each command */
	char *why;                      /* what failed */
	size_t why_len;
};

/* A command of len octets to a unit, with data from it, or none: v may be NULL. */
struct srp_io srp_unit_question(uint64_t lun, const struct iovec *v, uint8_t opcode, uint8_t len);

/* Each returns 0, or a negative errno and leaves a sentence; -EIO may be a status. */
int srp_unit_facts(const struct srp_unit *u, struct srp_disk_facts *ret);
/* The numbers of the target's units. Returns how many were written, at most max. */
int srp_unit_luns(const struct srp_unit *u, uint64_t *ret_luns, unsigned max);

/* Whether these are of one unit: what it is and how large it is. */
bool srp_facts_are_same(const struct srp_disk_facts *a, const struct srp_disk_facts *b);

#endif
