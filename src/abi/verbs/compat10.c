/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ABI from before 2007 (node 1.0), with structures of its own. No known binary of a distribution imports
 * one of these. A loader may still resolve the names, and a program that calls one gets an error and does
 * not crash. Arguments are not read, so none are declared. No header declares these functions.
 */
#include "util/export.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define OLD(type, name)          \
	type old_##name(void);   \
	UT_EXPORT UT_SYMVER("ibv_" #name "@IBVERBS_1.0") type old_##name(void)

#define NO_POINTER(name)         \
	OLD(void *, name)        \
	{                        \
		errno = ENOSYS;  \
		return NULL;     \
	}

#define NO_INT(name)             \
	OLD(int, name)           \
	{                        \
		errno = ENOSYS;  \
		return ENOSYS;   \
	}

#define NO_MINUS(name)           \
	OLD(int, name)           \
	{                        \
		errno = ENOSYS;  \
		return -1;       \
	}

#define NOTHING(name)            \
	OLD(void, name)          \
	{                        \
	}

NOTHING(ack_async_event)
NOTHING(ack_cq_events)
NO_POINTER(alloc_pd)
NO_INT(attach_mcast)
NO_MINUS(close_device)
NO_POINTER(create_ah)
NO_POINTER(create_cq)
NO_POINTER(create_qp)
NO_POINTER(create_srq)
NO_INT(dealloc_pd)
NO_INT(dereg_mr)
NO_INT(destroy_ah)
NO_INT(destroy_cq)
NO_INT(destroy_qp)
NO_INT(destroy_srq)
NO_INT(detach_mcast)
NOTHING(free_device_list)
NO_MINUS(get_async_event)
NO_MINUS(get_cq_event)

OLD(uint64_t, get_device_guid)
{
	return 0;
}

NO_POINTER(get_device_list)
NO_POINTER(get_device_name)
NO_INT(modify_qp)
NO_INT(modify_srq)
NO_POINTER(open_device)
NO_INT(query_device)
NO_MINUS(query_gid)
NO_MINUS(query_pkey)
NO_INT(query_port)
NO_INT(query_qp)
NO_INT(query_srq)
NO_POINTER(reg_mr)
NO_INT(resize_cq)

/* Providers of that time registered themselves through this one. */
void old_register_driver(void);
UT_EXPORT UT_SYMVER("ibv_register_driver@IBVERBS_1.1") void old_register_driver(void)
{
}
