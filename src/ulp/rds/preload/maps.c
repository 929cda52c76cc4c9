/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/maps.h"

#include "ulp/rds/preload/ask.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* Those of the carrier that there is now, or NULL. */
static struct rds_maps *map_them(void)
{
	struct rds_request q = { .op = RDS_OP_MAPS };
	struct rds_answer a;
	struct rds_maps *maps;
	int fd, r = rds_ask(&q, -1, &a, &fd);

	errno = r ? -r : ENOMEM; /* without a descriptor the carrier has none that is free */
	if (fd < 0)
		return NULL;
	maps = mmap(NULL, sizeof(*maps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return maps == MAP_FAILED ? NULL : maps;
}

/* Those of a carrier that has ended stay mapped, since another thread may wait on them. */
struct rds_maps *rds_maps(uint32_t generation)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct rds_maps *maps;
	struct rds_maps *r;

	pthread_mutex_lock(&lock);
	r = maps;
	if (!r || r->generation != generation) {
		r = map_them();
		if (r && r->generation == generation) {
			maps = r;
		} else if (r) {
			munmap(r, sizeof(*r));
			r = NULL;
			errno = ESTALE;
		}
	}
	pthread_mutex_unlock(&lock);
	return r;
}
