/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the status and the sense data of a command mean for an initiator. */
#ifndef ULP_SRP_SENSE_H
#define ULP_SRP_SENSE_H

#include "ulp/srp/initiator.h"

/* The unit tells of something that has happened to it: the command was not executed, and may be sent again at once. */
bool srp_has_attention(const struct srp_io *io);
/* The unit takes no command now. */
bool srp_is_busy(const struct srp_io *io);
/* The unit does not know the command, or a field of it. */
bool srp_is_unsupported(const struct srp_io *io);
/* Status and sense in words: "CHECK CONDITION, ILLEGAL REQUEST (5/24/00)". Returns text. */
const char *srp_status_text(char *text, size_t len, const struct srp_io *io);

#endif
