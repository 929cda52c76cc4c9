/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/sense.h"
#include "ulp/srp/scsi.h"

#include <stdio.h>

/* Sense data in fixed or in descriptor format (SPC-4, 4.5). */
static bool is_fixed(const struct srp_io *io)
{
	return io->sense_len >= 14 && (io->sense[0] & 0x7e) == 0x70;
}

static unsigned key_of(const struct srp_io *io)
{
	return is_fixed(io) ? io->sense[2] & 15 : io->sense_len >= 4 ? io->sense[1] & 15 : 0;
}

/* Additional sense code and qualifier. */
static uint16_t code_of(const struct srp_io *io)
{
	unsigned at = is_fixed(io) ? 12 : 2;

	return io->sense_len >= 4 ? (uint16_t)(io->sense[at] << 8 | io->sense[at + 1]) : 0;
}

bool srp_has_attention(const struct srp_io *io)
{
	return io->status == SCSI_CHECK_CONDITION && key_of(io) == SCSI_KEY_UNIT_ATTENTION;
}

bool srp_is_busy(const struct srp_io *io)
{
	return io->status == SCSI_BUSY || io->status == SCSI_TASK_SET_FULL;
}

bool srp_is_unsupported(const struct srp_io *io)
{
	return io->status == SCSI_CHECK_CONDITION && key_of(io) == SCSI_KEY_ILLEGAL_REQUEST &&
	       (code_of(io) == SCSI_ASC_INVALID_OPCODE || code_of(io) == SCSI_ASC_INVALID_FIELD);
}

const char *srp_status_text(char *text, size_t len, const struct srp_io *io)
{
	static const char *const keys[] = { "NO SENSE", "RECOVERED ERROR", "NOT READY", "MEDIUM ERROR", "HARDWARE ERROR",
		"ILLEGAL REQUEST", "UNIT ATTENTION", "DATA PROTECT", "BLANK CHECK", "VENDOR SPECIFIC", "COPY ABORTED",
		"ABORTED COMMAND", "RESERVED", "VOLUME OVERFLOW", "MISCOMPARE", "COMPLETED" };

	if (io->status != SCSI_CHECK_CONDITION)
		snprintf(text, len, "status %#x%s", io->status, io->status == SCSI_BUSY ? ", BUSY" :
			 io->status == SCSI_TASK_SET_FULL ? ", TASK SET FULL" : io->status == 0x18 ? ", RESERVATION CONFLICT" : "");
	else if (io->sense_len < 4)
		snprintf(text, len, "CHECK CONDITION without sense data");
	else
		snprintf(text, len, "CHECK CONDITION, %s (%x/%02x/%02x)", keys[key_of(io)], key_of(io), code_of(io) >> 8,
			 code_of(io) & 0xff);
	return text;
}
