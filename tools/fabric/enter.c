/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "enter.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "hosts.h"
#include "place.h"
#include "run.h"

/* What the fabric says of a node. */
struct found {
	char name[PLACE_NAME_MAX + 2];
	bool has_namespace;
	uint32_t ip;		/* of the namespace; 0: none */
};

static int find(const char *fabric, const char *node, struct found *ret)
{
	char *const words[] = { (char *)"find", (char *)node };
	char *text = NULL, *line;
	int r = control_ask(fabric, 2, words, -1, &text);
	unsigned ip = 0;

	if (r == 0) {
		line = strchr(text, '\n');
		snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(text, "\n"), text);
		ret->has_namespace = line && sscanf(line + 1, "hosts %u", &ip) == 1;
		ret->ip = ip;
	}
	free(text);
	return r;
}

int enter_node(const char *fabric, const char *node)
{
	char *const words[] = { (char *)"find", (char *)node };
	const char *adapter = getenv("DAPPLE_ADAPTER");
	char place[2 * PLACE_NAME_MAX + 4];
	struct run_env env = { .preload = true };
	struct found f;
	int r;

	/* Asked again, it says why. */
	if (find(fabric, node, &f))
		return control_call(fabric, 2, words, -1);
	r = f.has_namespace ? hosts_enter(fabric, f.name, f.ip) : 0;
	if (r)
		return r;
	snprintf(place, sizeof(place), "%s/%s", fabric, f.name);
	if (setenv("DAPPLE_FABRIC", place, 1) < 0 || setenv("DAPPLE_ADAPTER", "ib", !adapter || !strcmp(adapter, RUN_ADAPTERS)) < 0)
		return 1;
	return run_env_apply(&env);
}

int enter_address(const char *fabric, const char *node, char *ret, size_t size)
{
	struct in_addr in;
	struct found f;

	if (find(fabric, node, &f) || !f.ip)
		return -1;
	in.s_addr = htonl(f.ip);
	return inet_ntop(AF_INET, &in, ret, (socklen_t)size) ? 0 : -1;
}
