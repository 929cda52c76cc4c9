/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/ip.h"

#include <arpa/inet.h>

const char *ut_ip_text(const uint8_t addr[16], char buf[INET6_ADDRSTRLEN])
{
	bool v4 = ut_ip_is_v4(addr);

	if (!inet_ntop(v4 ? AF_INET : AF_INET6, addr + (v4 ? 12 : 0), buf, INET6_ADDRSTRLEN))
		strcpy(buf, "?");
	return buf;
}
