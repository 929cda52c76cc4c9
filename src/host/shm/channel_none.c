/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The channel that reaches no process, and the slots of channels without direct access. */
#include "host/shm/channel.h"

#include <errno.h>
#include <stddef.h>

static enum shm_reach reach(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn,
			    bool *ret_fetches)
{
	*ret_fetches = false;
	return SHM_REACH_WIRE;
}

static int reserve(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint32_t bytes,
		   struct shm_reservation *ret)
{
	return -ENOTCONN;
}

static void commit(struct shm_channel *c, struct shm_reservation *at, uint32_t bytes)
{
}

static uint64_t consumed(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	return UINT64_MAX;
}

static ssize_t fetch(struct shm_channel *c, const struct shm_message *m, const struct iovec *to,
		     int n, const struct iovec *from, int k)
{
	return -ENOTCONN;
}

static uint32_t generation(struct shm_channel *c, const struct shm_message *m, uint32_t index)
{
	return 0;
}

static int poll_none(struct shm_channel *c, struct shm_message *v, int max)
{
	return 0;
}

static int poll_fast(struct shm_channel *c, struct shm_message *v, int max)
{
	return -EAGAIN;
}

const struct shm_export *shm_channel_default_access_begin(struct shm_channel *c,
							  const struct ut_flow *f, uint32_t qpn,
							  struct shm_access *ret)
{
	return NULL;
}

ssize_t shm_channel_default_access_copy(const struct shm_access *v, uint64_t addr,
					const struct iovec *iov, int n, bool write)
{
	return -ENOTCONN;
}

uint8_t *shm_channel_default_access_attached(const struct shm_access *v, uint32_t id, uint64_t off,
					     uint64_t len)
{
	return NULL;
}

void shm_channel_default_export_area(struct shm_channel *c, const struct shm_message *m, uint32_t id)
{
}

void shm_channel_default_nothing(struct shm_channel *c)
{
}

static const struct shm_channel_ops none = {
	.reach = reach,
	.reserve = reserve,
	.commit = commit,
	.flush = shm_channel_default_nothing,
	.notify = shm_channel_default_nothing,
	.consumed = consumed,
	.fetch = fetch,
	.generation = generation,
	.poll = poll_none,
	.poll_fast = poll_fast,
	.release = shm_channel_default_nothing,
	.access_begin = shm_channel_default_access_begin,
	.access_copy = shm_channel_default_access_copy,
	.access_attached = shm_channel_default_access_attached,
	.access_end = shm_channel_default_nothing,
	.export_area = shm_channel_default_export_area,
	.quiesce = shm_channel_default_nothing,
	.forget = shm_channel_default_nothing,
};

struct shm_channel shm_channel_none = { .ops = &none };
