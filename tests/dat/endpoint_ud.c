/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagram endpoints of the IB extension: both sides of a connect receive an address and use it. */
#include "endpoint_lib.h"

#include <dat2/dat_ib_extensions.h>

enum { GRH = 40, LEN = 100, NO_LISTENER = 4 /* a port that is never assigned */ };

static struct el t;
static DAT_EP_HANDLE ep, peer;
static char words[256];

static DAT_EP_HANDLE make(struct mp_end *e)
{
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ud;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	OK(dat_ep_create(e->ia, e->pz, e->recv, e->req, e->conn, &attr, &ud));
	return ud;
}

static DAT_CR_HANDLE request(void)
{
	DAT_EVENT ev = mp_next(t.p.b.cr);

	CHECK_MSG((int)ev.event_number == DAT_IB_UD_CONNECTION_REQUEST_EVENT, "event %x",
		  ev.event_number);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

static DAT_IB_EXTENSION_EVENT_DATA event(struct mp_end *e, DAT_EP_HANDLE about, int number,
					 DAT_IB_EXT_TYPE type, const char *data, DAT_COUNT n)
{
	DAT_EVENT ev = mp_next(e->conn);
	DAT_IB_EXTENSION_EVENT_DATA x;

	memcpy(&x, ev.event_extension_data, sizeof(x));
	CHECK_MSG((int)ev.event_number == number, "event %x", ev.event_number);
	CHECK(ev.event_data.connect_event_data.ep_handle == about && x.type == type);
	CHECK(ev.event_data.connect_event_data.private_data_size >= n);
	CHECK(!n || !memcmp(ev.event_data.connect_event_data.private_data, data, (size_t)n));
	return x;
}

/* Sends from one end to the other by the address of its event. */
static void carry(struct mp_end *from, DAT_EP_HANDLE by, struct mp_end *to, DAT_EP_HANDLE at,
		 DAT_IB_EXTENSION_EVENT_DATA *x)
{
	struct mp_end r = *to;
	DAT_LMR_TRIPLET l = mp_at(from, 4096, LEN);
	DAT_DTO_COMPLETION_EVENT_DATA d;

	r.ep = at;
	mp_paint(from->buf + 4096, LEN, 3);
	memset(to->buf, 0, GRH + LEN);
	OK(mp_recv(&r, 0, 1024, 8));
	CHECK(x->remote_ah.ah && x->status == DAT_OP_SUCCESS);
	OK(dat_ib_post_send_ud(by, 1, &l, &x->remote_ah, mp_cookie(9), DAT_COMPLETION_DEFAULT_FLAG));
	DTO(from->req, DAT_IB_DTO_SEND_UD, 9, DAT_DTO_SUCCESS);
	d = DTO(to->recv, DAT_IB_DTO_RECV_UD, 8, DAT_DTO_SUCCESS);
	CHECK(d.ep_handle == at && d.transfered_length == GRH + LEN);
	CHECK(mp_painted(to->buf + GRH, LEN, 3));
}

int main(void)
{
	DAT_IB_EXTENSION_EVENT_DATA xa, xb, again;
	DAT_EP_ATTR attr = { .service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD };
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM p;

	for (size_t i = 0; i < sizeof(words); i++)
		words[i] = (char)(i * 41 + 1);
	el_open(&t);
	if (mp_is_iwarp()) {
		WANT(dat_ep_create(t.p.a.ia, t.p.a.pz, t.p.a.recv, t.p.a.req, t.p.a.conn, &attr, &ep),
		     ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
		el_close(&t);
		return 0;
	}
	ep = make(&t.p.a);
	peer = make(&t.p.b);

	el_connect(&t, ep, t.qual, 48, words);
	cr = request();
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	CHECK(p.private_data_size >= 48 && !memcmp(p.private_data, words, 48));
	WANT(dat_cr_accept(cr, t.p.b.ep, 0, NULL), ARG(2)); /* not a datagram endpoint */
	OK(dat_cr_accept(cr, peer, 48, words + 5));
	xb = event(&t.p.b, peer, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
		   DAT_IB_UD_PASSIVE_REMOTE_AH, words, 48);
	xa = event(&t.p.a, ep, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH,
		   words + 5, 48);
	CHECK(el_state(ep) == DAT_EP_STATE_CONNECTED && el_state(peer) == DAT_EP_STATE_CONNECTED);
	carry(&t.p.a, ep, &t.p.b, peer, &xa);
	carry(&t.p.b, peer, &t.p.a, ep, &xb);

	/* once more, and to another endpoint; rejected; and without a listener */
	el_connect(&t, ep, t.qual, 0, NULL);
	OK(dat_cr_accept(request(), peer, 0, NULL));
	event(&t.p.b, peer, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_PASSIVE_REMOTE_AH, NULL,
	      0);
	again = event(&t.p.a, ep, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH, NULL,
		      0);
	carry(&t.p.a, ep, &t.p.b, peer, &again);
	el_connect(&t, ep, t.qual, 0, NULL);
	OK(dat_cr_reject(request(), 20, words));
	event(&t.p.a, ep, DAT_IB_UD_CONNECTION_REJECT_EVENT, DAT_IB_UD_CONNECT_REJECT, words, 20);
	el_connect(&t, ep, NO_LISTENER, 0, NULL);
	event(&t.p.a, ep, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR, NULL, 0);

	/* context and address are freed once */
	OK(dat_ib_ud_cm_free(ep, again.context));
	WANT(dat_ib_ud_cm_free(ep, again.context), ARG(2));
	carry(&t.p.a, ep, &t.p.b, peer, &again);
	OK(dat_ib_ud_ah_free(ep, &again.remote_ah));
	WANT(dat_ib_ud_ah_free(ep, &again.remote_ah), ARG(2));
	OK(dat_ib_ud_ah_free(ep, &xa.remote_ah));
	OK(dat_ib_ud_cm_free(ep, xa.context));

	OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(dat_ep_reset(ep));
	el_connect(&t, ep, t.qual, 0, NULL);
	OK(dat_cr_accept(request(), peer, 0, NULL));
	xb = event(&t.p.b, peer, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_PASSIVE_REMOTE_AH,
		   NULL, 0);
	event(&t.p.a, ep, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH, NULL, 0);
	carry(&t.p.b, peer, &t.p.a, ep, &xb);
	OK(dat_ep_free(ep));
	OK(dat_ep_free(peer));
	el_quiet(&t);
	el_close(&t);
	return 0;
}
