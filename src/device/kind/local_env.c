/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/local_env.h"

#include "util/env.h"
#include "util/log.h"

#include <stddef.h>
#include <string.h>

#define USUAL (DEV_LOCAL_SHM | DEV_LOCAL_MESSAGES | DEV_LOCAL_DIRECT)

static const struct {
	const char *word;
	unsigned allowed;
} values[] = {
	{ "", USUAL },
	{ "off", 0 },
	{ "packets", DEV_LOCAL_SHM },
	{ "messages", DEV_LOCAL_SHM | DEV_LOCAL_MESSAGES },
	{ "streams", USUAL | DEV_LOCAL_HANDED_OVER },
};

unsigned dev_local_env(void)
{
	const char *v = ut_env("DAPPLE_LOCAL");

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (!strcmp(v ? v : "", values[i].word))
			return values[i].allowed;
	ut_error("DAPPLE_LOCAL: \"%s\" is not one of off, packets, messages, streams: RoCE works without "
		 "direct access, so it is slower; unset DAPPLE_LOCAL, or set it to off for the wire alone", v);
	return USUAL & ~(unsigned)DEV_LOCAL_DIRECT;
}
