/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rules of libsdp: lines that are read, and sockets that they fit. */
#include "ulp/preload/rules.h"

#include "support/cases.h"
#include "support/check.h"

#include <arpa/inet.h>

static struct rsp_addr at(const char *text, uint16_t port)
{
	struct rsp_addr a = { .family = strchr(text, ':') ? AF_INET6 : AF_INET, .port = htons(port) };

	CHECK(inet_pton(a.family, text, a.addr) == 1);
	return a;
}

static bool fits(const char *line, const char *program, enum rsp_role role, const char *addr, uint16_t port)
{
	struct rsp_rule_row row;
	struct rsp_addr a = at(addr, port);

	CHECK_MSG(rsp_rule_read(line, &row) == 1, "%s", line);
	return rsp_rule_fits(&row, program, role, &a);
}

static void addresses(void)
{
	const char *line = "use sdp client * 192.168.3.0/21:5001-5003\n";

	CHECK(fits(line, "iperf", RSP_RULE_CONNECT, "192.168.7.255", 5003));
	CHECK(!fits(line, "iperf", RSP_RULE_CONNECT, "192.168.8.0", 5003));
	CHECK(!fits(line, "iperf", RSP_RULE_CONNECT, "192.168.7.255", 5004));
	CHECK(!fits(line, "iperf", RSP_RULE_LISTEN, "192.168.7.255", 5003));
	CHECK(fits(line, "iperf", RSP_RULE_CONNECT, "::ffff:192.168.0.1", 5001));
	CHECK(fits("use tcp listen * fd00::/16:*", "x", RSP_RULE_LISTEN, "fd00:1::2", 9));
	CHECK(!fits("use tcp listen * fd00::/16:*", "x", RSP_RULE_LISTEN, "fd01:1::2", 9));
	CHECK(fits("use both connect * 10.0.0.1:22", "x", RSP_RULE_CONNECT, "10.0.0.1", 22));
	CHECK(!fits("use both connect * 10.0.0.1:22", "x", RSP_RULE_CONNECT, "10.0.0.2", 22));
	CHECK(fits("use both connect * 10.0.0.1/0:22", "x", RSP_RULE_CONNECT, "99.0.0.2", 22));
}

static void programs(void)
{
	CHECK(fits("use both server ttcp* *:*", "ttcp2", RSP_RULE_LISTEN, "0.0.0.0", 1));
	CHECK(!fits("use both server ttcp* *:*", "tcp", RSP_RULE_LISTEN, "0.0.0.0", 1));
}

static void uses(void)
{
	static const struct { const char *line; enum rsp_rule use; } rows[] = {
		{ "use sdp server * *:*", RSP_RULE_SDP }, { "USE TCP Client * *:1-2 # a remark", RSP_RULE_TCP },
		{ "\tuse  both\tconnect  a  *:80\r\n", RSP_RULE_BOTH },
	};
	struct rsp_rule_row row;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_MSG(rsp_rule_read(rows[i].line, &row) == 1 && row.use == rows[i].use, "%s", rows[i].line);
}

static void lines(void)
{
	static const char *const bad[] = {
		"use sdp server *", "use sdp server * * *:*", "use udp server * *:*", "use sdp peer * *:*", "say hello",
		"use sdp server * *", "use sdp server * *:x", "use sdp server * *:5-4", "use sdp server * *:65536",
		"use sdp server * *:1-", "use sdp server * 1.2.3:4", "use sdp server * 1.2.3.4/33:4",
		"use sdp server * 1.2.3.4/x:4", "use sdp server * 1.2.3.4/8x:4", "use sdp server * :4",
	};
	struct rsp_rule_row row;
	char lengthy[600];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_MSG(rsp_rule_read(bad[i], &row) == -1, "%s", bad[i]);
	memset(lengthy, 'x', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	CHECK(rsp_rule_read(lengthy, &row) == -1);
	CHECK(!rsp_rule_read("", &row) && !rsp_rule_read("  # nothing\n", &row) && !rsp_rule_read("\n", &row));
	CHECK(!rsp_rule_read("log min-level 9 destination file libsdp.log", &row));
}

static const struct test_case cases[] = {
	{ "-", "addresses and ports", addresses },
	{ "-", "programs", programs },
	{ "-", "kinds", uses },
	{ "-", "lines that say nothing or are refused", lines },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
