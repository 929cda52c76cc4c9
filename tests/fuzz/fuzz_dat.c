/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What DAT reads from others: the text of dat.conf, and the private data of connection requests,
 * rejects and datagram connects. Each field of a line ends, private data never grow beyond their 255
 * bytes, and what one end wraps the other one unwraps.
 *
 * First byte: 0 = the rest is dat.conf; else private data: the bytes of the peer, with what was asked.
 */
#include "input.h"

#include "dat/core/private.h"
#include "dat/provider/cm/ud_peer.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ia/ia.h"
#include "dat/registry/conf.h"

/* --- dat.conf --- */

struct seen {
	unsigned last, lines;
};

static void line(void *ctx, const struct dreg_conf_line *l)
{
	struct seen *s = ctx;

	REQUIRE(l->number > s->last && l->major <= UINT16_MAX && l->minor <= UINT16_MAX);
	s->last = l->number;
	s->lines++;
	for (int i = 0; i < DREG_CONF_FIELDS; i++)
		REQUIRE(strnlen(l->field[i], DREG_CONF_FIELD_MAX) < DREG_CONF_FIELD_MAX);
	REQUIRE(l->field[DREG_CONF_NAME][0] && strlen(l->field[DREG_CONF_NAME]) < DAT_NAME_MAX_LENGTH);
	REQUIRE(l->field[DREG_CONF_LIBRARY][0]);
}

static void bad(void *ctx, unsigned number, const char *why)
{
	struct seen *s = ctx;

	REQUIRE(number > s->last && why[0]);
	s->last = number;
}

static void conf(const uint8_t *data, size_t size)
{
	struct seen s = { 0, 0 };
	struct dreg_conf_user user = { .line = line, .bad = bad, .ctx = &s };
	/* Without a NUL behind it, so that a sanitizer sees a read beyond the end. */
	char *text = malloc(size ? size : 1);
	unsigned newlines = 1;

	REQUIRE(text);
	memcpy(text, data, size);
	for (size_t i = 0; i < size; i++)
		newlines += data[i] == '\n';
	dreg_conf_parse(text, size, &user);
	REQUIRE(s.last <= newlines);
	free(text);
}

/* --- private data --- */

static struct input in;
static struct ibv_gid_entry gids[3];

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t size)
{
	(void)context;
	(void)port;
	(void)flags;
	REQUIRE(size == sizeof(*entry) && index < 3);
	*entry = gids[index];
	return in8(&in) & 1 ? 22 : 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	(void)pd;
	REQUIRE(attr->is_global && attr->grh.sgid_index < 3);
	return NULL;
}

static void handle(const struct dpr_ud_peer *peer)
{
	struct dpr_ia ia = { .port = 1 };
	struct rdma_cm_id id;

	memset(&id, 0, sizeof(id));
	ia.port_attr.gid_tbl_len = 3;
	for (int i = 0; i < 3; i++) {
		gids[i].gid.raw[0] = in8(&in) & 1;
		gids[i].gid_type = in8(&in) & 1 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	}
	dpr_ud_ah(&ia, NULL, &id, peer);
}

/* As a peer may send them: any length, any bytes. */
static void received(struct dpr_private *p)
{
	p->len = in8(&in);
	in_fill(&in, p->data, p->len);
}

static void private_data(unsigned what)
{
	static const unsigned most[] = { DPR_IB_REQ, DPR_IB_REP, DPR_IB_REJ - DPR_REJ_HEADER, DPR_UD_REQ, DPR_IW_PRIVATE };
	struct dpr_private p = { 0 }, before;
	struct dpr_ud_peer peer, back;
	DAT_EVENT_NUMBER event;

	memset(&peer, 0, sizeof(peer));
	received(&p);
	event = dpr_private_rejected(&p, what & 32 ? 28 : in8(&in), what & 64);
	REQUIRE(event == DAT_CONNECTION_EVENT_PEER_REJECTED || (event == DAT_CONNECTION_EVENT_NON_PEER_REJECTED && !p.len));
	received(&p);
	if (dpr_ud_unwrap(&p, &peer)) {
		REQUIRE(peer.qpn <= 0xffffff);
		handle(&peer);
	}
	received(&before);
	REQUIRE(!dpr_private_set(&p, -1, before.data, DPR_UD_REQ));
	REQUIRE(!dpr_private_set(&p, 1, NULL, DPR_UD_REQ));
	if (!dpr_private_set(&p, before.len, before.data, most[what % 5]))
		return;
	REQUIRE(p.len <= most[what % 5]);
	if (most[what % 5] == DPR_UD_REQ) {
		dpr_ud_wrap(&p, &peer);
		REQUIRE(dpr_ud_unwrap(&p, &back) && back.qpn == peer.qpn && back.lid == peer.lid &&
			!memcmp(back.gid, peer.gid, sizeof(peer.gid)));
	} else {
		dpr_private_reject(&p, false);
		REQUIRE(dpr_private_rejected(&p, 28, what & 64) == DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	REQUIRE(p.len == before.len && !memcmp(p.data, before.data, p.len));
	REQUIRE(dpr_qual_port(in64(&in)) <= UINT16_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (!data[0]) {
		conf(data + 1, size - 1);
		return 0;
	}
	in = (struct input){ data + 1, data + size };
	private_data(data[0]);
	return 0;
}
