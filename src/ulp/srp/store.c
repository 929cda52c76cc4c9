/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static int give_up(struct srp_store *s)
{
	int err = errno;

	close(s->fd);
	s->fd = -1;
	return -err;
}

int srp_store_open(struct srp_store *s, const char *path, bool read_only)
{
	off_t end;

	*s = (struct srp_store){ .fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC), .read_only = read_only };
	if (s->fd < 0)
		return -errno;
	if (flock(s->fd, (read_only ? LOCK_SH : LOCK_EX) | LOCK_NB))
		return give_up(s);
	end = lseek(s->fd, 0, SEEK_END);
	if (end < 0)
		return give_up(s);
	s->len = (uint64_t)end;
	return 0;
}

int srp_store_memory(struct srp_store *s, uint64_t len)
{
	*s = (struct srp_store){ .fd = memfd_create("srp", MFD_CLOEXEC), .len = len };
	if (s->fd < 0)
		return -errno;
	return ftruncate(s->fd, (off_t)len) ? give_up(s) : 0;
}

int srp_store_read(const struct srp_store *s, void *at, size_t len, uint64_t offset)
{
	uint8_t *p = at;

	while (len) {
		ssize_t n = pread(s->fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO; /* the file has been cut */
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int srp_store_write(const struct srp_store *s, const void *at, size_t len, uint64_t offset)
{
	const uint8_t *p = at;

	while (len) {
		ssize_t n = pwrite(s->fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int write_zeroes(const struct srp_store *s, uint64_t offset, uint64_t len)
{
	static const uint8_t zeroes[65536];
	int r = 0;

	while (len && !r) {
		size_t n = len < sizeof(zeroes) ? (size_t)len : sizeof(zeroes);

		r = srp_store_write(s, zeroes, n, offset);
		offset += n;
		len -= n;
	}
	return r;
}

int srp_store_zero(const struct srp_store *s, uint64_t offset, uint64_t len, bool release)
{
	int how = FALLOC_FL_KEEP_SIZE | (release ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE);

	if (!len || !fallocate(s->fd, how, (off_t)offset, (off_t)len))
		return 0;
	return errno == EOPNOTSUPP || errno == EINVAL || errno == ENODEV ? write_zeroes(s, offset, len) : -errno;
}

int srp_store_sync(const struct srp_store *s)
{
	return !fdatasync(s->fd) || errno == EINVAL || errno == EROFS ? 0 : -errno;
}
