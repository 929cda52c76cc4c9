/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the sources of tools/dat need of C's library and of user DAT, in the kernel. kernel/stage gives each of their
 * system headers this text. A run (session.h) is a command line with its threads and its output.
 */
#ifndef KDAPLTEST_SHIM_H
#define KDAPLTEST_SHIM_H

#include <kdat/kdat.h>

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/* --- memory --- */

static inline void *kdt_zalloc(size_t n, size_t size)
{
	return kvcalloc(n, size, GFP_KERNEL);
}

static inline int kdt_memalign(void **ret, size_t size)
{
	*ret = vzalloc(PAGE_ALIGN(size));
	return *ret ? 0 : -ENOMEM;
}

#define calloc(n, size) kdt_zalloc(n, size)
#define malloc(size) kdt_zalloc(1, size)
#define free(p) kvfree(p)
#define posix_memalign(ret, align, size) kdt_memalign(ret, size)
#define qsort(base, n, size, compare) sort(base, n, size, compare, NULL)
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 32
#define MAP_NORESERVE 0x4000
#define MAP_FAILED NULL
#define mmap(at, size, prot, flags, fd, offset) vzalloc(size)
#define munmap(p, size) vfree(p)

/* --- output --- */

typedef struct kdt_file FILE;
#define stdout ((FILE *)NULL)
#define stderr ((FILE *)NULL)
__printf(1, 2) int kdt_printf(const char *format, ...);
#define printf(...) kdt_printf(__VA_ARGS__)
#define fprintf(to, ...) ((void)(to), kdt_printf(__VA_ARGS__))
#define fflush(to) ((void)(to))

/* --- threads, time --- */

typedef struct { atomic_t held; } pthread_mutex_t;
typedef struct { atomic_t turns; } pthread_cond_t;
typedef struct kdt_thread *pthread_t;
typedef struct { bool detached; } pthread_attr_t;
#define PTHREAD_MUTEX_INITIALIZER { ATOMIC_INIT(0) }
#define PTHREAD_COND_INITIALIZER { ATOMIC_INIT(0) }
#define PTHREAD_CREATE_DETACHED 1
void kdt_lock(pthread_mutex_t *m);
void kdt_unlock(pthread_mutex_t *m);
void kdt_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
void kdt_cond_broadcast(pthread_cond_t *c);
int kdt_thread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
void kdt_thread_join(pthread_t t);
#define pthread_mutex_lock kdt_lock
#define pthread_mutex_unlock kdt_unlock
#define pthread_cond_wait kdt_cond_wait
#define pthread_cond_broadcast kdt_cond_broadcast
#define pthread_create kdt_thread_create
#define pthread_join(t, ret) kdt_thread_join(t)
#define pthread_attr_init(a) ((a)->detached = false)
#define pthread_attr_setdetachstate(a, d) ((a)->detached = true)
#define pthread_attr_destroy(a) ((void)(a))
#define sched_yield() cond_resched()

#define timespec kdt_timespec
struct kdt_timespec {
	long tv_sec, tv_nsec;
};
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
void kdt_clock(int clock, struct kdt_timespec *ts);
void kdt_sleep(const struct kdt_timespec *ts);
#define clock_gettime(clock, ts) kdt_clock(clock, ts)
#define nanosleep(ts, left) kdt_sleep(ts)

/* --- words and numbers --- */

/* One of some buffers of the thread, of KDT_TEXT bytes. */
enum { KDT_TEXT = 160 };
char *kdt_text(void);

struct kdt_getopt {
	char *arg;
	int index;
	int error;
};
struct kdt_getopt *kdt_getopt_state(void);
#define optarg (kdt_getopt_state()->arg)
#define optind (kdt_getopt_state()->index)
#define errno (kdt_getopt_state()->error)
int kdt_getopt(int argc, char **argv, const char *letters);
#define getopt kdt_getopt
long kdt_strtol(const char *text, char **end, int base);
#define strtol kdt_strtol
#define atoi(text) ((int)kdt_strtol(text, NULL, 10))

/* --- addresses --- */

typedef int socklen_t;
struct addrinfo {
	int ai_socktype;
	socklen_t ai_addrlen;
	struct sockaddr *ai_addr;
	struct sockaddr_storage storage;
};
/* Numeric addresses only: the program resolves names. */
int kdt_getaddrinfo(const char *host, struct addrinfo **ret);
#define getaddrinfo(host, port, hints, ret) ((void)(hints), kdt_getaddrinfo(host, ret))
#define freeaddrinfo(list) kfree(list)
#define gai_strerror(r) "no numeric address"
/* In plain integers, as C's library has them. */
#undef htonl
#undef ntohl
#define htonl(x) ((__force u32)cpu_to_be32(x))
#define ntohl(x) be32_to_cpu((__force __be32)(x))
#define htobe64(x) ((__force u64)cpu_to_be64(x))
#define be64toh(x) be64_to_cpu((__force __be64)(x))

/* --- user DAT --- */

#define _UDAT_H_

typedef DAT_HANDLE DAT_CNO_HANDLE;
typedef int DAT_OS_WAIT_PROXY_AGENT;
#define DAT_OS_WAIT_PROXY_AGENT_NULL 0
/* There are none in the kernel. */
#define dat_cno_create(ia, agent, cno) DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
#define dat_cno_wait(cno, us, evd) ((void)(evd), DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE))
#define dat_cno_free(cno) DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)

/* An EVD with an upcall that wakes the waiting thread. */
DAT_RETURN kdt_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
			  DAT_EVD_HANDLE *evd);
DAT_RETURN kdt_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_COUNT threshold, DAT_EVENT *ev, DAT_COUNT *more);
DAT_RETURN kdt_evd_free(DAT_EVD_HANDLE evd);
#define dat_evd_create kdt_evd_create
#define dat_evd_wait kdt_evd_wait
#undef dat_evd_free
#define dat_evd_free kdt_evd_free

static inline DAT_RETURN kdt_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
					DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS rights, DAT_VA_TYPE va,
					DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *remote,
					DAT_VLEN *size, DAT_VADDR *address)
{
	return dat_lmr_kcreate(ia, type, region, length, pz, rights, va, DAT_MEM_OPTIMIZE_DONT_CARE, lmr, context,
			       remote, size, address);
}
#define dat_lmr_create kdt_lmr_create

#endif
