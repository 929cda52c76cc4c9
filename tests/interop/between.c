/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A library in front of the preload, as the run time of a sanitizer is: a wait of the adapter inside a call of the program, which yields, looks
 * at descriptors here, so that neither the program nor a library of Dapple's is the caller of poll().
 */
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

int sched_yield(void)
{
	return poll(NULL, 0, 0) < 0 ? -1 : (int)syscall(SYS_sched_yield);
}
