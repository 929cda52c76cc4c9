/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtl.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define ASYNC_QLEN 16

int dtl_ia_open(struct dtl_ia *ia, const char *name)
{
	DAT_RETURN r;

	*ia = (struct dtl_ia){ .name = name, .async = DAT_HANDLE_NULL };
	r = dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, ASYNC_QLEN, &ia->async, &ia->ia);
	if (r != DAT_SUCCESS) {
		ia->ia = DAT_HANDLE_NULL;
		dtl_complain("cannot open the IA %s (%s): no test runs; name it in dat.conf or DAT_OVERRIDE, "
			     "or give another one", name, dtl_strerror(r));
		return -1;
	}
	if (dtl_check(dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_ALL, &ia->attr,
				   DAT_PROVIDER_FIELD_ALL, &ia->prov), "dat_ia_query") != 0 ||
	    dtl_check(dat_pz_create(ia->ia, &ia->pz), "dat_pz_create") != 0) {
		dat_ia_close(ia->ia, DAT_CLOSE_ABRUPT_FLAG);
		ia->ia = DAT_HANDLE_NULL;
		return -1;
	}
	return 0;
}

int dtl_ia_close(struct dtl_ia *ia)
{
	int bad;

	if (ia->ia == DAT_HANDLE_NULL)
		return 0;
	/* Gracefully, which fails if a test left an object behind. */
	bad = dtl_check(dat_pz_free(ia->pz), "dat_pz_free");
	if (!bad)
		bad = dtl_check(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	if (bad)
		dat_ia_close(ia->ia, DAT_CLOSE_ABRUPT_FLAG);
	ia->ia = DAT_HANDLE_NULL;
	return bad;
}

int dtl_mem_make(struct dtl_mem *m, struct dtl_ia *ia, uint64_t size, DAT_MEM_PRIV_FLAGS rights)
{
	*m = (struct dtl_mem){ .size = size, .lmr = DAT_HANDLE_NULL };
	if (posix_memalign((void **)&m->start, 4096, size) != 0) {
		m->start = NULL;
		dtl_complain("no memory for buffers of %llu bytes: the test fails; choose smaller ones, or "
			     "raise the limit on memory", (unsigned long long)size);
		return -1;
	}
	memset(m->start, 0, size);
	if (dtl_check(dtl_lmr_create(ia->ia, m->start, size, ia->pz, rights, &m->lmr, &m->context,
				     &m->remote), "dat_lmr_create") == 0)
		return 0;
	free(m->start);
	*m = (struct dtl_mem){ .lmr = DAT_HANDLE_NULL };
	return -1;
}

int dtl_mem_drop(struct dtl_mem *m)
{
	int bad = 0;

	if (m->lmr != DAT_HANDLE_NULL)
		bad = dtl_check(dat_lmr_free(m->lmr), "dat_lmr_free");
	free(m->start);
	*m = (struct dtl_mem){ .lmr = DAT_HANDLE_NULL };
	return bad;
}

int dtl_resolve(const char *host, struct sockaddr_storage *ret)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int r = getaddrinfo(host, NULL, &hints, &list);

	if (r != 0) {
		dtl_complain("host %s: no address (%s): no test runs; give an address, or correct the name",
			     host, gai_strerror(r));
		return -1;
	}
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}
