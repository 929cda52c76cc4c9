/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/buf.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096

void rpr_bufs_init(struct rpr_bufs *b, struct ibv_pd *pd, size_t head, size_t room, unsigned nr_max, bool windows)
{
	*b = (struct rpr_bufs){ .pd = pd, .head = head, .room = room, .nr_max = nr_max,
				.access = IBV_ACCESS_LOCAL_WRITE };
	if (windows)
		b->access |= IBV_ACCESS_MW_BIND;
	/* An RNIC writes the data of a Read by the tag of its target. */
	if (pd->context->device->transport_type == IBV_TRANSPORT_IWARP)
		b->access |= IBV_ACCESS_REMOTE_WRITE;
}

static void destroy(struct rpr_buf *buf)
{
	if (buf->mr)
		ibv_dereg_mr(buf->mr);
	munmap(buf->mem, buf->size);
	free(buf);
}

void rpr_bufs_fini(struct rpr_bufs *b)
{
	struct rpr_buf *buf;

	while ((buf = b->free)) {
		b->free = buf->next;
		destroy(buf);
	}
}

/* Pages that no message has reached take no memory. */
static struct rpr_buf *create(struct rpr_bufs *b)
{
	struct rpr_buf *buf = calloc(1, sizeof(*buf));
	void *mem;

	if (!buf)
		return NULL;
	buf->head = b->head;
	buf->size = (b->head + b->room + PAGE - 1) / PAGE * PAGE;
	mem = mmap(NULL, buf->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED) {
		free(buf);
		return NULL;
	}
	buf->mem = mem;
	buf->mr = ibv_reg_mr(b->pd, mem, buf->size, b->access);
	if (!buf->mr) {
		destroy(buf);
		return NULL;
	}
	b->nr++;
	return buf;
}

struct rpr_buf *rpr_buf_get(struct rpr_bufs *b)
{
	struct rpr_buf *buf = b->free;

	if (buf)
		b->free = buf->next;
	else if (b->nr < b->nr_max)
		buf = create(b);
	if (!buf)
		return NULL;
	buf->data = buf->mem + buf->head;
	buf->len = 0;
	buf->next = NULL;
	return buf;
}

void rpr_buf_put(struct rpr_bufs *b, struct rpr_buf *buf)
{
	if (!buf)
		return;
	buf->next = b->free;
	b->free = buf;
}
