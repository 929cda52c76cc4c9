/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/preload/told.h"

#include <errno.h>
#include <stddef.h>

static const struct { int of, error, told; } table[] = {
	{ RSP_OF_REQUEST | RSP_OF_STREAM, -ENOBUFS, -ENOMEM },
	{ RSP_OF_REQUEST | RSP_OF_STREAM, -ENOSPC, -ENOMEM },
	{ RSP_OF_REQUEST | RSP_OF_STREAM, -ETOOMANYREFS, -ENOMEM },
	{ RSP_OF_REQUEST, -EAGAIN, -ENOMEM },
	{ RSP_OF_REQUEST, -EPIPE, -ENOMEM },
	{ RSP_OF_STREAM, -EPIPE, -ECONNRESET },
	{ RSP_OF_CALL, -EMFILE, -ENOMEM },
	{ RSP_OF_CALL, -ENFILE, -ENOMEM },
};

int rsp_told(int of, int error)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].of & of && table[i].error == error)
			return table[i].told;
	return error;
}
