/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "endpoint_lib.h"

void el_open(struct el *t)
{
	memset(t, 0, sizeof(*t));
	mp_open(&t->p);
	OK(dat_psp_create_any(t->p.b.ia, &t->qual, t->p.b.cr, DAT_PSP_CONSUMER_FLAG, &t->psp));
	CHECK(t->qual >= 1024 && t->qual <= 65535);
}

void el_close(struct el *t)
{
	OK(dat_psp_free(t->psp));
	mp_close(&t->p);
}

DAT_EP_HANDLE el_ep(struct mp_end *e)
{
	DAT_EP_HANDLE ep;

	OK(dat_ep_create(e->ia, e->pz, e->recv, e->req, e->conn, NULL, &ep));
	return ep;
}

DAT_EP_STATE el_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE s;

	OK(dat_ep_get_status(ep, &s, NULL, NULL));
	return s;
}

void el_connect(struct el *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_COUNT n, const void *data)
{
	OK(dat_ep_connect(ep, t->p.b.attr.ia_address_ptr, qual, MP_TIMEOUT, n, (DAT_PVOID)data,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

DAT_CR_HANDLE el_request(struct el *t)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	/* without a mask bit for it */
	if (dat_evd_wait(t->p.b.cr, MP_TIMEOUT, 1, &ev, &nmore))
		CHECK_MSG(0, "no request came; the other side heard event %x",
			  dat_evd_dequeue(t->p.a.conn, &ev) ? 0u : (unsigned int)ev.event_number);
	CHECK(ev.event_number == DAT_CONNECTION_REQUEST_EVENT);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

DAT_CONNECTION_EVENT_DATA el_event(struct mp_end *e, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT ev = mp_next(e->conn);
	DAT_CONNECTION_EVENT_DATA *d = &ev.event_data.connect_event_data;

	CHECK_MSG(ev.event_number == number, "event %x, not %x", ev.event_number, number);
	CHECK(d->ep_handle == ep);
	/* Programs look at the data of any event without asking how much there is: dtestcm does. */
	CHECK(d->private_data);
	for (int i = d->private_data_size; i < 64; i++)
		CHECK_MSG(((char *)d->private_data)[i] == 0, "of %d bytes of private data, byte %d is "
			  "not 0", d->private_data_size, i);
	return *d;
}

void el_join(struct el *t, DAT_EP_HANDLE ep, DAT_EP_HANDLE peer)
{
	el_connect(t, ep, t->qual, 0, NULL);
	OK(dat_cr_accept(el_request(t), peer, 0, NULL));
	el_event(&t->p.a, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_event(&t->p.b, peer, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void el_part(struct el *t, DAT_EP_HANDLE ep, DAT_EP_HANDLE peer)
{
	OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	el_event(&t->p.a, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	el_event(&t->p.b, peer, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void forget(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
		;
}

/* The request that carries this word; those before it are left over from earlier. */
static DAT_CR_HANDLE request_of(struct el *t, uint32_t word, bool clean)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM p;

	for (;;) {
		cr = el_request(t);
		OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
		if (p.private_data_size >= (DAT_COUNT)sizeof(word) &&
		    !memcmp(p.private_data, &word, sizeof(word)))
			return cr;
		CHECK(!clean);
		dat_cr_reject(cr, 0, NULL);
	}
}

static void another(struct el *t, bool clean)
{
	static uint32_t word = 0x7ab1e5;
	DAT_EP_HANDLE ep = el_ep(&t->p.a), peer = el_ep(&t->p.b);
	DAT_EVENT ev;

	word++;
	el_connect(t, ep, t->qual, sizeof(word), &word);
	OK(dat_cr_accept(request_of(t, word, clean), peer, 0, NULL));
	do {
		ev = mp_next(t->p.a.conn);
		CHECK(!clean || ev.event_data.connect_event_data.ep_handle == ep);
	} while (ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED);
	do {
		ev = mp_next(t->p.b.conn);
		CHECK(!clean || ev.event_data.connect_event_data.ep_handle == peer);
	} while (ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED);
	el_part(t, ep, peer);
	OK(dat_ep_free(ep));
	OK(dat_ep_free(peer));
	if (!clean)
		forget(t->p.b.cr);
	mp_none(t->p.a.conn);
	mp_none(t->p.b.conn);
	mp_none(t->p.b.cr);
}

/* A connection made after the fact has all earlier events of either end before its own. */
void el_quiet(struct el *t)
{
	another(t, true);
}

void el_settle(struct el *t)
{
	another(t, false);
}
