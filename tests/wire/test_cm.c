/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Communication management messages: golden vectors written out by hand from the layouts, with values
 * of captures of the Linux rdma_cm; each row alone; rows without gap or overlap.
 */
#include "wire/cm_fields.h"

#include "wire_test.h"

#include <stdbool.h>

/* A REQ of rping to port 7174 as captured from rdma_rxe, field by field; the GUID is made up. */
static const uint8_t req[256] = {
	/* MAD */
	0x01, 0x07, 0x02, 0x03, 0, 0, 0, 0, 0, 0, 0, 1, 0x11, 0x22, 0x33, 0x44,
	0x00, 0x10, 0, 0, 0x89, 0xab, 0xcd, 0xef,
	/* ID, vendor ID, service ID, CA GUID */
	0x12, 0x34, 0x56, 0x78, 0x00, 0x00, 0x02, 0xc9, 0, 0, 0, 0, 0x01, 0x06, 0x1c, 0x06,
	0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56, 0, 0, 0, 0,
	/* Q_Key; QPN, responder resources; EECN, initiator depth; remote EECN, timeout 20, RC, flow */
	0, 0, 0, 0, 0x00, 0x00, 0x11, 0x01, 0, 0, 0, 0x01, 0, 0, 0, 0xa1,
	/* PSN, timeout 20, retry 7; P_Key, MTU 3, RNR 7, retries 15, SRQ 0 */
	0xab, 0xcd, 0xef, 0xa7, 0xff, 0xff, 0x37, 0xf0,
	/* LIDs, GIDs */
	0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 2, 15,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 2, 2,
	/* flow label 0x62d2b, rate 0, class 0, hops 64, SL 0, not local, ACK timeout 19 */
	0x62, 0xd2, 0xb0, 0x00, 0x00, 0x40, 0x00, 0x98,
	/* no alternate path */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	/* IP CM header: version 0, IPv4, port 0xc350, addresses */
	0x00, 0x40, 0xc3, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 2, 15,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 2, 2,
	'h', 'i'
};

static void golden_mad(const uint8_t *mad)
{
	CHECK(wire_get_MAD_base_version(mad) == 1, " ");
	CHECK(wire_get_MAD_mgmt_class(mad) == 7 && wire_get_MAD_class_version(mad) == 2, " ");
	CHECK(wire_get_MAD_r(mad) == 0 && wire_get_MAD_method(mad) == 3, " ");
	CHECK(wire_get_MAD_status(mad) == 0 && wire_get_MAD_tid(mad) == 0x111223344, " ");
	CHECK(wire_get_MAD_attr_id(mad) == WIRE_CM_ATTR_REQ, " ");
	CHECK(wire_get_MAD_attr_mod(mad) == 0x89abcdef, " ");
}

static void golden_req(void)
{
	const uint8_t *m = req + WIRE_MAD_LEN, *h = wire_get_CM_REQ_private_data(m);

	golden_mad(req);
	CHECK(wire_get_CM_REQ_local_comm_id(m) == 0x12345678, " ");
	CHECK(wire_get_CM_REQ_vendor_id(m) == 0x0002c9, " ");
	CHECK(wire_get_CM_REQ_service_id(m) == 0x0000000001061c06, " ");
	CHECK(wire_get_CM_REQ_local_ca_guid(m) == 0x505400fffe123456, " ");
	CHECK(wire_get_CM_REQ_local_qpn(m) == 0x11 && wire_get_CM_REQ_resp_res(m) == 1, " ");
	CHECK(wire_get_CM_REQ_init_depth(m) == 1 && wire_get_CM_REQ_remote_eecn(m) == 0, " ");
	CHECK(wire_get_CM_REQ_remote_cm_timeout(m) == 20, " ");
	CHECK(wire_get_CM_REQ_transport(m) == 0 && wire_get_CM_REQ_e2e_flow(m) == 1, " ");
	CHECK(wire_get_CM_REQ_start_psn(m) == 0xabcdef, " ");
	CHECK(wire_get_CM_REQ_local_cm_timeout(m) == 20 && wire_get_CM_REQ_retry_count(m) == 7, " ");
	CHECK(wire_get_CM_REQ_pkey(m) == 0xffff && wire_get_CM_REQ_path_mtu(m) == 3, " ");
	CHECK(wire_get_CM_REQ_rdc_exists(m) == 0 && wire_get_CM_REQ_rnr_retry(m) == 7, " ");
	CHECK(wire_get_CM_REQ_max_cm_retries(m) == 15 && wire_get_CM_REQ_srq(m) == 0, " ");
	CHECK(wire_get_CM_REQ_ext_transport(m) == 0, " ");
	CHECK(wire_get_CM_REQ_local_lid(m) == 0xffff && wire_get_CM_REQ_remote_lid(m) == 0xffff, " ");
	CHECK(wire_get_CM_REQ_local_gid(m)[15] == 15 && wire_get_CM_REQ_remote_gid(m)[15] == 2, " ");
	CHECK(wire_get_CM_REQ_flow_label(m) == 0x62d2b && wire_get_CM_REQ_rate(m) == 0, " ");
	CHECK(wire_get_CM_REQ_tclass(m) == 0 && wire_get_CM_REQ_hop_limit(m) == 64, " ");
	CHECK(wire_get_CM_REQ_sl(m) == 0 && wire_get_CM_REQ_subnet_local(m) == 0, " ");
	CHECK(wire_get_CM_REQ_ack_timeout(m) == 19, " ");
	CHECK(wire_get_IP_CM_version_major(h) == 0 && wire_get_IP_CM_version_minor(h) == 0, " ");
	CHECK(wire_get_IP_CM_ip_version(h) == 4 && wire_get_IP_CM_src_port(h) == 50000, " ");
	CHECK(wire_get_IP_CM_src_addr(h)[15] == 15 && wire_get_IP_CM_dst_addr(h)[15] == 2, " ");
	CHECK(!memcmp(h + WIRE_IP_CM_LEN, "hi", 2) && h + WIRE_CM_REQ_PRIVATE == req + 256, " ");
}

/* One value of each remaining message at the byte that its table says. */
static const struct golden {
	enum wire_cm_hdr hdr;
	const char *field;
	uint64_t value;
	uint8_t at, bytes[8];
} goldens[] = {
	{ WIRE_CM_HDR_CM_MRA, "message", 2, 8, { 0x80 } },
	{ WIRE_CM_HDR_CM_MRA, "service_timeout", 24, 9, { 0xc0 } },
	{ WIRE_CM_HDR_CM_REJ, "message", 1, 8, { 0x40 } },
	{ WIRE_CM_HDR_CM_REJ, "info_len", 8, 9, { 0x10 } },
	{ WIRE_CM_HDR_CM_REJ, "reason", 28, 10, { 0, 28 } },
	{ WIRE_CM_HDR_CM_REP, "local_qkey", 0x01234567, 8, { 0x01, 0x23, 0x45, 0x67 } },
	{ WIRE_CM_HDR_CM_REP, "local_qpn", 0x123456, 12, { 0x12, 0x34, 0x56 } },
	{ WIRE_CM_HDR_CM_REP, "vendor_id_h", 0xaa, 15, { 0xaa } },
	{ WIRE_CM_HDR_CM_REP, "local_eecn", 0x123456, 16, { 0x12, 0x34, 0x56 } },
	{ WIRE_CM_HDR_CM_REP, "vendor_id_m", 0xbb, 19, { 0xbb } },
	{ WIRE_CM_HDR_CM_REP, "start_psn", 0xfedcba, 20, { 0xfe, 0xdc, 0xba } },
	{ WIRE_CM_HDR_CM_REP, "vendor_id_l", 0xcc, 23, { 0xcc } },
	{ WIRE_CM_HDR_CM_REP, "resp_res", 3, 24, { 3 } },
	{ WIRE_CM_HDR_CM_REP, "init_depth", 4, 25, { 4 } },
	{ WIRE_CM_HDR_CM_REP, "target_ack_delay", 15, 26, { 0x78 } },
	{ WIRE_CM_HDR_CM_REP, "failover", 1, 26, { 0x02 } },
	{ WIRE_CM_HDR_CM_REP, "e2e_flow", 1, 26, { 0x01 } },
	{ WIRE_CM_HDR_CM_REP, "rnr_retry", 7, 27, { 0xe0 } },
	{ WIRE_CM_HDR_CM_REP, "srq", 1, 27, { 0x10 } },
	{ WIRE_CM_HDR_CM_REP, "local_ca_guid", 0x0102030405060708, 28, { 1, 2, 3, 4, 5, 6, 7, 8 } },
	{ WIRE_CM_HDR_CM_RTU, "remote_comm_id", 0x01020304, 4, { 1, 2, 3, 4 } },
	{ WIRE_CM_HDR_CM_DREQ, "remote_qpn", 0x010203, 8, { 1, 2, 3 } },
	{ WIRE_CM_HDR_CM_DREP, "remote_comm_id", 0x01020304, 4, { 1, 2, 3, 4 } },
	{ WIRE_CM_HDR_CM_LAP, "remote_qpn", 0x010203, 12, { 1, 2, 3 } },
	{ WIRE_CM_HDR_CM_LAP, "remote_cm_timeout", 20, 15, { 0xa0 } },
	{ WIRE_CM_HDR_CM_LAP, "alt_flow_label", 0x12345, 56, { 0x12, 0x34, 0x50 } },
	{ WIRE_CM_HDR_CM_LAP, "alt_ack_timeout", 19, 63, { 0x98 } },
	{ WIRE_CM_HDR_CM_APR, "info_len", 5, 8, { 5 } },
	{ WIRE_CM_HDR_CM_APR, "status", 2, 9, { 2 } },
	{ WIRE_CM_HDR_CM_SIDR_REQ, "pkey", 0xffff, 4, { 0xff, 0xff } },
	{ WIRE_CM_HDR_CM_SIDR_REQ, "service_id", 0x0000000001111b58, 8,
	  { 0, 0, 0, 0, 0x01, 0x11, 0x1b, 0x58 } },
	{ WIRE_CM_HDR_CM_SIDR_REP, "status", 1, 4, { 1 } },
	{ WIRE_CM_HDR_CM_SIDR_REP, "vendor_id_h", 0x1234, 6, { 0x12, 0x34 } },
	{ WIRE_CM_HDR_CM_SIDR_REP, "qpn", 0x000013, 8, { 0, 0, 0x13 } },
	{ WIRE_CM_HDR_CM_SIDR_REP, "vendor_id_l", 0x56, 11, { 0x56 } },
	{ WIRE_CM_HDR_CM_SIDR_REP, "service_id", 0x0000000001111b58, 12,
	  { 0, 0, 0, 0, 0x01, 0x11, 0x1b, 0x58 } },
	{ WIRE_CM_HDR_CM_SIDR_REP, "qkey", 0x01234567, 20, { 0x01, 0x23, 0x45, 0x67 } },
};

static const struct wire_field *row(enum wire_cm_hdr hdr, const char *name)
{
	const struct wire_cm_header *h = &wire_cm_headers[hdr];

	for (unsigned i = h->first; i < h->first + h->nr; i++)
		if (!strcmp(wire_cm_fields[i].name, name))
			return &wire_cm_fields[i];
	return NULL;
}

static void golden_values(void)
{
	for (unsigned k = 0; k < sizeof(goldens) / sizeof(goldens[0]); k++) {
		const struct golden *g = &goldens[k];
		const struct wire_field *f = row(g->hdr, g->field);
		uint8_t want[240] = { 0 }, got[240] = { 0 };

		CHECK(f, "%s", g->field);
		if (!f)
			continue;
		memcpy(want + g->at, g->bytes, 8);
		wire_set_bits(got, f->pos, f->width, g->value);
		CHECK(!memcmp(want, got, sizeof(want)), "%s.%s", wire_cm_headers[g->hdr].name,
		      g->field);
		CHECK(wire_get_bits(want, f->pos, f->width) == g->value, "%s", g->field);
	}
}

/* Each row begins where the one before ended; the last ends with the header. */
static void no_gaps(void)
{
	unsigned rows = 0;

	for (unsigned k = 0; k < WIRE_NR_CM_HDRS; k++) {
		const struct wire_cm_header *h = &wire_cm_headers[k];
		unsigned pos = 0;

		CHECK(h->first == rows, "%s", h->name);
		for (unsigned i = h->first; i < h->first + h->nr; i++) {
			const struct wire_field *f = &wire_cm_fields[i];

			CHECK(f->header == k && f->pos == pos, "%s.%s at %u, not %u", h->name,
			      f->name, f->pos, pos);
			pos = f->pos + f->width;
		}
		CHECK(pos == h->length * 8u, "%s ends at bit %u", h->name, pos);
		rows += h->nr;
	}
	CHECK(rows == wire_nr_cm_fields, "%u", rows);
}

/* A write changes its row and nothing else. */
static void each_row_alone(void)
{
	uint64_t seed = 3;

	for (unsigned i = 0; i < wire_nr_cm_fields; i++) {
		const struct wire_field *f = &wire_cm_fields[i];
		uint8_t a[240], b[240];
		uint64_t v = wire_random(&seed);

		if (f->width > 64)
			continue;
		if (f->width < 64)
			v &= (1ull << f->width) - 1;
		for (unsigned k = 0; k < sizeof(a); k++)
			a[k] = b[k] = (uint8_t)wire_random(&seed);
		wire_set_bits(b, f->pos, f->width, v);
		CHECK(wire_get_bits(b, f->pos, f->width) == v, "%s", f->name);
		for (unsigned bit = 0; bit < sizeof(a) * 8; bit++) {
			bool in = bit >= f->pos && bit < f->pos + (unsigned)f->width;

			CHECK(in || !((a[bit / 8] ^ b[bit / 8]) & 0x80 >> bit % 8), "%s", f->name);
		}
	}
}

static void private_ends(void)
{
	static const struct {
		unsigned attr, bytes;
	} rows[] = {
		{ WIRE_CM_ATTR_REQ, WIRE_CM_REQ_PRIVATE }, { WIRE_CM_ATTR_MRA, WIRE_CM_MRA_PRIVATE },
		{ WIRE_CM_ATTR_REJ, WIRE_CM_REJ_PRIVATE }, { WIRE_CM_ATTR_REP, WIRE_CM_REP_PRIVATE },
		{ WIRE_CM_ATTR_RTU, WIRE_CM_RTU_PRIVATE }, { WIRE_CM_ATTR_DREQ, WIRE_CM_DREQ_PRIVATE },
		{ WIRE_CM_ATTR_DREP, WIRE_CM_DREP_PRIVATE }, { WIRE_CM_ATTR_LAP, WIRE_CM_LAP_PRIVATE },
		{ WIRE_CM_ATTR_APR, WIRE_CM_APR_PRIVATE },
		{ WIRE_CM_ATTR_SIDR_REQ, WIRE_CM_SIDR_REQ_PRIVATE },
		{ WIRE_CM_ATTR_SIDR_REP, WIRE_CM_SIDR_REP_PRIVATE },
	};

	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		const struct wire_cm_header *h = wire_cm_message(rows[k].attr);
		const struct wire_field *f = &wire_cm_fields[h->first + h->nr - 1];

		CHECK(f->width == rows[k].bytes * 8, "%s", h->name);
		CHECK(!strcmp(f->name, "private_data"), "%s", h->name);
		CHECK(h->length + WIRE_MAD_LEN == WIRE_MAD_BYTES, "%s", h->name);
	}
	CHECK(!wire_cm_message(0x0f) && !wire_cm_message(0x1b), " ");
}

int main(void)
{
	golden_req();
	golden_values();
	no_gaps();
	each_row_alone();
	private_ends();
	return wire_test_end();
}
