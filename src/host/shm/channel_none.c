/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The answers of a link that knows datagrams only. */
#include "host/shm/channel.h"

#include <errno.h>

static enum shm_reach reach(struct link *l, const struct link_flow *f, uint32_t qpn,
			     bool *ret_fetches)
{
	*ret_fetches = false;
	return SHM_REACH_WIRE;
}

static int reserve(struct link *l, const struct link_flow *f, uint32_t qpn, uint32_t bytes,
		   struct shm_reservation *ret)
{
	return -ENOTCONN;
}

static void commit(struct link *l, struct shm_reservation *at, uint32_t bytes)
{
}

static uint64_t taken(struct link *l, const struct link_flow *f, uint32_t qpn)
{
	return UINT64_MAX;
}

static ssize_t fetch(struct link *l, const struct link_rx *rx, const struct iovec *to, int n,
		    const struct iovec *from, int m)
{
	return -ENOTCONN;
}

static uint32_t generation(struct link *l, const struct link_rx *rx, uint32_t index)
{
	return 0;
}

static const struct shm_export *enter(struct link *l, const struct link_flow *f, uint32_t qpn,
				      struct shm_access *ret)
{
	return NULL;
}

static ssize_t reach_in(const struct shm_access *v, uint64_t addr, const struct iovec *iov, int n,
			bool write)
{
	return -ENOTCONN;
}

static uint8_t *attached(const struct shm_access *v, uint32_t id, uint64_t off, uint64_t len)
{
	return NULL;
}

static void export_area(struct link *l, const struct link_rx *rx, uint32_t id)
{
}

static void nothing(struct link *l)
{
}

static int next(struct link *l, struct link_rx *v, int max)
{
	return -EAGAIN;
}

const struct shm_channel_ops shm_channel_none = {
	.reach = reach,
	.reserve = reserve,
	.commit = commit,
	.show = nothing,
	.tell = nothing,
	.taken = taken,
	.fetch = fetch,
	.generation = generation,
	.release = nothing,
	.enter = enter,
	.reach_in = reach_in,
	.attached = attached,
	.leave = nothing,
	.export_area = export_area,
	.quiesce = nothing,
	.forget = nothing,
	.next = next,
};
