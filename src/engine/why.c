/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/why.h"

#include "engine/gid.h"
#include "engine/qp.h"
#include "engine/ring.h"
#include "util/alloc.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_LINES 32
#define WHY_TEXT 600
#define NAK_ACCESS 0x62 /* remote access error (IBTA table 45) */

struct eng_why_ring {
	unsigned n; /* ever written */
	struct {
		uint32_t qpn;
		char text[WHY_TEXT];
	} line[WHY_LINES];
};

struct eng_why_ring *eng_why_ring_new(void)
{
	return ut_zalloc(sizeof(struct eng_why_ring));
}

void eng_why_ring_free(struct eng_why_ring *r)
{
	free(r);
}

struct text {
	char *at;
	size_t left;
};

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->left, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= t->left)
		n = (int)t->left - 1;
	t->at += n;
	t->left -= (size_t)n;
}

static bool gid_empty(const union ibv_gid *g)
{
	static const union ibv_gid none;

	return memcmp(g, &none, sizeof(none)) == 0;
}

/* The GID of an iWARP port is made of its MAC: nothing below it (siw does the same). */
static bool is_address(const union ibv_gid *g)
{
	static const uint8_t none[8];

	return memcmp(g->raw + 8, none, sizeof(none)) != 0;
}

/* Brackets part an IPv6 address from the colons around it. */
static void say_gid(struct text *t, const union ibv_gid *g)
{
	char buf[INET6_ADDRSTRLEN];

	if (gid_empty(g))
		return;
	if (is_address(g))
		say(t, ut_ip_is_v4(g->raw) ? " at %s" : " at [%s]", ut_ip_text(g->raw, buf));
	else
		say(t, " at GID %02x:%02x:%02x:%02x:%02x:%02x", g->raw[0], g->raw[1], g->raw[2], g->raw[3], g->raw[4],
		    g->raw[5]);
}

/* A stream that ends while no request of the program is outstanding is what every connection comes to. */
static enum ut_say level_of(struct eng_qp *qp, enum eng_verdict v)
{
	bool end = v == ENG_V_STREAM_END || v == ENG_V_STREAM_CLOSED || v == ENG_V_FLUSH;

	return end && !eng_ring_used(&qp->sq) ? UT_SAY_END : UT_SAY_FAILURE;
}

static void say_peer(struct text *t, struct eng_qp *qp, const struct eng_why *w)
{
	bool connected = qp->type != IBV_QPT_UD;
	union ibv_gid gid = w->peer;
	uint32_t qpn = w->peer_qpn;

	if (gid_empty(&gid) && connected)
		gid = qp->attr.ah_attr.grh.dgid;
	if (!qpn && connected)
		qpn = qp->attr.dest_qp_num;
	if (!qpn && gid_empty(&gid))
		return;
	if (qpn)
		say(t, " with QP 0x%06x", qpn);
	else
		say(t, " with a peer");
	say_gid(t, &gid);
}

static void say_place(struct text *t, const struct eng_why *w)
{
	const char *sep = " (";

	if (w->key) {
		say(t, "%skey 0x%08x", sep, w->key);
		sep = ", ";
	}
	if (w->addr) {
		say(t, "%saddress 0x%" PRIx64, sep, w->addr);
		sep = ", ";
	}
	if (w->length) {
		say(t, "%slength %" PRIu64, sep, w->length);
		sep = ", ";
	}
	if (sep[0] == ',')
		say(t, ")");
}

void eng_why(struct eng_qp *qp, enum eng_verdict v, const struct eng_why *w)
{
	static const struct eng_why nothing;
	struct eng_dev *dev = qp->dev;
	const struct eng_gid *own;
	char *line;
	struct text t;

	eng_dev_held(dev);
	if (!w)
		w = &nothing;
	line = dev->why->line[dev->why->n % WHY_LINES].text;
	t = (struct text){ line, WHY_TEXT };
	own = eng_gid_at(dev, qp->attr.ah_attr.grh.sgid_index);
	say(&t, "%s: %s of QP 0x%06x", eng_verdicts[v].sentence, w->doing ? w->doing : "work",
	    qp->qpn);
	if (own && is_address(&own->gid))
		say_gid(&t, &own->gid);
	else
		say(&t, " on %s", dev->name);
	say_peer(&t, qp, w);
	say_place(&t, w);
	say(&t, ": the QP stops; %s; dapple explain %s says more", eng_verdicts[v].remedy, eng_verdicts[v].name);
	dev->why->line[dev->why->n++ % WHY_LINES].qpn = qp->qpn;
	qp->why_said = (uint8_t)v;
	dev->counters[ENG_C_resp_remote_access_errors] += eng_verdicts[v].nak == NAK_ACCESS;
	UT_PROBE4(verdict, qp->qpn, (int)v, eng_verdicts[v].name, line);
	ut_info("%s: %s", dev->name, line);
	dev->ops->why(dev, level_of(qp, v), line);
}

int eng_why_last(struct eng_dev *dev, uint32_t qpn, char *buf, size_t n)
{
	int r = -ENOENT;
	unsigned newest;

	ut_lock(&dev->lock);
	newest = dev->why->n;
	for (unsigned i = newest; i > 0 && newest - i < WHY_LINES; i--) {
		unsigned k = (i - 1) % WHY_LINES;

		if (qpn && dev->why->line[k].qpn != qpn)
			continue;
		if (n)
			snprintf(buf, n, "%s", dev->why->line[k].text);
		r = 0;
		break;
	}
	eng_dev_unlock(dev);
	return r;
}
