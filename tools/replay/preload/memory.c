/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "memory.h"

#include "descriptors.h"
#include "log.h"
#include "raw.h"
#include "state.h"

#include <sys/mman.h>

long rp_map(struct rp_thread *t, const long a[6])
{
	int fd = a[3] & MAP_ANONYMOUS ? -1 : (int)a[4];
	long r = 0, flags = a[3], got;
	enum rp_fd kind = rp_fd_kind(fd);

	if (rp_mode == RP_RECORDING)
		r = rp_raw(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
	r = rp_event(SYS_mmap, t->index, fd < 0 ? 0 : fd, r);
	if (rp_mode != RP_REPLAYING || (r < 0 && r > -4096))
		return r;
	if (!(flags & MAP_FIXED))
		flags |= MAP_FIXED_NOREPLACE;
	if (fd >= 0 && kind != RP_FD_MEMORY && kind != RP_FD_FILE) {
		flags = (flags & ~(long)(MAP_SHARED_VALIDATE)) | MAP_ANONYMOUS | MAP_PRIVATE;
		fd = -1;
	}
	got = rp_raw(SYS_mmap, r, a[1], a[2], flags, fd, a[5]);
	if (got != r)
		rp_stop_at(RP_OTHER_ADDRESS, r, got);
	return r;
}

long rp_remap(struct rp_thread *t, const long a[6])
{
	long r = 0, got;

	if (rp_mode == RP_RECORDING)
		r = rp_raw(SYS_mremap, a[0], a[1], a[2], a[3], a[4], 0);
	r = rp_event(SYS_mremap, t->index, 0, r);
	if (rp_mode != RP_REPLAYING || (r < 0 && r > -4096))
		return r;
	got = r == a[0] ? rp_raw(SYS_mremap, a[0], a[1], a[2], 0, 0, 0)
			: rp_raw(SYS_mremap, a[0], a[1], a[2], MREMAP_MAYMOVE | MREMAP_FIXED, r, 0);
	if (got != r)
		rp_stop_at(RP_OTHER_ADDRESS, r, got);
	return r;
}
