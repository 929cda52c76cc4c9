/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Exported calls of librdmacm. */
#include "check.h"

#include <errno.h>
#include <rdma/rdma_cma.h>

#define CM "librdmacm.so.1"
#define REAL(type, name, ...) \
	static type (*real)(__VA_ARGS__); \
	if (!real) \
		*(void **)&real = check_real(CM, name)

/* IBTA 12.6.5 to 12.6.7, 12.11: octets of private data, less the header of the RDMA IP CM service (annex A11). */
#define REQ_OCTETS 56
#define REP_OCTETS 196
#define REJ_OCTETS 148
#define SIDR_REQ_OCTETS 180
#define SIDR_REP_OCTETS 136

static void add(enum object kind, void *ptr)
{
	struct check_site site;

	check_here(&site);
	ut_lock(&check_lock);
	check_add(kind, ptr, &site);
	ut_unlock(&check_lock);
}

EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *ch;

	REAL(struct rdma_event_channel *, "rdma_create_event_channel", void);
	ch = real();
	if (ch)
		add(CM_CHANNEL, ch);
	return ch;
}

EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *ch)
{
	struct check_site site;

	REAL(void, "rdma_destroy_event_channel", struct rdma_event_channel *);
	check_here(&site);
	if (check_is_gone(CM_CHANNEL, ch, &site))
		return;
	ut_lock(&check_lock);
	check_drop(CM_CHANNEL, ch);
	ut_unlock(&check_lock);
	real(ch);
}

EXPORT int rdma_create_id(struct rdma_event_channel *ch, struct rdma_cm_id **id, void *user, enum rdma_port_space ps)
{
	int r;

	REAL(int, "rdma_create_id", struct rdma_event_channel *, struct rdma_cm_id **, void *, enum rdma_port_space);
	r = real(ch, id, user, ps);
	if (r == 0)
		add(CM_ID, *id);
	return r;
}

EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct check_record *rec;
	struct check_site site;
	unsigned untaken;
	int r;

	REAL(int, "rdma_destroy_id", struct rdma_cm_id *);
	check_here(&site);
	if (check_is_gone(CM_ID, id, &site))
		return EINVAL;
	ut_lock(&check_lock);
	rec = check_find(CM_ID, id);
	untaken = rec && pthread_equal(rec->taker, pthread_self()) ? rec->untaken : 0;
	ut_unlock(&check_lock);
	if (untaken && untaken < UINT32_MAX / 2)
		check_report(CHECK_CM_EVENTS, &site, "an identifier is destroyed before %u of its events were acknowledged: this call waits for that",
			     untaken);
	r = real(id);
	if (r == 0) {
		ut_lock(&check_lock);
		check_drop(CM_ID, id);
		ut_unlock(&check_lock);
	}
	return r;
}

/* --- events --- */

/* The identifier that waits for its acknowledgement: of a request the listener. */
static struct rdma_cm_id *counted(const struct rdma_cm_event *e)
{
	return e->event == RDMA_CM_EVENT_CONNECT_REQUEST ? e->listen_id : e->id;
}

static void count(struct rdma_cm_id *id, int by)
{
	struct check_record *r;

	ut_lock(&check_lock);
	r = check_find(CM_ID, id);
	if (r) {
		r->untaken += (unsigned)by;
		r->taker = by > 0 ? pthread_self() : r->taker;
	}
	ut_unlock(&check_lock);
}

EXPORT int rdma_get_cm_event(struct rdma_event_channel *ch, struct rdma_cm_event **e)
{
	int r;

	REAL(int, "rdma_get_cm_event", struct rdma_event_channel *, struct rdma_cm_event **);
	r = real(ch, e);
	if (r != 0)
		return r;
	if ((*e)->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		add(CM_ID, (*e)->id);
	count(counted(*e), 1);
	return 0;
}

EXPORT int rdma_ack_cm_event(struct rdma_cm_event *e)
{
	struct rdma_cm_id *id = e ? counted(e) : NULL;

	REAL(int, "rdma_ack_cm_event", struct rdma_cm_event *);
	if (id)
		count(id, -1);
	return real(e);
}

/* --- connections --- */

static void look_at_private(const struct rdma_cm_id *id, const char *call, unsigned length, unsigned connected, unsigned datagram)
{
	unsigned most = id->ps == RDMA_PS_UDP || id->ps == RDMA_PS_IPOIB ? datagram : connected;
	struct check_site site;

	if (length <= most)
		return;
	check_here(&site);
	check_report(CHECK_PRIVATE, &site, "%s has %u octets of private data, and InfiniBand and RoCE carry %u", call, length, most);
}

EXPORT int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	struct check_record *r;

	REAL(int, "rdma_connect", struct rdma_cm_id *, struct rdma_conn_param *);
	if (p)
		look_at_private(id, "rdma_connect()", p->private_data_len, REQ_OCTETS, SIDR_REQ_OCTETS);
	ut_lock(&check_lock);
	r = id->qp ? check_find(QP, id->qp) : NULL;
	if (r)
		r->qp.ready = true;
	ut_unlock(&check_lock);
	return real(id, p);
}

EXPORT int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	struct check_record *r;
	int err;

	REAL(int, "rdma_accept", struct rdma_cm_id *, struct rdma_conn_param *);
	if (p)
		look_at_private(id, "rdma_accept()", p->private_data_len, REP_OCTETS, SIDR_REP_OCTETS);
	err = real(id, p);
	ut_lock(&check_lock);
	r = err == 0 && id->qp ? check_find(QP, id->qp) : NULL;
	if (r) {
		r->qp.accepted = !r->qp.srq;
		r->qp.ready = true;
	}
	ut_unlock(&check_lock);
	return err;
}

EXPORT int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	REAL(int, "rdma_reject", struct rdma_cm_id *, const void *, uint8_t);
	look_at_private(id, "rdma_reject()", length, REJ_OCTETS, SIDR_REP_OCTETS);
	return real(id, data, length);
}
