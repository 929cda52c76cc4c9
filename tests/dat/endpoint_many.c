/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thousand connections one after the other: made, used, ended by either side in turn, reset or
 * freed; nothing is left at the end.
 */
#include "endpoint_lib.h"

enum { ROUNDS = 1000 };

static struct el t;

static void use(DAT_EP_HANDLE ep, DAT_EP_HANDLE peer, unsigned int i)
{
	struct mp_end a = t.p.a, b = t.p.b;

	a.ep = ep;
	b.ep = peer;
	OK(mp_recv(&b, 0, 64, i));
	OK(mp_send(&a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	DTO(b.recv, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS);
	DTO(a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
}

static void part(DAT_EP_HANDLE ep, DAT_EP_HANDLE peer, unsigned int i)
{
	OK(dat_ep_disconnect(i & 1 ? ep : peer, i & 2 ? DAT_CLOSE_GRACEFUL_FLAG
						      : DAT_CLOSE_ABRUPT_FLAG));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	el_event(&t.p.b, peer, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static DAT_EP_HANDLE renew(struct mp_end *e, DAT_EP_HANDLE ep, unsigned int i)
{
	if (i & 4) {
		OK(dat_ep_free(ep));
		return el_ep(e);
	}
	OK(dat_ep_reset(ep));
	CHECK(el_state(ep) == DAT_EP_STATE_UNCONNECTED);
	return ep;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : ROUNDS;
	DAT_EP_HANDLE ep, peer;

	el_open(&t);
	ep = el_ep(&t.p.a);
	peer = el_ep(&t.p.b);
	for (unsigned int i = 0; i < rounds; i++) {
		el_join(&t, ep, peer);
		use(ep, peer, i);
		part(ep, peer, i);
		ep = renew(&t.p.a, ep, i);
		peer = renew(&t.p.b, peer, i >> 1);
	}
	el_quiet(&t);
	OK(dat_ep_free(ep));
	OK(dat_ep_free(peer));
	el_close(&t);
	printf("%u connections\n", rounds);
	return 0;
}
