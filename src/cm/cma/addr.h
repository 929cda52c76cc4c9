/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The caller's socket addresses <-> the one form that managers and hosts know. */
#ifndef CM_CMA_ADDR_H
#define CM_CMA_ADDR_H

#include "cm/cma.h"

#include <sys/socket.h>

/* family: AF_INET, AF_INET6 or AF_IB; space: the port space of a service ID given, 0 = none. */
struct cma_addr {
	int family;
	struct link_end end;
	uint16_t space;
};

/* 0 or -EINVAL (NULL, another family) or -EPROTONOSUPPORT (a service ID outside the port spaces
 * of IP). Never reads past the family's own size. */
int cma_addr_read(const struct sockaddr *sa, struct cma_addr *ret);
/* The same, and a GID becomes the address of its port: what identifiers, hosts and managers know. */
int cma_addr_take(const struct cma_host *host, const struct sockaddr *sa, struct cma_addr *ret);
/* space: for AF_IB. */
void cma_addr_write(int family, const struct link_end *end, enum cm_ps space,
		    struct sockaddr_storage *ret);
/* The any-address of the same IP version. */
void cma_addr_set_any(struct link_end *e, bool v4);
/* 127.0.0.1 or ::1 */
void cma_addr_set_loopback(struct link_end *e, bool v4);
/* As text for log lines; ret has room for `size`. Returns ret. */
const char *cma_addr_text(const struct link_end *e, char *ret, size_t size);
#define CMA_TEXT 64

#endif
