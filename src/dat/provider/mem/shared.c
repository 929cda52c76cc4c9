/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/shared.h"

#include "dat/provider/ia/log.h"
#include "dat/provider/ia/obj.h"
#include "util/filesize.h"
#include "util/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The memory behind an address: a piece of a file, of memfd, or of a segment of shared memory. */
struct memory {
	uint64_t dev, inode, offset;
};

/* What the file of a cookie holds. Its name is the cookie. */
struct record {
	uint64_t length;
	struct memory memory;
};

/*
 * Bytes of the file that are locked: HELD for reading by each region, GATE by whoever looks at the file. The
 * locks are those of open files, which end with their last process.
 */
enum { HELD, GATE };
enum { GATE_TRIES = 2000 }; /* 1 ms each: longer than a process is off its processor */

struct mapping {
	uint64_t start, end;
	bool shared;
	struct memory at; /* of start */
};

static bool parse(const char *line, struct mapping *m)
{
	unsigned int major, minor;
	char rights[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &m->start, &m->end, rights,
		   &m->at.offset, &major, &minor, &m->at.inode) != 7)
		return false;
	m->at.dev = (uint64_t)major << 32 | minor;
	m->shared = rights[3] == 's';
	return true;
}

static bool continues(const struct memory *all, uint64_t bytes, const struct mapping *m)
{
	return m->at.dev == all->dev && m->at.inode == all->inode && m->at.offset == all->offset + bytes;
}

/* Returns 0, -ENOENT if a part is private, of other memory or not mapped, or another negative errno. */
static int find_memory(uint64_t addr, uint64_t length, struct memory *ret)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t at = addr, end = addr + length;
	struct mapping m;
	char line[4500];

	if (!f)
		return -errno;
	while (at < end && fgets(line, sizeof(line), f)) {
		if (!parse(line, &m) || m.end <= at)
			continue;
		if (m.start > at || !m.shared)
			break;
		m.at.offset += at - m.start;
		if (at == addr)
			*ret = m.at;
		else if (!continues(ret, at - addr, &m))
			break;
		at = m.end;
	}
	fclose(f);
	return at < end ? -ENOENT : 0;
}

static int path_of(const char *cookie, char *path, size_t size)
{
	char dir[UT_RUNDIR_MAX];
	size_t n;
	int r = ut_rundir(dir, sizeof(dir), NULL, 0);

	if (r < 0)
		return r;
	n = (size_t)snprintf(path, size, "%s/dat-memory-", dir);
	for (int i = 0; i < DAT_LMR_COOKIE_SIZE; i++)
		n += (size_t)snprintf(path + n, size - n, "%02x", (unsigned char)cookie[i]);
	return 0;
}

static int lock(int fd, int cmd, int byte, int type)
{
	struct flock l = { .l_type = (short)type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	if (fcntl(fd, cmd, &l) < 0)
		return -errno;
	return cmd == F_OFD_GETLK && l.l_type != F_UNLCK;
}

static int close_gate(int fd)
{
	static const struct timespec ms = { .tv_nsec = 1000000 };
	int r = 0;

	for (int i = 0; i < GATE_TRIES; i++) {
		r = lock(fd, F_OFD_SETLK, GATE, F_WRLCK);
		if (r != -EAGAIN && r != -EACCES && r != -EINTR)
			return r;
		nanosleep(&ms, NULL);
	}
	return r;
}

/* Opens the file of the cookie with its gate closed. The last region may have removed it meanwhile: it is
 * made again. Returns the descriptor or a negative errno. */
static int open_record(const char *path)
{
	struct stat st;

	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r;

		if (fd < 0)
			return -errno;
		r = close_gate(fd);
		if (r == 0 && fstat(fd, &st) < 0)
			r = -errno;
		if (r == 0 && st.st_nlink)
			return fd;
		close(fd);
		if (r < 0)
			return r;
	}
}

/* Returns true if a region of the cookie exists, in any process. */
static bool is_held(int fd)
{
	return lock(fd, F_OFD_GETLK, HELD, F_WRLCK) != 0;
}

static DAT_RETURN compare(const struct record *is, const struct record *asked)
{
	if (is->length != asked->length) {
		dpr_log(DPR_LOG_ERR, "the shared memory that the cookie names has %" PRIu64 " bytes, and %" PRIu64 " were asked for: "
			"no region is made; register all of it, or choose another cookie",
			is->length, asked->length);
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	}
	if (memcmp(&is->memory, &asked->memory, sizeof(is->memory))) {
		dpr_log(DPR_LOG_ERR, "the cookie names other shared memory: no region is made; map that memory, or "
			"choose another cookie");
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	return DAT_SUCCESS;
}

static DAT_RETURN no_record(int err)
{
	dpr_log(DPR_LOG_ERR, "the record of a cookie cannot be kept in the runtime directory (%s): no region is made; "
		"see dapple doctor", strerror(-err));
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
}

static DAT_RETURN enter(int fd, const struct record *asked)
{
	struct record is = { 0 };
	DAT_RETURN ret;
	int r;

	if (is_held(fd)) {
		if (pread(fd, &is, sizeof(is), 0) != sizeof(is))
			return no_record(-EIO);
		ret = compare(&is, asked);
		if (ret != DAT_SUCCESS)
			return ret;
	} else if (!ut_file_fits(sizeof(*asked))) {
		return no_record(-EFBIG);
	} else if (pwrite(fd, asked, sizeof(*asked), 0) != sizeof(*asked)) {
		return no_record(-EIO);
	}
	r = lock(fd, F_OFD_SETLK, HELD, F_RDLCK);
	return r < 0 ? no_record(r) : DAT_SUCCESS;
}

DAT_RETURN dpr_shared_join(const char cookie[DAT_LMR_COOKIE_SIZE], uint64_t addr, DAT_VLEN length, int *ret)
{
	struct record asked = { .length = length };
	char path[UT_RUNDIR_MAX + 128];
	DAT_RETURN result;
	int r = find_memory(addr, length, &asked.memory), fd;

	if (r == -ENOENT) {
		dpr_log(DPR_LOG_ERR, "the memory at %#" PRIx64 " is not mapped as shared from end to end: no process can share "
			"it, and no region is made; map it with MAP_SHARED, or register it as DAT_MEM_TYPE_VIRTUAL", addr);
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	if (r < 0) {
		dpr_log(DPR_LOG_ERR, "/proc/self/maps cannot be read (%s): shared memory is not recognised, and no region is "
			"made; mount /proc, or register DAT_MEM_TYPE_VIRTUAL", strerror(-r));
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	}
	r = path_of(cookie, path, sizeof(path));
	fd = r < 0 ? r : open_record(path);
	if (fd < 0)
		return no_record(fd);
	result = enter(fd, &asked);
	if (result != DAT_SUCCESS) {
		if (!is_held(fd))
			unlink(path);
		close(fd);
		return result;
	}
	lock(fd, F_OFD_SETLK, GATE, F_UNLCK);
	*ret = fd;
	return DAT_SUCCESS;
}

/* The locks are given up by name: a child process may have a copy of the descriptor. */
void dpr_shared_leave(const char cookie[DAT_LMR_COOKIE_SIZE], int fd)
{
	char path[UT_RUNDIR_MAX + 128];
	bool gate = close_gate(fd) == 0;

	lock(fd, F_OFD_SETLK, HELD, F_UNLCK);
	if (gate && !is_held(fd) && path_of(cookie, path, sizeof(path)) == 0)
		unlink(path);
	lock(fd, F_OFD_SETLK, GATE, F_UNLCK);
	close(fd);
}
