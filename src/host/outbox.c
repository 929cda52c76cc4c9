/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/outbox.h"

#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OUTBOX_MAX 1024
#define OUTBOX_SERVICE_MAX 256
#define OUTBOX_RETRY (200 * UT_US)
#define OUTBOX_AGE (2 * UT_S)

struct parcel {
	struct ut_list node;
	struct host_addr *from;
	struct host_dest to;
	uint64_t until;
	struct host_message message;
	size_t len;
	uint8_t bytes[];
};

static void drop(struct host *h, struct parcel *p)
{
	ut_list_del(&p->node);
	h->outbox_used--;
	h->outbox_for[host_key(p->to)]--;
	free(p);
}

static bool may_wait(const struct host *h, struct host_dest to)
{
	return h->outbox_used < OUTBOX_MAX &&
	       (to.slot != HOST_NO_SLOT || h->outbox_for[host_key(to)] < OUTBOX_SERVICE_MAX);
}

static int keep(struct host *h, struct host_addr *a, struct host_dest to,
		const struct host_message *m, const void *body, size_t len)
{
	struct parcel *p = may_wait(h, to) ? ut_zalloc(sizeof(*p) + len) : NULL;

	if (!p)
		return -EAGAIN;
	p->from = a;
	p->to = to;
	p->until = ut_now() + OUTBOX_AGE;
	p->message = *m;
	p->len = len;
	memcpy(p->bytes, body, len);
	ut_list_add_tail(&h->outbox, &p->node);
	h->outbox_for[host_key(to)]++;
	if (h->outbox_used++ == 0)
		h->user->deadline(h);
	return 0;
}

int host_outbox_send(struct host *h, struct host_addr *a, struct host_dest to,
		    struct host_message *m, const void *body, size_t len)
{
	int r = -EAGAIN;

	/* What is behind others waits as well: the order is kept. */
	if (!h->outbox_for[host_key(to)])
		r = host_send(h, a, to, m, body, len);
	return r == -EAGAIN ? keep(h, a, to, m, body, len) : r;
}

void host_outbox_flush(struct host *h)
{
	uint8_t full[HOST_OUTBOX_KEYS] = { 0 };
	uint64_t now = ut_now();
	struct parcel *p, *t;

	ut_list_each_safe(p, t, &h->outbox, node) {
		unsigned key = host_key(p->to);
		int r = full[key] ? -EAGAIN
				  : host_send(h, p->from, p->to, &p->message, p->bytes, p->len);

		if (r == -EAGAIN && now < p->until) {
			full[key] = 1; /* keep the order */
			continue;
		}
		if (r < 0) {
			h->stats.dropped++;
			if (p->to.slot == HOST_NO_SLOT)
				h->stats.passed_on--;
			else
				h->stats.forwarded--;
			ut_debug("a datagram for slot %u has waited too long: %s", p->to.slot,
				 strerror(-r));
		}
		drop(h, p);
	}
}

uint64_t host_outbox_deadline(const struct host *h)
{
	return h->outbox_used ? ut_now() + OUTBOX_RETRY : UT_NEVER;
}

void host_outbox_forget(struct host *h, const struct host_addr *a)
{
	struct parcel *p, *t;

	ut_list_each_safe(p, t, &h->outbox, node)
		if (p->from == a)
			drop(h, p);
}
