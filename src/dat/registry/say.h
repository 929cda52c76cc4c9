/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the registry tells a human. Nothing, unless DAT_DBG_TYPE asks; then on standard error, or
 * in the system's log when DAT_DBG_DEST is 2 (3: both). Never on standard output, which is the
 * program's.
 */
#ifndef DAT_REGISTRY_SAY_H
#define DAT_REGISTRY_SAY_H

/* The bits of DAT_DBG_TYPE. */
enum dreg_topic {
	DREG_ERROR = 0x01,
	DREG_GENERIC = 0x02,
	DREG_STATIC = 0x04,   /* dat.conf and entries */
	DREG_DYNAMIC = 0x08,  /* providers */
	DREG_PROVIDER = 0x10,
	DREG_CONSUMER = 0x20,
};

/* Asked for if any of the topics is. */
void dreg_say(int topics, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
