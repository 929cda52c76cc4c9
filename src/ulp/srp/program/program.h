/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple-srp: an initiator and a target of SRP as a command; `dapple srp` starts it. */
#ifndef ULP_SRP_PROGRAM_PROGRAM_H
#define ULP_SRP_PROGRAM_PROGRAM_H

#include "ulp/place.h"
#include "ulp/srp/disk.h"
#include "ulp/srp/target.h"

#define SRP_EXIT_USAGE 2
#define SRP_ID_TEXT_MAX 36

struct srp_unit_conf {
	const char *path;               /* NULL: memory */
	uint64_t len;
};

/* What the command line says. */
struct srp_options {
	const char *verb;
	const char *place, *file;       /* arguments behind the verb */
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

/* --- id.c --- */

/* Reads an identifier of 32 hexadecimal digits, with 0x and a colon in the middle if they are there. */
bool srp_id_read(uint8_t id[16], const char *text);
/* Returns text. */
const char *srp_id_text(char text[SRP_ID_TEXT_MAX], const uint8_t id[16]);
/* A number with K, M, G or T behind it. */
bool srp_size_read(uint64_t *ret, const char *text);
/* Octets in words: "8.0 MiB". Returns text. */
const char *srp_size_text(char text[24], uint64_t len);
/* The identifier that this host's targets have if none is given. Returns false if there is no adapter. */
bool srp_id_default(uint8_t id[16]);
/* Prints the identifiers of this host's initiator ports. Returns an exit status. */
int srp_ids_print(void);

/* --- client.c, serve.c: each returns an exit status --- */

int srp_client(const struct srp_options *o);
int srp_serve(const struct srp_options *o);

#endif
