// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The rules of DAT that tests/dat holds the user-space provider to, for kDAPL: return values with subtypes, states,
 * memory, and a connection of an adapter with itself.
 */
#include "check.h"

#include <kdat/kdat_registry.h>
#include <linux/in.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, dto, conn, soft;
static DAT_IA_ATTR attr;
static DAT_PROVIDER_ATTR prov;
static DAT_DTO_COOKIE cookie = { .as_64 = 7 };

static void registry(void)
{
	DAT_EVD_HANDLE evd = NULL;
	const char *major, *minor;
	DAT_IA_HANDLE other;
	DAT_COUNT n;

	IS(dat_ia_openv("no-such", 8, &evd, &other, 2, 0, DAT_FALSE), BAD(PROVIDER_NOT_FOUND, NAME_NOT_REGISTERED));
	IS(dat_ia_openv(ia_name, 8, &evd, &other, 3, 0, DAT_FALSE), BAD(PROVIDER_NOT_FOUND, MAJOR_NOT_FOUND));
	IS(dat_ia_openv(ia_name, 8, &evd, &other, 2, 9, DAT_FALSE), BAD(PROVIDER_NOT_FOUND, MINOR_NOT_FOUND));
	IS(dat_registry_list_providers(0, &n, NULL), ARG(1));
	TRUE(n >= 1);
	IS(dat_registry_list_providers(0, NULL, NULL), ARG(2));
	IS(dat_strerror(STATE(EP_CONNECTED), &major, &minor), OK);
	TRUE(!strcmp(major, "DAT_INVALID_STATE") && !strcmp(minor, "DAT_INVALID_STATE_EP_CONNECTED"));
	IS(dat_extension_op(ia, 1), BAD(NOT_IMPLEMENTED, NO_SUBTYPE));
	IS(dat_ia_close(NULL, DAT_CLOSE_ABRUPT_FLAG), HANDLE(IA));
	IS(dat_ia_close(ia, 7), ARG(2));
	IS(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), STATE(IA_IN_USE));
}

static void nulls(void)
{
	IS(dat_ia_query(NULL, NULL, 0, NULL, 0, NULL), HANDLE(IA));
	IS(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL), ARG(4));
	IS(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL), ARG(6));
	IS(dat_ep_free(NULL), HANDLE(EP));
	IS(dat_lmr_free(NULL), HANDLE(LMR));
	IS(dat_rmr_free(NULL), HANDLE(RMR));
	IS(dat_pz_free(NULL), HANDLE(PZ));
	IS(dat_psp_free(NULL), HANDLE(PSP));
	IS(dat_rsp_free(NULL), HANDLE(RSP));
	IS(dat_csp_free(NULL), HANDLE(CSP));
	IS(dat_srq_free(NULL), HANDLE(SRQ));
	IS(dat_cr_accept(NULL, NULL, 0, NULL), HANDLE(CR));
	IS(dat_set_consumer_context(NULL, cookie), BAD(INVALID_HANDLE, INVALID_HANDLE1));
	IS(dat_ep_free(pz), HANDLE(EP));
	IS(dat_pz_create(ia, NULL), ARG(2));
	IS(dat_pz_query(pz, DAT_PZ_FIELD_ALL, NULL), ARG(3));
}

static void events(void)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT }, got;
	DAT_EVD_PARAM p;
	DAT_EVD_HANDLE e;
	int i;

	IS(dat_evd_kcreate(ia, 0, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &e), ARG(2));
	IS(dat_evd_kcreate(ia, 4, 55, NULL, DAT_EVD_DTO_FLAG, &e), ARG(3));
	IS(dat_evd_kcreate(ia, 4, DAT_UPCALL_SINGLE_INSTANCE, NULL, DAT_EVD_DTO_FLAG, &e), ARG(4));
	IS(dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, 0, &e), ARG(5));
	IS(dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, NULL), ARG(6));
	IS(dat_evd_query(soft, DAT_EVD_FIELD_ALL, &p), OK);
	TRUE(p.evd_qlen == 4 && p.evd_flags == DAT_EVD_SOFTWARE_FLAG && p.ia_handle == ia);
	IS(dat_evd_dequeue(soft, &got), BAD(QUEUE_EMPTY, NO_SUBTYPE));
	for (i = 0; i < 4; i++)
		IS(dat_evd_post_se(soft, &ev), OK);
	IS(dat_evd_post_se(soft, &ev), BAD(QUEUE_FULL, NO_SUBTYPE));
	IS(dat_evd_resize(soft, 3), BAD(INVALID_STATE, NO_SUBTYPE));
	IS(dat_evd_resize(soft, 8), OK);
	IS(dat_evd_post_se(soft, &ev), OK);
	for (i = 0; i < 5; i++)
		IS(dat_evd_dequeue(soft, &got), OK);
	TRUE(got.event_number == DAT_SOFTWARE_EVENT && got.evd_handle == soft);
	ev.event_number = DAT_DTO_COMPLETION_EVENT;
	IS(dat_evd_post_se(soft, &ev), ARG(2));
	IS(dat_evd_modify_upcall(soft, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW), OK);
	IS(dat_evd_modify_upcall(soft, DAT_UPCALL_MANY, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW), ARG(3));
}

static DAT_RETURN region(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION r, DAT_VLEN length, DAT_MEM_PRIV_FLAGS priv,
			 DAT_VA_TYPE va)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_RETURN ret = dat_lmr_kcreate(ia, type, r, length, pz, priv, va, DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context,
					 NULL, NULL, NULL);

	return ret ? ret : dat_lmr_free(lmr);
}

static void memory(void)
{
	u8 *p = alloc_pages_exact(4 * PAGE_SIZE, GFP_KERNEL);
	DAT_PADDR list[4] = { virt_to_phys(p), virt_to_phys(p + 2 * PAGE_SIZE) };
	DAT_PADDR_RANGE ranges[2] = { { virt_to_phys(p), 2 * PAGE_SIZE }, { virt_to_phys(p + 3 * PAGE_SIZE), 100 } };
	DAT_REGION_DESCRIPTION va = { .for_va = p }, odd = { .for_va = p + 5 }, r;
	DAT_LMR_CONTEXT context;
	struct scatterlist sg[2];
	DAT_LMR_HANDLE lmr;

	if (!p)
		return;
	IS(region(DAT_MEM_TYPE_VIRTUAL, va, 4 * PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA), OK);
	IS(region(DAT_MEM_TYPE_VIRTUAL, odd, 5000, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA), OK);
	IS(region(DAT_MEM_TYPE_VIRTUAL, va, 5000, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB), OK);
	IS(region(DAT_MEM_TYPE_VIRTUAL, odd, 5000, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB), BAD(MODEL_NOT_SUPPORTED, NO_SUBTYPE));
	IS(region(DAT_MEM_TYPE_VIRTUAL, va, 0, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA), ARG(4));
	IS(region(DAT_MEM_TYPE_VIRTUAL, va, 8, 0x100, DAT_VA_TYPE_VA), ARG(6));
	IS(region(3, va, 8, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA), ARG(2));
	r = (DAT_REGION_DESCRIPTION){ .for_array = { PAGE_SIZE, list } };
	IS(region(DAT_MEM_TYPE_PHYSICAL, r, 2 * PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA), OK);
	r.for_array.page_size = 100;
	IS(region(DAT_MEM_TYPE_PHYSICAL, r, 2 * PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA), ARG(3));
	r = (DAT_REGION_DESCRIPTION){ .for_ranges = { ranges, 2 } };
	IS(region(DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, r, 2 * PAGE_SIZE + 100, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA), OK);
	sg_init_table(sg, 2);
	sg_set_buf(&sg[0], p, PAGE_SIZE);
	sg_set_buf(&sg[1], p + 2 * PAGE_SIZE, PAGE_SIZE);
	r = (DAT_REGION_DESCRIPTION){ .for_platform = { sg, 2 } };
	IS(region(DAT_MEM_TYPE_PLATFORM, r, 2 * PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA), OK);
	IS(region(DAT_MEM_TYPE_BYPASS, va, 100, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA), OK);
	IS(region(DAT_MEM_TYPE_BYPASS, va, 100, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA), BAD(MODEL_NOT_SUPPORTED, NO_SUBTYPE));
	IS(dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, va, PAGE_SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			   DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context, NULL, NULL, NULL), OK);
	r = (DAT_REGION_DESCRIPTION){ .for_lmr_handle = lmr };
	IS(region(DAT_MEM_TYPE_LMR, r, PAGE_SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA), OK);
	IS(dat_pz_free(pz), STATE(PZ_IN_USE));
	IS(dat_lmr_free(lmr), OK);
	IS(dat_ia_reserved_lmr(ia, &lmr, &context), OK);
	IS(dat_lmr_free(lmr), BAD(RESERVED_LMR, NO_SUBTYPE));
	IS(dat_lmr_allocate(ia, pz, 0, DAT_LMR_SCOPE_PZ, &lmr), ARG(3));
	IS(dat_lmr_allocate(ia, pz, 4, DAT_LMR_SCOPE_EP, &lmr), BAD(MODEL_NOT_SUPPORTED, NO_SUBTYPE));
	free_pages_exact(p, 4 * PAGE_SIZE);
}

static void endpoints(void)
{
	DAT_EP_ATTR a = { .max_recv_dtos = attr.max_dto_per_ep + 1 };
	struct sockaddr_in none = { .sin_family = AF_INET }, to;
	DAT_EP_PARAM p = { 0 };
	DAT_EP_HANDLE ep, bare;
	DAT_RSP_HANDLE rsp;
	DAT_EP_STATE state;

	memcpy(&to, attr.ia_address_ptr, sizeof(to));
	IS(dat_ep_create(ia, pz, soft, dto, conn, NULL, &ep), HANDLE(EVD_RECV));
	IS(dat_ep_create(ia, pz, dto, soft, conn, NULL, &ep), HANDLE(EVD_REQUEST));
	IS(dat_ep_create(ia, pz, dto, dto, dto, NULL, &ep), HANDLE(EVD_CONN));
	IS(dat_ep_create(ia, pz, dto, dto, conn, &a, &ep), ARG(6));
	IS(dat_ep_create(ia, pz, dto, dto, conn, NULL, NULL), ARG(7));
	IS(dat_ep_create(ia, NULL, NULL, NULL, NULL, NULL, &bare), OK);
	IS(dat_ep_get_status(bare, &state, NULL, NULL), OK);
	TRUE(state == DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
	IS(dat_ep_post_recv(bare, 0, NULL, cookie, NONE), STATE(EP_PZ));
	IS(dat_ep_connect(bare, (DAT_IA_ADDRESS_PTR)&to, 1, 1000, 0, NULL, 0, 0), STATE(EP_NOTREADY));
	IS(dat_ep_free(bare), OK);
	IS(dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep), OK);
	IS(dat_evd_free(dto), STATE(EVD_IN_USE));
	IS(dat_ep_post_send(ep, 0, NULL, cookie, NONE), STATE(EP_UNCONNECTED));
	IS(dat_ep_post_send(ep, 0, NULL, cookie, 0x80), ARG(5));
	IS(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), STATE(EP_UNCONNECTED));
	IS(dat_ep_disconnect(ep, 9), ARG(2));
	IS(dat_ep_reset(ep), OK);
	IS(dat_ep_modify(ep, DAT_EP_FIELD_EP_STATE, &p), ARG(2));
	IS(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, NULL), ARG(3));
	IS(dat_ep_connect(ep, NULL, 1, 1000, 0, NULL, 0, 0), ARG(2));
	IS(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&none, 1, 1000, 0, NULL, 0, 0), BAD(INVALID_ADDRESS, INVALID_ADDRESS_MALFORMED));
	IS(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, 0, 1000, 0, NULL, 0, 0), ARG(3));
	IS(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, 1, 0, 0, NULL, 0, 0), ARG(4));
	IS(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, 1, 1000, 1000, &to, 0, 0), ARG(5));
	IS(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, 1, 1000, 0, NULL, DAT_QOS_PREMIUM, 0), BAD(MODEL_NOT_SUPPORTED, NO_SUBTYPE));
	IS(dat_rsp_create(ia, 7301, ep, conn, &rsp), OK);
	IS(dat_ep_free(ep), STATE(EP_RESERVED));
	IS(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, 1, 1000, 0, NULL, 0, 0), STATE(EP_RESERVED));
	IS(dat_rsp_free(rsp), OK);
	IS(dat_ep_free(ep), OK);
}

/* A connection of the adapter with itself: private data, a Send, an RMR, both ends of it. */
static void connection(void)
{
	static const char word[8] = "private";
	u8 *p = kzalloc(2 * PAGE_SIZE, GFP_KERNEL);
	DAT_REGION_DESCRIPTION va = { .for_va = p };
	DAT_LMR_TRIPLET recv, send, window;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_CONTEXT context;
	DAT_EP_HANDLE a, b;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM cr;
	DAT_EP_STATE s;
	DAT_EVENT ev;

	if (!p)
		return;
	IS(dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, va, 2 * PAGE_SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			   DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context, NULL, NULL, NULL), OK);
	recv = (DAT_LMR_TRIPLET){ (uintptr_t)p, 64, context };
	send = window = (DAT_LMR_TRIPLET){ (uintptr_t)p + PAGE_SIZE, 64, context };
	IS(dat_ep_create(ia, pz, dto, dto, conn, NULL, &a), OK);
	IS(dat_ep_create(ia, pz, dto, dto, conn, NULL, &b), OK);
	IS(dat_psp_create_any(ia, &qual, conn, DAT_PSP_CONSUMER_FLAG, &psp), OK);
	IS(dat_ep_post_recv(b, 1, &recv, cookie, NONE), OK);
	IS(dat_ep_connect(a, attr.ia_address_ptr, qual, 60000000, sizeof(word), (DAT_PVOID)word, 0, 0), OK);
	TRUE(next(conn, &ev) == DAT_CONNECTION_REQUEST_EVENT);
	IS(dat_cr_query(ev.event_data.cr_arrival_event_data.cr_handle, DAT_CR_FIELD_ALL, &cr), OK);
	TRUE(cr.private_data_size >= (DAT_COUNT)sizeof(word) && !memcmp(cr.private_data, word, sizeof(word)));
	IS(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, b, 0, NULL), OK);
	TRUE(next(conn, &ev) == DAT_CONNECTION_EVENT_ESTABLISHED);
	TRUE(next(conn, &ev) == DAT_CONNECTION_EVENT_ESTABLISHED);
	IS(dat_ep_reset(a), STATE(EP_CONNECTED));
	IS(dat_ep_post_send(a, 1, &send, cookie, NONE), OK);
	TRUE(next(dto, &ev) && next(dto, &ev));
	TRUE(ev.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
	IS(dat_rmr_create(pz, &rmr), OK);
	IS(dat_rmr_bind(rmr, lmr, &window, DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, a, cookie, NONE, &remote), OK);
	TRUE(next(dto, &ev) == DAT_RMR_BIND_COMPLETION_EVENT && remote);
	TRUE(ev.event_data.rmr_completion_event_data.status == DAT_DTO_SUCCESS);
	IS(dat_lmr_free(lmr), STATE(LMR_IN_USE));
	window.segment_length = 0;
	IS(dat_rmr_bind(rmr, NULL, &window, 0, DAT_VA_TYPE_VA, a, cookie, NONE, NULL), OK);
	TRUE(next(dto, &ev) == DAT_RMR_BIND_COMPLETION_EVENT);
	IS(dat_rmr_free(rmr), OK);
	IS(dat_ep_disconnect(a, DAT_CLOSE_GRACEFUL_FLAG), OK);
	TRUE(next(conn, &ev) == DAT_CONNECTION_EVENT_DISCONNECTED);
	TRUE(next(conn, &ev) == DAT_CONNECTION_EVENT_DISCONNECTED);
	IS(dat_ep_post_send(a, 1, &send, cookie, NONE), OK);
	TRUE(next(dto, &ev) && ev.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED);
	IS(dat_ep_reset(a), OK);
	IS(dat_ep_get_status(a, &s, NULL, NULL), OK);
	TRUE(s == DAT_EP_STATE_UNCONNECTED);
	IS(dat_psp_free(psp), OK);
	IS(dat_ep_free(a), OK);
	IS(dat_ep_free(b), OK);
	IS(dat_lmr_free(lmr), OK);
	kfree(p);
}

static int __init rules_init(void)
{
	IS(dat_ia_open(ia_name, 8, &async, &ia), OK);
	if (!ia)
		return -ENODEV;
	IS(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &prov), OK);
	IS(dat_pz_create(ia, &pz), OK);
	IS(dat_evd_kcreate(ia, 16, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &dto), OK);
	IS(dat_evd_kcreate(ia, 16, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &conn), OK);
	IS(dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG, &soft), OK);
	registry();
	nulls();
	events();
	memory();
	endpoints();
	connection();
	IS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), OK);
	return 0;
}

static void __exit rules_exit(void)
{
}

module_init(rules_init);
module_exit(rules_exit);
MODULE_DESCRIPTION("Rules of DAT, for kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
