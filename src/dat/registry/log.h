/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Log lines of the registry. DAT_DBG_TYPE selects them by bits (default: none). They go to standard
 * error, or with DAT_DBG_DEST 2 to the system log (3: both), and never to standard output, which is
 * the program's.
 */
#ifndef DAT_REGISTRY_LOG_H
#define DAT_REGISTRY_LOG_H

/* The bits of DAT_DBG_TYPE. */
enum dreg_topic {
	DREG_ERROR = 0x01,
	DREG_GENERIC = 0x02,
	DREG_STATIC = 0x04,   /* dat.conf and entries */
	DREG_DYNAMIC = 0x08,  /* providers */
	DREG_PROVIDER = 0x10,
	DREG_CONSUMER = 0x20,
};

/* Printed if DAT_DBG_TYPE has one of the topics. */
void dreg_log(int topics, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
