/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/job.h"

#include "ulp/rds/header.h"
#include "ulp/rds/record.h"
#include "ulp/rds/store.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <unistd.h>

static bool is_good(const struct rds_work *w)
{
	if (w->kind <= RDS_WORK_NONE || w->kind > RDS_WORK_CSWP || !w->nr_pieces || w->nr_pieces > RDS_WORK_PIECES)
		return false;
	return w->kind < RDS_WORK_FADD ? w->bytes && w->bytes <= RDS_MESSAGE_MAX : w->bytes == 8 && w->nr_pieces == 1;
}

/* Returns 0 or a negative errno. */
static int read_at(int fd, void *to, size_t len, uint64_t *at)
{
	ssize_t n;

	for (size_t got = 0; got < len; got += (size_t)n, *at += (uint64_t)n) {
		n = pread(fd, (uint8_t *)to + got, len - got, (off_t)*at);
		if (n <= 0)
			return n ? -errno : -EPROTO;
	}
	return 0;
}

static bool has_all_octets(const struct rds_job *j)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < j->work.nr_pieces; i++) {
		if (j->pieces[i].bytes > j->work.bytes)
			return false;
		sum += j->pieces[i].bytes;
	}
	return sum == j->work.bytes;
}

struct rds_job *rds_job_new(const struct rds_work *w, int fd, uint64_t *at)
{
	bool good = is_good(w) && fd >= 0;
	struct rds_job *j = good ? rds_store_get(sizeof(*j) + w->nr_pieces * sizeof(j->pieces[0]) + w->bytes) : NULL;
	int e;

	errno = good ? ENOMEM : EPROTO;
	if (!j)
		return NULL;
	*j = (struct rds_job){ .work = *w, .uses = 1 };
	e = read_at(fd, j->pieces, w->nr_pieces * sizeof(j->pieces[0]), at);
	if (!e)
		e = has_all_octets(j) ? read_at(fd, rds_job_memory(j), rds_work_out(w), at) : -EPROTO;
	if (!e)
		return j;
	rds_job_put(j);
	errno = -e;
	return NULL;
}

uint8_t *rds_job_memory(struct rds_job *j)
{
	return (uint8_t *)&j->pieces[j->work.nr_pieces];
}

int rds_job_register(struct rds_job *j, struct ibv_pd *pd)
{
	if (!j->mr)
		j->mr = ibv_reg_mr(pd, rds_job_memory(j), j->work.bytes, IBV_ACCESS_LOCAL_WRITE);
	return j->mr ? 0 : -errno;
}

void rds_job_use(struct rds_job *j)
{
	j->uses++;
}

void rds_job_put(struct rds_job *j)
{
	if (!j || --j->uses)
		return;
	if (j->mr)
		ibv_dereg_mr(j->mr);
	atomic_store(&j->kept, 0);
	rds_store_put(j);
}

int rds_job_result(struct rds_job *j)
{
	struct iovec iov[2] = { { j->pieces, j->work.nr_pieces * sizeof(j->pieces[0]) }, { rds_job_memory(j), rds_work_in(&j->work) } };

	return rds_memfd(iov, 2);
}
