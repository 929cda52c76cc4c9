/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the user-space provider and the kernel module share: rules of DAT as pure code. This room allocates
 * nothing except by the two calls below, takes no lock and knows no verbs handle, so that it is compiled into
 * libdapldapple and, with the kernel's flags, into kdapl.ko.
 */
#ifndef DAT_CORE_CORE_H
#define DAT_CORE_CORE_H

#ifdef __KERNEL__
#include <kdat/kdat.h>

#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <arpa/inet.h>
#include <dat2/udat.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#endif

/* A number in network order. */
#ifdef __KERNEL__
typedef __be16 dpr_be16;
#else
typedef uint16_t dpr_be16;
#endif

#define DPR_ERR(type, sub) (DAT_ERROR((type), (sub)))

/*
 * The argument checks of dat_*_query. Returns INVALID_HANDLE with `sub` if there is no object,
 * INVALID_PARAMETER if `unknown` has bits (those of the mask that the kind does not know) or
 * `param` is NULL, else DAT_SUCCESS.
 */
static inline DAT_RETURN dpr_query_args(const void *object, DAT_RETURN_SUBTYPE sub,
					uint64_t unknown, const void *param)
{
	if (!object)
		return DPR_ERR(DAT_INVALID_HANDLE, sub);
	if (unknown)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return param ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

/* Zeroed memory for n members, or NULL. May sleep. dpr_core_free takes NULL. */
static inline void *dpr_core_alloc(size_t n, size_t size);
static inline void dpr_core_free(void *p);

#ifdef __KERNEL__
static inline void *dpr_core_alloc(size_t n, size_t size)
{
	return kvcalloc(n, size, GFP_KERNEL);
}

static inline void dpr_core_free(void *p)
{
	kvfree(p);
}
#else
static inline void *dpr_core_alloc(size_t n, size_t size)
{
	return calloc(n, size);
}

static inline void dpr_core_free(void *p)
{
	free(p);
}
#endif

#endif
