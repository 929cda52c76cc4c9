/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "repeat.h"

#include "descriptors.h"
#include "raw.h"
#include "state.h"

#include <fcntl.h>
#include <sys/socket.h>

static enum rp_fd kind_of_new(int nr, const long a[6])
{
	switch (nr) {
	case SYS_socket:
		return a[0] == AF_INET || a[0] == AF_INET6 ? RP_FD_NET : RP_FD_PLACE;
	case SYS_accept:
	case SYS_accept4:
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
	case SYS_fcntl:
		return rp_fd_kind((int)a[0]);
	case SYS_memfd_create:
		return RP_FD_MEMORY;
	default:
		return RP_FD_PLACE;
	}
}

/* A file is read again only to be mapped: what read() gave is in the record. */
static void place_file(int nr, const long a[6], int fd)
{
	long flags = nr == SYS_open ? a[1] : nr == SYS_openat ? a[2] : O_WRONLY;
	long dir = nr == SYS_openat ? a[0] : AT_FDCWD, path = nr == SYS_openat ? a[1] : a[0];
	long open = -1;

	if ((flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC)) && rp_mode == RP_REPLAYING)
		open = RP_RAW4(SYS_openat, dir, path, flags | O_NONBLOCK | O_NOCTTY, 0);
	rp_fd_place(fd, (int)open, (flags & O_ACCMODE) != O_RDONLY ? RP_FD_MEMORY : open < 0 ? RP_FD_PLACE : RP_FD_FILE);
}

static void place_copy(const long a[6], int fd)
{
	enum rp_fd kind = rp_fd_kind((int)a[0]);

	rp_fd_place(fd, rp_mode == RP_REPLAYING ? (int)RP_RAW1(SYS_dup, a[0]) : -1, kind);
}

void rp_place_new(const struct rp_desc *d, int nr, const long a[6], long r)
{
	int *pair = nr == SYS_socketpair ? (int *)a[3] : nr == SYS_pipe || nr == SYS_pipe2 ? (int *)a[0] : NULL;

	if (r < 0)
		return;
	if (pair) {
		rp_fd_place(pair[0], -1, RP_FD_PLACE);
		rp_fd_place(pair[1], -1, RP_FD_PLACE);
	}
	if (!d->makes_fd)
		return;
	if (nr == SYS_open || nr == SYS_openat || nr == SYS_creat)
		place_file(nr, a, (int)r);
	else if (nr == SYS_dup || nr == SYS_dup2 || nr == SYS_dup3 || nr == SYS_fcntl)
		place_copy(a, (int)r);
	else
		rp_fd_place((int)r, -1, kind_of_new(nr, a));
}

/* Replay: what a call does beside its result. */
void rp_repeat(const struct rp_desc *d, int nr, const long a[6], long r)
{
	enum rp_fd kind = rp_fd_kind(d->fd < 0 ? (int)a[0] : d->fd);

	switch (nr) {
	case SYS_close:
		RP_RAW1(SYS_close, a[0]);
		return;
	case SYS_write:
	case SYS_writev:
		if (r > 0 && (kind == RP_FD_OUTPUT || kind == RP_FD_MEMORY))
			RP_RAW3(nr, a[0], a[1], nr == SYS_write ? r : a[2]);
		return;
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_lseek:
	case SYS_fcntl:
		if (kind == RP_FD_MEMORY && !d->makes_fd)
			rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		return;
	default:
		return;
	}
}
