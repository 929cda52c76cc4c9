/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rsocket/iov.h"

#include <stdint.h>
#include <string.h>

size_t rs_iov_length(const struct iovec *iov, int nr)
{
	size_t sum = 0;

	for (int i = 0; i < nr; i++)
		sum += iov[i].iov_len;
	return sum;
}

static size_t run(struct rs_cursor *cur, size_t len)
{
	while (cur->at == cur->iov->iov_len) {
		cur->iov++;
		cur->at = 0;
	}
	return cur->iov->iov_len - cur->at < len ? cur->iov->iov_len - cur->at : len;
}

void rs_cursor_out(struct rs_cursor *cur, void *to, size_t len)
{
	for (uint8_t *p = to; len;) {
		size_t n = run(cur, len);

		memcpy(p, (const uint8_t *)cur->iov->iov_base + cur->at, n);
		cur->at += n;
		p += n;
		len -= n;
	}
}

void rs_cursor_in(struct rs_cursor *cur, const void *from, size_t len)
{
	for (const uint8_t *p = from; len;) {
		size_t n = run(cur, len);

		memcpy((uint8_t *)cur->iov->iov_base + cur->at, p, n);
		cur->at += n;
		p += n;
		len -= n;
	}
}
