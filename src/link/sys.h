/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The names of util/syscall.h in this room. */
#ifndef LINK_SYS_H
#define LINK_SYS_H

#include "util/syscall.h"

#define LINK_SYS UT_SYS
#define link_sys_close ut_close_fd

#endif
