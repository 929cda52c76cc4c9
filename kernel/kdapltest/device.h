/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between kdapltest.ko and the program kdapltest. */
#ifndef KDAPLTEST_DEVICE_H
#define KDAPLTEST_DEVICE_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#else
#include <sys/ioctl.h>
#endif

#define KDT_DEVICE "/dev/kdapltest"
/* Returns the exit status of the run, or -EBUSY before its end. */
#define KDT_STATUS _IO('k', 1)

#endif
