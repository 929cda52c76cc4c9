/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/cong.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The form in which maps have the address. */
static void key_of(const struct rsp_addr *addr, struct rsp_addr *ret)
{
	*ret = *addr;
	rsp_addr_map(ret);
}

struct rds_map *rds_map_find(struct rds_maps *maps, const struct rsp_addr *addr)
{
	uint32_t nr = atomic_load(&maps->nr);
	struct rsp_addr key;

	key_of(addr, &key);
	for (uint32_t i = 0; i < nr && i < RDS_MAPS; i++)
		if (!memcmp(maps->map[i].addr, key.addr, 16) && maps->map[i].scope == key.scope)
			return &maps->map[i];
	return NULL;
}

struct rds_map *rds_map_make(struct rds_maps *maps, const struct rsp_addr *addr)
{
	struct rds_map *m = rds_map_find(maps, addr);
	uint32_t nr = atomic_load(&maps->nr);
	struct rsp_addr key;

	if (m || nr >= RDS_MAPS)
		return m;
	key_of(addr, &key);
	m = &maps->map[nr];
	memcpy(m->addr, key.addr, 16);
	m->scope = key.scope;
	atomic_store(&maps->nr, nr + 1);
	return m;
}

bool rds_map_test(const struct rds_map *m, uint16_t port)
{
	return atomic_load(&m->bits[port / 8]) >> port % 8 & 1;
}

bool rds_map_set(struct rds_map *m, uint16_t port, bool congested)
{
	uint8_t mask = (uint8_t)(1u << port % 8), old;

	old = congested ? atomic_fetch_or(&m->bits[port / 8], mask) : atomic_fetch_and(&m->bits[port / 8], (uint8_t)~mask);
	return !(old & mask) == congested;
}

void rds_map_put(uint8_t out[WIRE_RDS_MAP_LEN], const struct rds_map *m)
{
	for (unsigned i = 0; i < WIRE_RDS_MAP_LEN; i++)
		out[i] = atomic_load_explicit(&m->bits[i], memory_order_relaxed);
}

uint64_t rds_map_get(struct rds_map *m, const uint8_t in[WIRE_RDS_MAP_LEN])
{
	uint64_t freed = 0;

	for (unsigned i = 0; i < WIRE_RDS_MAP_LEN; i++) {
		uint8_t old = atomic_load_explicit(&m->bits[i], memory_order_relaxed);

		if (old == in[i])
			continue;
		freed |= (uint64_t)(old & ~in[i] & 0xff) << i % 8 * 8;
		atomic_store_explicit(&m->bits[i], in[i], memory_order_relaxed);
	}
	return freed;
}

void rds_maps_changed(struct rds_maps *maps)
{
	atomic_fetch_add(&maps->changes, 1);
	syscall(SYS_futex, &maps->changes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
