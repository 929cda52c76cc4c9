/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/gateway/place.h"
#include "ulp/place.h"

#include <string.h>

#define RDMA_PORT "20049"       /* nfsrdma */
#define TCP_PORT "2049"         /* nfs */

const char *rpg_place_read(struct rpg_place *p, const char *text)
{
	const char *rest = strchr(text, ':');
	size_t name = rest ? (size_t)(rest - text) : strlen(text);

	p->is_rdma = name == 4 && !memcmp(text, "rdma", 4);
	if (!p->is_rdma && (name != 3 || memcmp(text, "tcp", 3)))
		return "it begins with neither rdma: nor tcp:";
	return ulp_addr_read(&p->addr, &p->len, rest ? rest + 1 : "", p->is_rdma ? RDMA_PORT : TCP_PORT);
}
