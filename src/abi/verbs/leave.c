/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/verbs/leave.h"

#include "device/process.h"
#include "util/export.h"

#include <sys/syscall.h>

/* Not by libc's _exit(): which is next in the search order cannot be asked for in a signal handler. */
#define LEAVE(name)                                                                 \
	_Noreturn void leave_by##name(int status);                                  \
	UT_EXPORT UT_SYMVER(#name "@@") _Noreturn void leave_by##name(int status)  \
	{                                                                           \
		dev_process_leave();                                                \
		for (;;)                                                            \
			syscall(SYS_exit_group, status);                            \
	}

LEAVE(_exit)
LEAVE(_Exit)
