/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipoib/port.h"
#include "place.h"
#include "run.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/ip.h"

#define ANSWER_MS 10000
#define TICKET 1

struct answer {
	bool is_there;
	int status;
	struct sac_name name;
};

static void changed(void *ctx, uint32_t events)
{
}

static void answered(void *ctx, uint64_t ticket, int status, const struct sac_name *n)
{
	struct answer *a = ctx;

	*a = (struct answer){ true, status, *n };
}

static const struct port_ops ops = { .changed = changed, .name = answered };

/* GIDs have the prefix that OpenSM gives, fe80::/64, unless it is told another: the port's own says. */
static bool is_gid(const struct port *p, const uint8_t addr[16])
{
	return !ut_ip_is_v4(addr) && !memcmp(addr, p->gid, 8);
}

static bool read_word(const char *word, uint8_t ret[16])
{
	struct in_addr v4;

	if (inet_pton(AF_INET, word, &v4) == 1) {
		ut_ip_set_v4(ret, &v4);
		return true;
	}
	return inet_pton(AF_INET6, word, ret) == 1;
}

/* Returns false if the fabric has ended. */
static bool await(struct port *p, const struct answer *a)
{
	struct pollfd fd = { .fd = p->fd, .events = POLLIN };
	bool is_up = true;

	while (is_up && !a->is_there) {
		uint64_t now = ut_now(), at = sac_deadline(&p->sa);

		if (at > now)
			poll(&fd, 1, (int)((at - now) / UT_MS) + 1);
		is_up = port_serve(p);
		sac_run(&p->sa, ut_now());
	}
	return is_up;
}

static int tell(const struct answer *a, bool is_up, const char *word)
{
	char ip[INET6_ADDRSTRLEN], gid[INET6_ADDRSTRLEN];

	if (a->is_there && a->status == 0) {
		printf("%s %s\n", ut_ip_text(a->name.addr, ip), ut_ip_text(a->name.gid, gid));
		return 0;
	}
	if (!is_up)
		run_say("the fabric has ended: %s is not resolved; start it by dapple fabric up", word);
	else if (a->status == -ENOTUNIQ)
		run_say("several ports have registered %s: none of them is told; saquery SR shows the records", word);
	else if (a->status == -ETIMEDOUT)
		run_say("no subnet administrator answers: %s is not resolved; start one by dapple fabric sm start NODE", word);
	else
		run_say("no port has registered %s: it is not resolved; saquery SR shows what is registered", word);
	return 1;
}

static int ask(struct port *p, const char *word, const uint8_t addr[16])
{
	struct answer a = { .is_there = false };
	struct sac_name half;
	bool is_up;

	p->ctx = &a;
	memcpy(half.addr, addr, 16);
	memcpy(half.gid, addr, 16);
	if (sac_find_name(&p->sa, &half, is_gid(p, addr), ANSWER_MS, TICKET, ut_now()) != -EINPROGRESS)
		return tell(&(struct answer){ .status = -ENOMEM }, true, word);
	is_up = await(p, &a);
	return tell(&a, is_up, word);
}

int resolve_name(const char *fabric, const char *node, const char *word)
{
	char place[2 * PLACE_NAME_MAX + 2], why[ATT_WHY_MAX];
	uint8_t addr[16];
	struct port p;
	int r;

	if (!read_word(word, addr))
		return run_usage_error("fabric", "\"%s\" is no IP address and no GID", word);
	snprintf(place, sizeof(place), "%s/%s", fabric, node);
	if (setenv("DAPPLE_FABRIC", place, 1) < 0 || port_open(&p, &ops, NULL, why) < 0) {
		run_say("%s", why);
		return 1;
	}
	r = ask(&p, word, addr);
	port_close(&p);
	return r;
}
