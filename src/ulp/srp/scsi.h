/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Logical units that are disks (SPC-4, SBC-3), without a transport: a CDB and data in, status, sense and data out. The
 * transport asks first how much data a command moves (scsi_plan()), brings that of the initiator, and has it executed.
 */
#ifndef ULP_SRP_SCSI_H
#define ULP_SRP_SCSI_H

#include "ulp/srp/store.h"

#include <stdatomic.h>

#define SCSI_TRANSFER_MAX (1024 * 1024) /* octets that a command moves */
#define SCSI_UNITS_MAX 64
#define SCSI_SENSE_LEN 18
#define SCSI_SERIAL_MAX 17

struct scsi_unit {
	struct srp_store store;
	uint32_t block;                 /* octets of a logical block: 512 or 4,096 */
	uint64_t blocks;
	char serial[SCSI_SERIAL_MAX];   /* 16 hexadecimal digits */
	atomic_uint resets;             /* tasks that began before the last one are over */
};

/* The units that one initiator port sees, by their numbers, and what it has not been told of them. */
struct scsi_nexus {
	struct scsi_unit **units;
	unsigned nr;
	uint16_t attention[SCSI_UNITS_MAX];     /* additional sense code and qualifier; 0: none */
	unsigned resets[SCSI_UNITS_MAX];        /* those of the unit that it knows of */
};

enum scsi_direction { SCSI_NO_DATA, SCSI_OUT, SCSI_IN };

struct scsi_plan {
	enum scsi_direction direction;
	uint32_t len;                   /* octets, at most for data-in */
};

struct scsi_result {
	uint8_t status;
	uint8_t sense[SCSI_SENSE_LEN];
	uint32_t sense_len;
	uint32_t len;                   /* octets of data-in */
};

enum {
	SCSI_GOOD = 0x00,
	SCSI_CHECK_CONDITION = 0x02,
	SCSI_BUSY = 0x08,
	SCSI_TASK_SET_FULL = 0x28,
	SCSI_TASK_ABORTED = 0x40,
};

/* The sense keys and codes that are told elsewhere. */
enum {
	SCSI_KEY_MEDIUM_ERROR = 3,
	SCSI_KEY_ILLEGAL_REQUEST = 5,
	SCSI_KEY_UNIT_ATTENTION = 6,
	SCSI_KEY_ABORTED_COMMAND = 0xb,
	SCSI_ASC_INVALID_OPCODE = 0x2000,
	SCSI_ASC_INVALID_FIELD = 0x2400,
	SCSI_ASC_NEXUS_LOSS = 0x2907,
	SCSI_ASC_RESET = 0x2903,
	SCSI_ASC_DATA_PHASE = 0x4b00,
};

/* A unit over a store. Returns false if the store has no whole block, or more than SCSI addresses. */
bool scsi_unit_init(struct scsi_unit *u, uint32_t block, uint64_t id);
/* A nexus that has just been made: each unit has an attention for it. */
void scsi_nexus_init(struct scsi_nexus *x, struct scsi_unit **units, unsigned nr);
/* The number of a unit as single level LUNs have it, or -1: there is none of it. */
int scsi_lun_number(uint64_t lun);

/* How much data a command moves. A command that will be refused moves none. */
struct scsi_plan scsi_plan(const struct scsi_nexus *x, uint64_t lun, const uint8_t *cdb);
/*
 * Executes it: `data` are the octets from the initiator, as many as were planned, or SCSI_TRANSFER_MAX octets of room for
 * those to it.
 */
void scsi_run(struct scsi_nexus *x, uint64_t lun, const uint8_t *cdb, uint8_t *data, struct scsi_result *r);
/* A status of CHECK CONDITION. */
void scsi_sense(struct scsi_result *r, uint8_t key, uint16_t code);

#endif
