/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Segments against the region that they name, and the rights of a bind. Rights of DAT are narrower than those of a
 * device, where a region with remote write is locally writable. Local write includes local read, though: other
 * providers cannot forbid it, and dtest sends from its receive buffers.
 */
#ifndef DAT_CORE_SEGMENT_H
#define DAT_CORE_SEGMENT_H

#include "dat/core/core.h"

/* need: DAT_MEM_PRIV_LOCAL_READ_FLAG or _WRITE_FLAG. */
static inline DAT_RETURN dpr_segment_refuse(DAT_RETURN type, DAT_MEM_PRIV_FLAGS need)
{
	bool write = need & DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	if (type == DAT_PRIVILEGES_VIOLATION)
		return write ? DPR_ERR(type, DAT_PRIVILEGES_WRITE) : DPR_ERR(type, DAT_PRIVILEGES_READ);
	return write ? DPR_ERR(type, DAT_PROTECTION_WRITE) : DPR_ERR(type, DAT_PROTECTION_READ);
}

/* Returns true if [at, at + n) lies in [base, base + length). */
static inline bool dpr_segment_within(uint64_t base, uint64_t length, uint64_t at, uint64_t n)
{
	return at - base <= length && n <= length - (at - base);
}

/* Checks a segment against a region: its zone, its rights, its bounds. */
static inline DAT_RETURN dpr_segment_check(uint64_t base, uint64_t length, DAT_MEM_PRIV_FLAGS priv, bool same_pz,
					   const DAT_LMR_TRIPLET *t, DAT_MEM_PRIV_FLAGS need)
{
	DAT_MEM_PRIV_FLAGS has = priv;

	if (!same_pz)
		return dpr_segment_refuse(DAT_PROTECTION_VIOLATION, need);
	if (priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		has |= DAT_MEM_PRIV_LOCAL_READ_FLAG;
	if (need & ~has)
		return dpr_segment_refuse(DAT_PRIVILEGES_VIOLATION, need);
	if (!dpr_segment_within(base, length, t->virtual_address, t->segment_length))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

/* May a bind to a region with rights `has` give the rights `want`? more: rights of extensions that need local write. */
static inline DAT_RETURN dpr_segment_bind(unsigned int has, unsigned int want, unsigned int more)
{
	if (want & ~(unsigned int)(DAT_MEM_PRIV_ALL_FLAG | more))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if ((want & DAT_MEM_PRIV_REMOTE_READ_FLAG) && !(has & DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	if ((want & (DAT_MEM_PRIV_REMOTE_WRITE_FLAG | more)) && !(has & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	return DAT_SUCCESS;
}

#endif
