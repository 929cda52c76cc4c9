// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Every handle argument of every slot of the provider's table, with each kind of wrong handle: NULL, a live one of each other
 * kind. The result is INVALID_HANDLE with the subtype of that argument, and at the end all objects still work. The calls are
 * those of user space (tests/dat/handles.h) and those of the kernel alone. Freed handles are not tried: in the kernel their
 * memory may be any other's.
 */
#include "check.h"

#include "handles.h"

#include <linux/in.h>
#include <linux/net.h>
#include <linux/slab.h>

static DAT_HANDLE live[KINDS];
static const DAT_PROVIDER *t;

/* --- the calls: everything but the handles is right --- */

static void *memory;
static DAT_CONN_QUAL qual = 7303;
static DAT_LMR_CONTEXT context;
static DAT_VLEN length;
static DAT_VADDR alignment;
static DAT_IA_ATTR attr;
#define FLAGS NONE
#define NAME ia_name
#define REGION(field, value) ((DAT_REGION_DESCRIPTION){ .field = (value) })

#define CALLS(X)                                                                                                              \
	CALLS_OF_BOTH(X)                                                                                                      \
	X(ia_memtype_hint, t->ia_memtype_hint_func(h[0], DAT_MEM_TYPE_VIRTUAL, 64, DAT_MEM_OPTIMIZE_DONT_CARE, &length,       \
						   &alignment), { IA, 11 })                                                   \
	X(ia_reserved_lmr, t->ia_reserved_lmr_func(h[0], &made, &context), { IA, 11 })                                        \
	X(evd_kcreate, t->evd_kcreate_func(h[0], 4, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME, DAT_EVD_DTO_FLAG, &made), { IA, 11 }) \
	X(evd_modify_upcall, t->evd_modify_upcall_func(h[0], DAT_UPCALL_DISABLE, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW),      \
	  { EVD, 21 })                                                                                                        \
	X(lmr_kcreate, t->lmr_kcreate_func(h[0], DAT_MEM_TYPE_VIRTUAL, REGION(for_va, memory), 64, h[1],                      \
					   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &made,          \
					   &context, NULL, NULL, NULL), { IA, 11 }, { PZ, 15 })                               \
	X(lmr_kcreate_of_lmr, t->lmr_kcreate_func(h[0], DAT_MEM_TYPE_LMR, REGION(for_lmr_handle, h[1]), 64, h[2],             \
						  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,          \
						  &made, &context, NULL, NULL, NULL), { IA, 11 }, { LMR, 13 }, { PZ, 15 })    \
	X(lmr_allocate, t->lmr_allocate_func(h[0], h[1], 4, DAT_LMR_SCOPE_PZ, &made), { IA, 11 }, { PZ, 15 })                 \
	X(lmr_fmr, t->lmr_fmr_func(h[0], DAT_MEM_TYPE_VIRTUAL, REGION(for_va, memory), 64, DAT_MEM_PRIV_ALL_FLAG,             \
				   DAT_VA_TYPE_VA, h[1], cookie, FLAGS, NULL, NULL), { LMR, 13 }, { EP, 12 })                 \
	X(lmr_invalidate, t->lmr_invalidate_func(h[0], h[1], cookie, FLAGS), { LMR, 13 }, { EP, 12 })

CALLS(FUNCTION)

static const struct call calls[] = { CALLS(ROW) };

/* --- the sweep --- */

static void try(const struct call *c, int i, DAT_HANDLE bad, const char *what)
{
	DAT_RETURN expect = DAT_ERROR(DAT_INVALID_HANDLE, c->arg[i].sub);
	DAT_HANDLE h[6];
	int k;

	for (k = 0; k < 6; k++)
		h[k] = c->arg[k].sub && c->arg[k].kind < KINDS ? live[c->arg[k].kind] : NULL;
	h[i] = bad;
	if (!check(i + 1, c->name, c->fn(h), expect))
		pr_err("%s: handle %d of %s was %s\n", KBUILD_MODNAME, i + 1, c->name, what);
}

static void sweep(const struct call *c, int i)
{
	const struct arg *a = &c->arg[i];
	int k;

	if (!a->null_ok)
		try(c, i, DAT_HANDLE_NULL, "NULL");
	for (k = 0; k < KINDS; k++)
		if (live[k] && (enum kind)k != a->kind && a->kind != KINDS)
			try(c, i, live[k], names[k]);
}

static void all_answer(void)
{
	IS(t->ia_query_func(live[IA], NULL, DAT_IA_FIELD_ALL, &out.ia, 0, NULL), OK);
	IS(t->pz_query_func(live[PZ], DAT_PZ_FIELD_ALL, &out.pz), OK);
	IS(t->lmr_query_func(live[LMR], DAT_LMR_FIELD_ALL, &out.lmr), OK);
	IS(t->rmr_query_func(live[RMR], DAT_RMR_FIELD_ALL, &out.rmr), OK);
	IS(t->evd_query_func(live[EVD], DAT_EVD_FIELD_ALL, &out.evd), OK);
	IS(t->ep_query_func(live[EP], DAT_EP_FIELD_ALL, &out.ep), OK);
	IS(t->srq_query_func(live[SRQ], DAT_SRQ_FIELD_ALL, &out.srq), OK);
	IS(t->psp_query_func(live[PSP], DAT_PSP_FIELD_ALL, &out.psp), OK);
	IS(t->rsp_query_func(live[RSP], DAT_RSP_FIELD_ALL, &out.rsp), OK);
	IS(t->csp_query_func(live[CSP], DAT_CSP_FIELD_ALL, &out.csp), OK);
	IS(t->cr_query_func(live[CR], DAT_CR_FIELD_ALL, &out.cr), OK);
}

/* --- the objects --- */

static DAT_EP_HANDLE endpoint(DAT_EVD_HANDLE conn)
{
	DAT_HANDLE h = DAT_HANDLE_NULL;

	IS(dat_ep_create(live[IA], live[PZ], live[EVD], live[EVD], conn, NULL, &h), OK);
	return h;
}

/* One that another endpoint makes, which has an EVD of its own. */
static void make_request(void)
{
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL at;
	DAT_EVENT ev;

	IS(dat_evd_kcreate(live[IA], 16, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG, &evd), OK);
	IS(dat_psp_create_any(live[IA], &at, live[EVD], DAT_PSP_CONSUMER_FLAG, &live[PSP]), OK);
	IS(dat_ep_connect(endpoint(evd), attr.ia_address_ptr, at, 60000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0), OK);
	if (TRUE(next(live[EVD], &ev) == DAT_CONNECTION_REQUEST_EVENT))
		live[CR] = ev.event_data.cr_arrival_event_data.cr_handle;
}

static void make_live(void)
{
	const DAT_EVD_FLAGS flags = DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG;
	struct sockaddr_in at;

	IS(dat_ia_query(live[IA], NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), OK);
	memcpy(&at, attr.ia_address_ptr, sizeof(at));
	at.sin_port = 0;
	IS(dat_pz_create(live[IA], &live[PZ]), OK);
	IS(dat_evd_kcreate(live[IA], 16, DAT_UPCALL_DISABLE, NULL, flags, &live[EVD]), OK);
	IS(dat_lmr_kcreate(live[IA], DAT_MEM_TYPE_VIRTUAL, REGION(for_va, memory), 64, live[PZ], DAT_MEM_PRIV_ALL_FLAG,
			   DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &live[LMR], &context, NULL, NULL, NULL), OK);
	IS(dat_rmr_create(live[PZ], &live[RMR]), OK);
	IS(dat_srq_create(live[IA], live[PZ], &srq_attr, &live[SRQ]), OK);
	live[EP] = endpoint(live[EVD]);
	IS(dat_rsp_create(live[IA], 7304, endpoint(live[EVD]), live[EVD], &live[RSP]), OK);
	IS(dat_csp_create(live[IA], &comm, (DAT_IA_ADDRESS_PTR)&at, live[EVD], &live[CSP]), OK);
	make_request();
}

static int __init handles_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	size_t c;
	int i;

	memory = kzalloc(64, GFP_KERNEL);
	if (!memory)
		return -ENOMEM;
	if (IS(dat_ia_open(ia_name, 8, &async, &live[IA]), OK)) {
		t = DAT_HANDLE_TO_PROVIDER(live[IA]);
		make_live();
		all_answer();
		for (c = 0; c < ARRAY_SIZE(calls); c++)
			for (i = 0; i < 6 && calls[c].arg[i].sub; i++)
				sweep(&calls[c], i);
		all_answer();
		IS(dat_ia_close(live[IA], DAT_CLOSE_ABRUPT_FLAG), OK);
	}
	kfree(memory);
	return live[IA] ? 0 : -ENODEV;
}

static void __exit handles_exit(void)
{
}

module_init(handles_init);
module_exit(handles_exit);
MODULE_DESCRIPTION("Handles of kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
