/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "descriptors.h"

#include "raw.h"
#include "state.h"

#include <fcntl.h>
#include <stdint.h>

#define KNOWN 65536

static uint8_t kinds[KNOWN] = { [1] = RP_FD_OUTPUT, [2] = RP_FD_OUTPUT };

enum rp_fd rp_fd_kind(int fd)
{
	return fd >= 0 && fd < KNOWN ? (enum rp_fd)kinds[fd] : RP_FD_PLACE;
}

void rp_fd_set(int fd, enum rp_fd kind)
{
	if (fd >= 0 && fd < KNOWN)
		kinds[fd] = (uint8_t)kind;
}

void rp_fd_place(int fd, int open, enum rp_fd kind)
{
	rp_fd_set(fd, kind);
	if (rp_mode != RP_REPLAYING || fd < 0)
		return;
	if (open < 0)
		open = (int)RP_RAW2(SYS_memfd_create, "dapple-replay", 0);
	if (open < 0 || open == fd)
		return;
	RP_RAW3(SYS_dup3, open, fd, 0);
	RP_RAW1(SYS_close, open);
}
