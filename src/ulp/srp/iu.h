/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Information units of SRP and the structures that stand for them: octets in, structures out, and back. No queue pair, no
 * state. A _get function returns SRP_GOOD, or the verdict of the rule that the information unit breaks. With SRP_GOOD lengths and offsets lie
 * within its octets, and so do the pointers in the structure, which stay valid as long as the octets.
 */
#ifndef ULP_SRP_IU_H
#define ULP_SRP_IU_H

#include "wire/srp_fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SRP_CDB_MAX 48                  /* octets of a CDB that are read, the additional ones included */
#define SRP_SENSE_MAX 96                /* octets of sense data that are kept */
#define SRP_DESCRIPTORS_MAX 256         /* memory descriptors of a command */

/* What is wrong with an information unit. Each has a row with a sentence. */
enum srp_verdict {
	SRP_GOOD,
	SRP_SHORT,
	SRP_BAD_TYPE,
	SRP_BAD_FORMAT,
	SRP_SHORT_DESCRIPTORS,
	SRP_TABLE_LENGTH,
	SRP_TABLE_COUNT,
	SRP_TABLE_LONG,
	SRP_TABLE_SUM,
	SRP_NO_IMMEDIATE,
	SRP_IMMEDIATE_PLACE,
	SRP_IMMEDIATE_SHORT,
	SRP_LONG_CDB,
	SRP_SENSE_SHORT,
	SRP_BAD_LOGIN,
	SRP_BAD_LENGTHS,
	SRP_NO_LIMIT,
	SRP_OVER_LIMIT,
	SRP_BAD_TAG,
	SRP_BAD_DELTA,
	SRP_BAD_RESIDUAL,
	SRP_NR_VERDICTS
};

/* What the peer broke, as the middle of a sentence. */
extern const char *const srp_rules[SRP_NR_VERDICTS];

/* --- login --- */

struct srp_login {
	uint64_t tag;
	uint32_t it_length;             /* longest information unit that the initiator would send */
	uint16_t formats;               /* bits 1 << enum wire_srp_format */
	bool immediate, multi;
	uint16_t immediate_offset;
	uint8_t initiator[16], target[16];
};

struct srp_accepted {
	uint64_t tag;
	uint32_t limit, it_length, ti_length;
	uint16_t formats;
	bool immediate;
	enum wire_srp_channels channels;
};

void srp_login_put(uint8_t out[WIRE_SRP_LOGIN_REQ_LEN], const struct srp_login *l);
enum srp_verdict srp_login_get(struct srp_login *l, const uint8_t *data, size_t len);
void srp_accepted_put(uint8_t out[WIRE_SRP_LOGIN_RSP_LEN], const struct srp_accepted *a);
enum srp_verdict srp_accepted_get(struct srp_accepted *a, const uint8_t *data, size_t len);
void srp_reject_put(uint8_t out[WIRE_SRP_LOGIN_REJ_LEN], uint64_t tag, enum wire_srp_reject reason);
/* The reason of a rejection's private data, or 0 if it is no SRP_LOGIN_REJ. */
uint32_t srp_reject_get(const uint8_t *data, size_t len);
/* The reason in words. */
const char *srp_reject_text(uint32_t reason);

/* --- commands --- */

struct srp_memory {
	uint64_t address;
	uint32_t key, length;
};

/* A data buffer of a command. */
struct srp_buffer {
	enum wire_srp_format format;
	uint32_t length;                /* of all descriptors */
	uint32_t nr;                    /* memory descriptors */
	uint32_t nr_here;               /* those that the command itself has, from the first one */
	struct srp_memory table;        /* indirect: where all of them lie */
	const uint8_t *list;            /* those of the command, to be read by srp_memory_get() */
	const uint8_t *data;            /* immediate data */
};

struct srp_command {
	uint64_t tag, lun;
	uint8_t attribute;
	uint8_t cdb[SRP_CDB_MAX];
	uint8_t cdb_len;
	struct srp_buffer out, in;
};

struct srp_task {
	uint64_t tag, lun, task_tag;
	uint8_t function;
};

struct srp_memory srp_memory_get(const uint8_t *at);
void srp_memory_put(uint8_t *at, const struct srp_memory *m);

/* Octets that the descriptors of a buffer take in a command. */
size_t srp_buffer_len(const struct srp_buffer *b);
/*
 * Writes a command whose buffers have their lists; immediate data of the offset given is the caller's to lay behind it.
 * Returns its octets, those of immediate data included.
 */
size_t srp_command_put(uint8_t *out, const struct srp_command *c, size_t immediate_offset);
/* Reads a command. immediate_offset is that of the login, or 0: there is no immediate data. */
enum srp_verdict srp_command_get(struct srp_command *c, const uint8_t *data, size_t len, size_t immediate_offset);
/* Whether the lengths of a whole table add up to that of the buffer. */
enum srp_verdict srp_table_check(const struct srp_memory *table, uint32_t nr, uint32_t length);

void srp_task_put(uint8_t out[WIRE_SRP_TSK_MGMT_LEN], const struct srp_task *t);
enum srp_verdict srp_task_get(struct srp_task *t, const uint8_t *data, size_t len);

/* --- responses --- */

struct srp_response {
	uint64_t tag;
	uint32_t limit_delta;
	uint8_t status;
	bool in_under, in_over, out_under, out_over;
	uint32_t in_residual, out_residual;
	bool has_code;
	uint8_t code;                   /* enum wire_srp_response, with has_code */
	const uint8_t *sense;
	uint32_t sense_len;
};

/* Octets of a response. */
size_t srp_response_put(uint8_t *out, const struct srp_response *r);
enum srp_verdict srp_response_get(struct srp_response *r, const uint8_t *data, size_t len);

/* --- short ones: SRP_I_LOGOUT, SRP_T_LOGOUT, SRP_CRED_REQ, SRP_CRED_RSP, SRP_AER_RSP; the beginning of SRP_AER_REQ --- */

struct srp_short {
	uint8_t type;
	uint64_t tag;
	uint32_t number;                /* delta or reason */
};

void srp_short_put(uint8_t out[WIRE_SRP_SHORT_LEN], const struct srp_short *s);
enum srp_verdict srp_short_get(struct srp_short *s, const uint8_t *data, size_t len);

#endif
