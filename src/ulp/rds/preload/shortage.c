/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/shortage.h"

#include <errno.h>

int rds_told(int error)
{
	switch (error) {
	case -ENOBUFS:
	case -ENOSPC:
	case -EPIPE:
	case -ETOOMANYREFS:
		return -ENOMEM;
	default:
		return error;
	}
}

int rds_told_no_fd(int error)
{
	return error == -EMFILE || error == -ENFILE ? -ENOMEM : error;
}
