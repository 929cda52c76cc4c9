/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT 2.0: the machine's types under DAT's names. Linux only. */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#ifdef __KERNEL__
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/types.h>
#else
/* Programs of old rely on these coming along. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#endif

#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT 256
#endif

typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;
typedef unsigned long long DAT_UVERYLONG;
typedef void *DAT_PVOID;
typedef int DAT_COUNT;
typedef DAT_UINT64 DAT_PADDR;
typedef int DAT_FD;

/* As the arguments of socket(). */
typedef struct dat_comm {
	int domain;
	int type;
	int protocol;
} DAT_COMM;

typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;
#define DAT_AF_INET AF_INET
#define DAT_AF_INET6 AF_INET6

#define DAT_IA_HANDLE_TO_UL(a) (unsigned long)(a)
#define DAT_UL_TO_IA_HANDLE(a) (DAT_IA_HANDLE)(a)

#ifndef UINT64_C
#define UINT64_C(c) c##ULL
#endif

#define DAT_API
#define DAT_EXPORT extern

/* The direction marks of the specification; they say nothing to a compiler. */
#ifndef __KERNEL__
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif
#endif

#endif
