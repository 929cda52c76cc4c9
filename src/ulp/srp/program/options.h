/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the command line of dapple-srp says. */
#ifndef ULP_SRP_PROGRAM_OPTIONS_H
#define ULP_SRP_PROGRAM_OPTIONS_H

#include "ulp/place.h"
#include "ulp/srp/disk.h"
#include "ulp/srp/target.h"

#define SRP_EXIT_USAGE 2

struct srp_unit_conf {
	const char *path;               /* NULL: memory */
	uint64_t len;
};

struct srp_options {
	const char *verb;
	const char *place, *file;       /* arguments behind the verb */
	char **rest;                    /* of nbd: words for nbdkit */
	struct srp_disk_conf disk;
	bool has_target;
	uint64_t offset, len;           /* len 0: to the end */
	bool has_len, counts, read_only;
	uint32_t block;
	struct sockaddr_storage listen;
	bool has_listen;
	struct ulp_allow from;
	uint8_t target[16];
	uint8_t allowed[SRP_INITIATORS_MAX][16];
	unsigned nr_allowed;
	struct srp_unit_conf units[SCSI_UNITS_MAX];
	unsigned nr_units;
	unsigned limit;
};

#endif
