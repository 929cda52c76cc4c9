/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The caller's socket addresses <-> the one form that managers and hosts know. */
#ifndef CM_CMA_ADDR_H
#define CM_CMA_ADDR_H

#include "cm/cma.h"

#include <sys/socket.h>

/* family: AF_INET, AF_INET6 or AF_IB; space: the port space of a service ID given, 0 = none; service: a service ID that is
 * none of a port, 0 = none. */
struct cma_addr {
	int family;
	struct link_end end;
	uint16_t space;
	uint64_t service;
};

/* 0 or -EINVAL (NULL, another family) or -EPROTONOSUPPORT (a service ID of 32 bits outside the port spaces
 * of IP, or a part of a longer one). Never reads past the family's own size. */
int cma_addr_read(const struct sockaddr *sa, struct cma_addr *ret);
/* The same, and a GID becomes the address of its port: what identifiers, hosts and managers know. */
int cma_addr_take(const struct cma_host *host, const struct sockaddr *sa, struct cma_addr *ret);
/* service: for AF_IB. */
void cma_addr_write(int family, const struct link_end *end, uint64_t service,
		    struct sockaddr_storage *ret);
/* The any-address of the same IP version. */
void cma_addr_set_any(struct link_end *e, bool v4);
/* 127.0.0.1 or ::1 */
void cma_addr_set_loopback(struct link_end *e, bool v4);
/* As text for log lines; ret has room for `size`. Returns ret. */
const char *cma_addr_text(const struct link_end *e, char *ret, size_t size);
#define CMA_TEXT 64

#endif
