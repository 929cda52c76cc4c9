/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every handle argument of every slot of the provider's table, with each kind of wrong handle:
 * NULL, a freed one, one of each other kind. The result is INVALID_HANDLE with the subtype of that
 * argument, and at the end all objects still work. The test calls the provider itself, since a
 * registry may answer for it.
 */
#include "events_lib.h"
#include "handles.h"

#include <dat2/dat_registry.h>

static DAT_HANDLE live[KINDS], freed[KINDS];
static const DAT_PROVIDER *t;

/* --- the objects --- */

static char memory[4096];
static struct mp_end peer;
static DAT_CONN_QUAL qual;

static DAT_HANDLE make_lmr(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_HANDLE h;

	OK(t->lmr_create_func(live[IA], DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), live[PZ],
			      DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &h, NULL, NULL, NULL, NULL));
	return h;
}

static DAT_HANDLE make_evd(void)
{
	DAT_HANDLE h;

	OK(t->evd_create_func(live[IA], 16, DAT_HANDLE_NULL,
			      (DAT_EVD_FLAGS)(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG), &h));
	return h;
}

static DAT_HANDLE make_ep(void)
{
	DAT_HANDLE h;

	OK(t->ep_create_func(live[IA], live[PZ], live[EVD], live[EVD], live[EVD], NULL, &h));
	return h;
}

static DAT_HANDLE make_csp(DAT_RETURN *ret)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	DAT_HANDLE h = DAT_HANDLE_NULL;

	*ret = t->csp_create_func(live[IA], &comm, (DAT_IA_ADDRESS_PTR)&sin, live[EVD], &h);
	return h;
}

static DAT_HANDLE make_rsp(DAT_HANDLE ep)
{
	DAT_CONN_QUAL any;
	DAT_HANDLE psp, rsp;

	/* a qualifier that was free a moment ago */
	OK(t->psp_create_any_func(live[IA], &any, live[EVD], DAT_PSP_CONSUMER_FLAG, &psp));
	OK(t->psp_free_func(psp));
	OK(t->rsp_create_func(live[IA], any, ep, live[EVD], &rsp));
	return rsp;
}

static DAT_HANDLE request(void)
{
	DAT_EVENT ev;

	OK(dat_ep_connect(peer.ep, peer.attr.ia_address_ptr, qual, MP_TIMEOUT, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	OK(t->evd_wait_func(live[EVD], MP_TIMEOUT, 1, &ev, &n));
	CHECK(ev.event_number == DAT_CONNECTION_REQUEST_EVENT);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

static void make_live(void)
{
	DAT_SRQ_ATTR srq = { 4, 1, DAT_SRQ_LW_DEFAULT };
	DAT_EVD_HANDLE async;
	DAT_RETURN ret;

	OK(dats_get_ia_handle(ev_open(&async), &live[IA]));
	t = *(const DAT_PROVIDER **)live[IA];
	OK(t->pz_create_func(live[IA], &live[PZ]));
	OK(t->cno_create_func(live[IA], DAT_OS_WAIT_PROXY_AGENT_NULL, &live[CNO]));
	live[EVD] = make_evd();
	live[LMR] = make_lmr();
	OK(t->rmr_create_func(live[PZ], &live[RMR]));
	OK(t->srq_create_func(live[IA], live[PZ], &srq, &live[SRQ]));
	live[EP] = make_ep();
	OK(t->psp_create_any_func(live[IA], &qual, live[EVD], DAT_PSP_CONSUMER_FLAG, &live[PSP]));
	live[RSP] = make_rsp(make_ep());
	live[CSP] = make_csp(&ret);
	OK(ret);
	live[CR] = request();
}

/* The same objects once more, freed; the adapter among them, with objects of its own. */
static void make_freed(void)
{
	DAT_SRQ_ATTR srq = { 4, 1, DAT_SRQ_LW_DEFAULT };
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	DAT_HANDLE ep;
	DAT_RETURN ret;

	freed[CR] = live[CR];
	OK(t->cr_reject_func(live[CR], 0, NULL));
	CHECK(mp_next(peer.conn).event_number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
	      mp_is_iwarp());
	OK(dat_ep_reset(peer.ep));
	live[CR] = request();
	freed[CSP] = make_csp(&ret);
	OK(t->csp_free_func(freed[CSP]));
	ep = make_ep();
	freed[RSP] = make_rsp(ep);
	OK(t->rsp_free_func(freed[RSP]));
	freed[EP] = ep;
	OK(t->ep_free_func(ep));
	OK(t->psp_create_any_func(live[IA], &(DAT_CONN_QUAL){ 0 }, live[EVD],
				  DAT_PSP_CONSUMER_FLAG, &freed[PSP]));
	OK(t->psp_free_func(freed[PSP]));
	OK(t->srq_create_func(live[IA], live[PZ], &srq, &freed[SRQ]));
	OK(t->srq_free_func(freed[SRQ]));
	OK(t->rmr_create_func(live[PZ], &freed[RMR]));
	OK(t->rmr_free_func(freed[RMR]));
	freed[LMR] = make_lmr();
	OK(t->lmr_free_func(freed[LMR]));
	freed[EVD] = make_evd();
	OK(t->evd_free_func(freed[EVD]));
	OK(t->cno_create_func(live[IA], DAT_OS_WAIT_PROXY_AGENT_NULL, &freed[CNO]));
	OK(t->cno_free_func(freed[CNO]));
	OK(t->pz_create_func(live[IA], &freed[PZ]));
	OK(t->pz_free_func(freed[PZ]));
	ia = ev_open(&async);
	OK(dats_get_ia_handle(ia, &freed[IA]));
	OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* --- the calls: everything but the handles is right --- */

static DAT_CNO_PARAM cno_param;
static DAT_FD fd;
#define FLAGS ((DAT_COMPLETION_FLAGS)0)
#define NAME ((char *)mp_ia_name())

static DAT_RETURN extension(DAT_HANDLE h, DAT_EXTENDED_OP op, ...)
{
	va_list ap;
	DAT_RETURN ret;

	va_start(ap, op);
	ret = t->handle_extendedop_func(h, op, ap);
	va_end(ap);
	return ret;
}

#define CALLS(X) \
	CALLS_OF_BOTH(X) \
	X(cno_create, t->cno_create_func(h[0], DAT_OS_WAIT_PROXY_AGENT_NULL, &made), { IA, 11 }) \
	X(cno_modify_agent, t->cno_modify_agent_func(h[0], DAT_OS_WAIT_PROXY_AGENT_NULL), \
	  { CNO, 19 }) \
	X(cno_query, t->cno_query_func(h[0], DAT_CNO_FIELD_PROXY, &cno_param), { CNO, 19 }) \
	X(cno_free, t->cno_free_func(h[0]), { CNO, 19 }) \
	X(cno_wait, t->cno_wait_func(h[0], 0, &made), { CNO, 19 }) \
	X(cno_fd_create, t->cno_fd_create_func(h[0], &fd, &made), { IA, 11 }) \
	X(cno_trigger, t->cno_trigger_func(h[0], &made), { CNO, 19 }) \
	X(evd_create, t->evd_create_func(h[0], 4, h[1], DAT_EVD_DTO_FLAG, &made), { IA, 11 }, \
	  { CNO, 19, true }) \
	X(evd_modify_cno, t->evd_modify_cno_func(h[0], h[1]), { EVD, 21 }, { CNO, 19, true }) \
	X(evd_enable, t->evd_enable_func(h[0]), { EVD, 21 }) \
	X(evd_disable, t->evd_disable_func(h[0]), { EVD, 21 }) \
	X(evd_wait, t->evd_wait_func(h[0], 0, 1, &out.ev, &n), { EVD, 21 }) \
	X(evd_set_unwaitable, t->evd_set_unwaitable_func(h[0]), { EVD, 21 }) \
	X(evd_clear_unwaitable, t->evd_clear_unwaitable_func(h[0]), { EVD, 21 }) \
	X(lmr_create, t->lmr_create_func(h[0], DAT_MEM_TYPE_VIRTUAL, \
					 (DAT_REGION_DESCRIPTION){ .for_va = memory }, 64, h[1], \
					 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &made, NULL, NULL, \
					 NULL, NULL), { IA, 11 }, { PZ, 15 }) \
	X(lmr_create_of_lmr, t->lmr_create_func(h[0], DAT_MEM_TYPE_LMR, \
						(DAT_REGION_DESCRIPTION){ .for_lmr_handle = h[1] }, \
						64, h[2], DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, \
						&made, NULL, NULL, NULL, NULL), \
	  { IA, 11 }, { LMR, 13 }, { PZ, 15 }) \
	X(fetch_and_add, extension(h[0], DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)1, &segment, cookie, \
				   &far, FLAGS), { EP, 12 })

CALLS(FUNCTION)

static const struct call calls[] = { CALLS(ROW) };

/* --- the sweep --- */

static int wrong;

static void try(const struct call *c, int i, DAT_HANDLE bad, const char *what)
{
	DAT_RETURN expect = (DAT_RETURN)DAT_ERROR(DAT_INVALID_HANDLE, c->arg[i].sub), ret;
	const char *major = "?", *minor = "?";
	DAT_HANDLE h[6];

	for (int k = 0; k < 6; k++)
		h[k] = c->arg[k].sub && c->arg[k].kind < KINDS ? live[c->arg[k].kind] : NULL;
	h[i] = bad;
	ret = c->fn(h);
	if (ret == expect)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "%s, handle %d is %s: %08x %s %s, not %08x\n", c->name, i + 1, what, ret,
		major, minor, expect);
	wrong++;
}

static void sweep(const struct call *c, int i)
{
	const struct arg *a = &c->arg[i];
	char what[32];

	if (!a->null_ok)
		try(c, i, DAT_HANDLE_NULL, "NULL");
	for (int k = 0; k < KINDS; k++) {
		if ((enum kind)k == a->kind || a->kind == KINDS) {
			snprintf(what, sizeof(what), "a freed %s", names[k]);
			try(c, i, freed[k], what);
		} else {
			snprintf(what, sizeof(what), "a live %s", names[k]);
			try(c, i, live[k], what);
		}
	}
}

static void all_answer(void)
{
	OK(t->ia_query_func(live[IA], NULL, DAT_IA_FIELD_ALL, &out.ia, 0, NULL));
	OK(t->pz_query_func(live[PZ], DAT_PZ_FIELD_ALL, &out.pz));
	OK(t->lmr_query_func(live[LMR], DAT_LMR_FIELD_ALL, &out.lmr));
	OK(t->rmr_query_func(live[RMR], DAT_RMR_FIELD_ALL, &out.rmr));
	OK(t->evd_query_func(live[EVD], DAT_EVD_FIELD_ALL, &out.evd));
	OK(t->cno_query_func(live[CNO], DAT_CNO_FIELD_PROXY, &cno_param));
	OK(t->ep_query_func(live[EP], DAT_EP_FIELD_ALL, &out.ep));
	OK(t->srq_query_func(live[SRQ], DAT_SRQ_FIELD_ALL, &out.srq));
	OK(t->psp_query_func(live[PSP], DAT_PSP_FIELD_ALL, &out.psp));
	OK(t->rsp_query_func(live[RSP], DAT_RSP_FIELD_ALL, &out.rsp));
	OK(t->csp_query_func(live[CSP], DAT_CSP_FIELD_ALL, &out.csp));
	OK(t->cr_query_func(live[CR], DAT_CR_FIELD_ALL, &out.cr));
}

int main(void)
{
	struct mp p = { 0 };

	mp_open_end(&p, &peer);
	make_live();
	make_freed();
	all_answer();
	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
		for (int i = 0; i < 6 && calls[c].arg[i].sub; i++)
			sweep(&calls[c], i);
	all_answer();
	OK(dat_ia_close(peer.ia, DAT_CLOSE_ABRUPT_FLAG));
	OK(t->ia_close_func(live[IA], DAT_CLOSE_ABRUPT_FLAG));
	printf("%zu calls, %d wrong answers\n", sizeof(calls) / sizeof(calls[0]), wrong);
	return wrong ? 1 : 0;
}
