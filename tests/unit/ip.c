/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of 16 bytes: the result of each predicate for each kind, socket addresses, text. */
#include "support/check.h"
#include "util/ip.h"

#include <arpa/inet.h>

enum { V4 = 1, ANY = 2, LOOP4 = 4, LINKLOCAL = 8, GROUP = 16 };

static const struct {
	const char *text;
	unsigned is;
} rows[] = {
	{ "10.77.0.1", V4 },
	{ "0.0.0.0", V4 | ANY },
	{ "127.0.0.1", V4 | LOOP4 },
	{ "127.255.0.9", V4 | LOOP4 },
	{ "128.0.0.1", V4 },
	{ "223.255.255.255", V4 },
	{ "224.0.0.1", V4 | GROUP },
	{ "239.255.255.255", V4 | GROUP },
	{ "240.0.0.1", V4 },
	{ "::", ANY },
	{ "::1", 0 },
	{ "fd77::2", 0 },
	{ "fe7f::1", 0 },
	{ "fe80::1", LINKLOCAL },
	{ "febf::1", LINKLOCAL },
	{ "fec0::1", 0 },
	{ "ff02::1", GROUP },
	{ "ff0e::1234", GROUP },
};

static void read_text(const char *text, uint8_t addr[16])
{
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) == 1)
		ut_ip_set_v4(addr, &in);
	else
		CHECK(inet_pton(AF_INET6, text, addr) == 1);
}

static void predicates(const uint8_t addr[16], unsigned is)
{
	CHECK(ut_ip_is_v4(addr) == !!(is & V4));
	CHECK(ut_ip_is_any(addr) == !!(is & ANY));
	CHECK(ut_ip_is_loopback_v4(addr) == !!(is & LOOP4));
	CHECK(ut_ip_is_linklocal(addr) == !!(is & LINKLOCAL));
	CHECK(ut_ip_is_group(addr) == !!(is & GROUP));
}

/* There and back; the kernel's own macros read the result. */
static void socket_addresses(const uint8_t addr[16], unsigned is)
{
	union ut_sockaddr sa;
	socklen_t n = ut_ip_to_sockaddr(addr, 4791, 5, &sa);
	uint32_t scope = 77, want = !(is & V4) && (is & (LINKLOCAL | GROUP)) ? 5 : 0;
	uint8_t back[16];

	if (is & V4) {
		CHECK(n == sizeof(sa.in) && sa.in.sin_family == AF_INET);
		CHECK(sa.in.sin_port == htons(4791) && !memcmp(&sa.in.sin_addr, addr + 12, 4));
	} else {
		CHECK(n == sizeof(sa.in6) && sa.in6.sin6_family == AF_INET6);
		CHECK(sa.in6.sin6_port == htons(4791) && sa.in6.sin6_scope_id == want);
		CHECK(!!IN6_IS_ADDR_LINKLOCAL(&sa.in6.sin6_addr) == !!(is & LINKLOCAL));
		CHECK(!!IN6_IS_ADDR_MULTICAST(&sa.in6.sin6_addr) == !!(is & GROUP));
	}
	CHECK(ut_ip_from_sockaddr(&sa, back, &scope) == 4791);
	CHECK(ut_ip_same(back, addr) && scope == want);
	CHECK(ut_ip_from_sockaddr(&sa, back, NULL) == 4791);
}

int main(void)
{
	char buf[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t addr[16] = { 0 };

		read_text(rows[i].text, addr);
		predicates(addr, rows[i].is);
		socket_addresses(addr, rows[i].is);
		CHECK(ut_ip_text(addr, buf) == buf && !strcmp(buf, rows[i].text));
	}
	return 0;
}
