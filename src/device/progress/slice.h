/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The slice of the background thread. It works for microseconds and sleeps. Beside threads that compute or spin for the
 * whole of a slice, each wake-up would wait for the end of one, and so would each hop of a message between programs that
 * watch memory and leave progress to it. From Linux 6.12 a thread may ask for a short slice: its wake-up then takes the
 * processor from a thread with a longer one, and its share of the processor stays the same.
 */
#ifndef DEVICE_PROGRESS_SLICE_H
#define DEVICE_PROGRESS_SLICE_H

#define DEV_SLICE_NS 100000u /* the least that the scheduler takes: SCHED_SLICE_MIN of kernel/sched */

/*
 * The calling thread asks for short slices. Policy, nice value and flags that it has from its program stay. Older kernels
 * ignore the wish; a refusal changes nothing.
 */
void dev_slice_short(void);

#endif
