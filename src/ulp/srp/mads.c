/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/mads.h"
#include "wire/cm_fields.h"
#include "wire/sa_fields.h"
#include "wire/smp_fields.h"

#include <errno.h>
#include <infiniband/umad.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GSI_QP 1
#define GSI_QKEY ((int)0x80010000)
#define SA_CLASS 0x03
#define SA_VERSION 2
#define RMPP_VERSION 1
#define TIMEOUT_MS 1000
#define RETRIES 3
#define TABLE_MAX (4u << 20)

enum { METHOD_GET = 0x01, METHOD_GET_TABLE = 0x12, METHOD_SET = 0x02 };
enum { NODE_RECORD = 0x0011, PORT_INFO_RECORD = 0x0012, RECORD_BEGIN = 4 /* NodeInfo and PortInfo in their records */ };
/* PortInfoRecord: ports are looked for by a set of capabilities (IBTA vol 1, 15.2.5.3); IsDeviceManagementSupported. */
#define CAPABILITY_MATCH 0x80000000u
#define MASK_CAPABILITY (1 << 7)
#define MASK_LID 1
#define IS_DM (1u << 19)

static int fail(struct srp_mads *m, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int fail(struct srp_mads *m, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, ap);
	va_end(ap);
	return -(err ? err : EIO);
}

static int make_room(struct srp_mads *m, size_t len)
{
	void *at = len > m->room ? realloc(m->buffer, umad_size() + len) : m->buffer;

	if (!at)
		return fail(m, ENOMEM, "no memory");
	if (len > m->room)
		m->room = len;
	m->buffer = at;
	return 0;
}

int srp_mads_open(struct srp_mads *m, const char *adapter, int port)
{
	umad_port_t info;

	*m = (struct srp_mads){ .fd = -1, .dm = -1, .sa = -1 };
	umad_init();
	m->fd = umad_open_port(adapter, port);
	if (m->fd < 0)
		return fail(m, -m->fd, "no InfiniBand port can be opened (%s)", strerror(-m->fd));
	if (!umad_get_port(adapter, port, &info)) {
		m->sm_lid = (uint16_t)info.sm_lid;
		umad_release_port(&info);
	}
	if (make_room(m, SRP_MAD_LEN)) {
		srp_mads_close(m);
		return -ENOMEM;
	}
	return 0;
}

void srp_mads_close(struct srp_mads *m)
{
	if (m->fd >= 0)
		umad_close_port(m->fd);
	free(m->buffer);
	m->fd = -1;
	m->buffer = NULL;
}

static int add_agent(struct srp_mads *m, int *ret, int mgmt_class, int version, uint8_t rmpp, long *methods)
{
	*ret = umad_register(m->fd, mgmt_class, version, rmpp, methods);
	return *ret >= 0 ? 0 : fail(m, -*ret, "no agent of class %#x can be registered (%s)", mgmt_class, strerror(-*ret));
}

int srp_mads_serve(struct srp_mads *m)
{
	long methods[16 / sizeof(long)] = { 1 << METHOD_GET | 1 << METHOD_SET };

	return add_agent(m, &m->dm, WIRE_DM_CLASS, 1, 0, methods);
}

int srp_mads_client(struct srp_mads *m)
{
	int r = add_agent(m, &m->dm, WIRE_DM_CLASS, 1, 0, NULL);

	return r ? r : add_agent(m, &m->sa, SA_CLASS, SA_VERSION, RMPP_VERSION, NULL);
}

int srp_mads_fd(const struct srp_mads *m)
{
	return umad_get_fd(m->fd);
}

/* --- the agent --- */

void srp_mads_answer(struct srp_mads *m, const struct srp_dm_unit *u)
{
	int len = SRP_MAD_LEN;

	while (umad_recv(m->fd, m->buffer, &len, 0) >= 0) {
		ib_mad_addr_t *from = umad_get_mad_addr(m->buffer);

		/* The address is that of the request; receivers are not told its Q_Key. */
		from->qkey = htobe32((uint32_t)GSI_QKEY);
		if (len >= SRP_MAD_LEN && srp_dm_answer(u, umad_get_mad(m->buffer)))
			umad_send(m->fd, m->dm, m->buffer, SRP_MAD_LEN, 0, 0);
		len = SRP_MAD_LEN;
	}
}

/* --- asking --- */

/* Sends the MAD in the buffer and takes what answers it, in as many octets as it has. Returns them, or a negative errno. */
static int exchange(struct srp_mads *m, int agent, uint16_t lid)
{
	int len, r;

	umad_set_addr(m->buffer, lid, GSI_QP, 0, GSI_QKEY);
	umad_set_grh(m->buffer, NULL);
	umad_set_pkey(m->buffer, 0);
	r = umad_send(m->fd, agent, m->buffer, SRP_MAD_LEN, TIMEOUT_MS, RETRIES);
	if (r < 0)
		return fail(m, -r, "a MAD cannot be sent to LID %u (%s)", lid, strerror(-r));
	do {
		len = (int)m->room;
		r = umad_recv(m->fd, m->buffer, &len, (RETRIES + 2) * TIMEOUT_MS);
		if (r == -ENOSPC && (len <= (int)m->room || len > (int)TABLE_MAX || make_room(m, (size_t)len)))
			return fail(m, EPROTO, "LID %u answers with a table of %d octets", lid, len);
	} while (r == -ENOSPC || (r >= 0 && r != agent));
	if (r < 0 || umad_status(m->buffer))
		return fail(m, ETIMEDOUT, "LID %u does not answer", lid);
	return len;
}

int srp_mads_ask(struct srp_mads *m, uint16_t lid, uint16_t attribute, uint32_t modifier, uint8_t mad[SRP_MAD_LEN])
{
	const char *why;
	int n;

	memset(m->buffer, 0, umad_size());
	srp_dm_ask(umad_get_mad(m->buffer), ++m->tid, attribute, modifier);
	n = exchange(m, m->dm, lid);
	if (n < 0)
		return n;
	if (n < SRP_MAD_LEN)
		return fail(m, EPROTO, "LID %u answers with %d octets", lid, n);
	memcpy(mad, umad_get_mad(m->buffer), SRP_MAD_LEN);
	why = srp_dm_refusal(mad, m->tid, attribute);
	return why ? fail(m, EPROTO, "%s", why) : 0;
}

/* --- subnet administration --- */

/* Asks for records. Returns octets of them, with the length of one; 0: there are none. */
static int query(struct srp_mads *m, uint8_t method, uint16_t attribute, uint32_t modifier, uint64_t mask, const uint8_t *record,
		 size_t record_len, unsigned *ret_each)
{
	uint8_t *mad;
	int n;

	memset(m->buffer, 0, umad_size() + SRP_MAD_LEN);
	mad = umad_get_mad(m->buffer);
	wire_set_MAD_base_version(mad, 1);
	wire_set_MAD_mgmt_class(mad, SA_CLASS);
	wire_set_MAD_class_version(mad, SA_VERSION);
	mad[3] = method;
	wire_set_MAD_tid(mad, ++m->tid);
	wire_set_MAD_attr_id(mad, attribute);
	wire_set_MAD_attr_mod(mad, modifier);
	if (method == METHOD_GET_TABLE) { /* RMPP: version and type DATA (IBTA vol 1, 13.6.2.1) */
		mad[24] = RMPP_VERSION;
		mad[25] = 1;
	}
	wire_set_SA_mask(mad, mask);
	memcpy(mad + WIRE_SA_DATA, record, record_len);
	n = exchange(m, m->sa, m->sm_lid);
	if (n < 0)
		return n;
	mad = umad_get_mad(m->buffer);
	if (n < WIRE_SA_DATA || wire_get_MAD_attr_id(mad) != attribute || wire_get_MAD_status(mad))
		return fail(m, EPROTO, "subnet administration refuses a query (status %#x)", n < 6 ? 0 : (unsigned)wire_get_MAD_status(mad));
	*ret_each = (unsigned)wire_get_SA_attr_offset(mad) * 8;
	return *ret_each ? n - WIRE_SA_DATA : 0;
}

static int guid_of(struct srp_mads *m, uint16_t lid, uint64_t *ret)
{
	uint8_t record[4] = { 0 }, *at;
	unsigned each;
	int n;

	wire_put16(record, lid);
	n = query(m, METHOD_GET, NODE_RECORD, 0, MASK_LID, record, sizeof(record), &each);
	if (n >= 0 && n < RECORD_BEGIN + WIRE_NODE_INFO_LEN)
		n = fail(m, EPROTO, "subnet administration has no node of LID %u", lid);
	if (n < 0)
		return n;
	at = (uint8_t *)umad_get_mad(m->buffer) + WIRE_SA_DATA + RECORD_BEGIN;
	*ret = wire_get_NODE_INFO_port_guid(at);
	return 0;
}

int srp_mads_ports(struct srp_mads *m, struct srp_port *ret, unsigned max)
{
	uint8_t record[RECORD_BEGIN + 24] = { 0 };
	unsigned each = 0, n = 0;
	int len, r = 0;

	wire_put32(record + RECORD_BEGIN + 20, IS_DM);
	len = query(m, METHOD_GET_TABLE, PORT_INFO_RECORD, CAPABILITY_MATCH, MASK_CAPABILITY, record, sizeof(record), &each);
	if (len < 0)
		return len;
	for (int at = 0; each >= RECORD_BEGIN + 24 && at + (int)each <= len && n < max; at += (int)each) {
		const uint8_t *d = (const uint8_t *)umad_get_mad(m->buffer) + WIRE_SA_DATA + at;

		ret[n].lid = wire_get16(d);
		ret[n].prefix = wire_get_PORT_INFO_gid_prefix(d + RECORD_BEGIN);
		n++;
	}
	for (unsigned i = 0; i < n && !r; i++)
		r = guid_of(m, ret[i].lid, &ret[i].guid);
	return r ? r : (int)n;
}
