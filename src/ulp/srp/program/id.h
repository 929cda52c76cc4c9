/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Identifiers of ports, and sizes, as text. */
#ifndef ULP_SRP_PROGRAM_ID_H
#define ULP_SRP_PROGRAM_ID_H

#include <stdbool.h>
#include <stdint.h>

#define SRP_ID_TEXT_MAX 36

/* Reads an identifier of 32 hexadecimal digits, with 0x and a colon in the middle if they are there. */
bool srp_id_read(uint8_t id[16], const char *text);
/* Returns text. */
const char *srp_id_text(char text[SRP_ID_TEXT_MAX], const uint8_t id[16]);
/* A number with K, M, G or T behind it. */
bool srp_size_read(uint64_t *ret, const char *text);
/* Octets in words: "8.0 MiB". Returns text. */
const char *srp_size_text(char text[24], uint64_t len);
/* The number of a logical unit, at most 16,383, as on the wire: peripheral device addressing, or flat space addressing. */
uint64_t srp_lun_on_wire(unsigned n);
/* The identifier that this host's targets have if none is given. Returns false if there is no adapter. */
bool srp_id_default(uint8_t id[16]);
/* Prints the identifiers of this host's initiator ports. Returns an exit status. */
int srp_ids_print(void);

#endif
