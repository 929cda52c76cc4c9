/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/layout.h"

#include "util/notice.h"

/* -D: for the second library of tests/interop/layouts. */
#ifndef HOST_LAYOUT
#define HOST_LAYOUT 7
#endif

const uint8_t host_layout = HOST_LAYOUT;

bool host_layout_is_base(unsigned type)
{
	switch (type) {
	case HOST_MSG_ANSWER:
	case HOST_MSG_ORDER:
	case HOST_MSG_LEFT:
	case HOST_MSG_FORWARD:
	case HOST_MSG_GROUP: return true;
	default: return false;
	}
}

void host_layout_say(const char *who, unsigned theirs, const char *proto)
{
	ut_notice("%s runs another release of Dapple (layout %u, this one %u): the two exchange data by %s and not by shared "
		  "memory, which is slower; run both with one release (dapple version)", who, theirs, host_layout, proto);
}
