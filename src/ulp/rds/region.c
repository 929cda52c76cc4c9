/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/region.h"

#include "ulp/rds/header.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ADAPTERS_MAX 64

struct region {
	struct ut_list node;
	struct ibv_mr *mr;
	void *pages;
	size_t len;                     /* of the pages */
	bool use_once;
};

struct ibv_pd *rds_region_pd(struct ibv_context *verbs)
{
	static struct {
		struct ibv_context *verbs;
		struct ibv_pd *pd;
	} adapters[ADAPTERS_MAX];

	for (unsigned i = 0; i < ADAPTERS_MAX; i++) {
		if (!adapters[i].pd) {
			adapters[i].verbs = verbs;
			adapters[i].pd = ibv_alloc_pd(verbs);
		}
		if (adapters[i].verbs == verbs)
			return adapters[i].pd;
	}
	errno = ENOSPC;
	return NULL;
}

static struct region *find(const struct ut_list *regions, uint32_t key)
{
	struct region *r;

	ut_list_each(r, regions, node)
		if (r->mr->rkey == key)
			return r;
	return NULL;
}

static void drop(struct region *r)
{
	ut_list_del(&r->node);
	if (r->mr)
		ibv_dereg_mr(r->mr);
	if (r->pages != MAP_FAILED)
		munmap(r->pages, r->len);
	free(r);
}

/* A file that can shrink would end the carrier by SIGBUS. */
static bool is_lasting(int fd)
{
	int kept = fcntl(fd, F_GET_SEALS);

	return kept >= 0 && kept & F_SEAL_SHRINK;
}

static unsigned length_of(const struct ut_list *regions)
{
	unsigned n = 0;

	for (const struct ut_list *e = regions->next; e != regions; e = e->next)
		n++;
	return n;
}

static int check(const struct ut_list *regions, const struct rds_region_spec *spec, int fd)
{
	if (!spec->len || spec->len > RDS_MESSAGE_MAX || spec->addr + spec->len < spec->addr || !is_lasting(fd))
		return -EINVAL;
	return length_of(regions) < RDS_REGIONS_MAX ? 0 : -EAGAIN;
}

int rds_region_make(struct ut_list *regions, struct ibv_context *verbs, const struct rds_region_spec *spec, int fd, uint64_t *ret_cookie)
{
	const unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t offset = spec->addr & (page - 1);
	struct ibv_pd *pd = rds_region_pd(verbs);
	struct region *r;
	int e = pd ? check(regions, spec, fd) : -errno;

	if (e)
		return e;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	ut_list_init(&r->node);
	r->len = (offset + spec->len + page - 1) & ~(page - 1);
	r->use_once = spec->use_once;
	r->pages = mmap(NULL, r->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(spec->addr - offset));
	if (r->pages != MAP_FAILED)
		r->mr = ibv_reg_mr_iova(pd, (uint8_t *)r->pages + offset, spec->len, offset, (int)access);
	if (!r->mr) {
		e = -errno;
		drop(r);
		return e;
	}
	ut_list_add_tail(regions, &r->node);
	*ret_cookie = r->mr->rkey | offset << 32;
	return 0;
}

bool rds_region_has(const struct ut_list *regions, uint32_t key)
{
	return find(regions, key) != NULL;
}

bool rds_region_free(struct ut_list *regions, uint32_t key)
{
	struct region *r = find(regions, key);

	if (r)
		drop(r);
	return r != NULL;
}

bool rds_region_used(struct ut_list *regions, uint32_t key)
{
	struct region *r = find(regions, key);

	if (!r || !r->use_once)
		return false;
	drop(r);
	return true;
}

void rds_region_free_all(struct ut_list *regions)
{
	struct region *r, *tmp;

	ut_list_each_safe(r, tmp, regions, node)
		drop(r);
}
