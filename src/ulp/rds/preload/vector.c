/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/vector.h"

#include "ulp/rds/record.h"

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void rds_vector(struct rds_vector *ret, const struct rds_record *head, const struct msghdr *m, size_t skip, size_t most)
{
	size_t skipped, n;

	ret->nr = 0;
	ret->len = 0;
	if (head)
		ret->iov[ret->nr++] = (struct iovec){ (void *)(uintptr_t)head, sizeof(*head) };
	for (size_t i = 0; i < m->msg_iovlen && ret->len < most; i++) {
		skipped = smaller(skip, m->msg_iov[i].iov_len);
		skip -= skipped;
		n = smaller(m->msg_iov[i].iov_len - skipped, most - ret->len);
		if (!n)
			continue;
		ret->iov[ret->nr++] = (struct iovec){ (char *)m->msg_iov[i].iov_base + skipped, n };
		ret->len += n;
	}
}
