/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program of DAT 1.2 on the fake provider, which is of 2.0 and records its arguments: compat12
 * FOLDER FAKE FIRST. It is linked against libdat.so.1, has both libraries in one process (FIRST is
 * loaded with RTLD_GLOBAL before the other is used), and calls each by its own handle.
 */
#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "registry_files.h"
#include "support/check.h"

#include <dlfcn.h>

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE evd;
static DAT_PZ_HANDLE pz;
static DAT_EP_HANDLE ep;

static void attributes(void)
{
	DAT_IA_ATTR a;
	DAT_PROVIDER_ATTR p;

	memset(&a, 0xff, sizeof(a));
	memset(&p, 0xff, sizeof(p));
	CHECK(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &a, DAT_PROVIDER_FIELD_ALL, &p) == DAT_SUCCESS);
	CHECK(strcmp(a.adapter_name, "one") == 0);
	CHECK(a.max_message_size == UINT32_MAX && a.max_srqs == 21 && a.num_vendor_attr == 22);
	CHECK(p.dapl_version_major == 1 && p.dapl_version_minor == 2);
	CHECK(p.pz_support == DAT_PZ_SHAREABLE);
	CHECK(p.evd_stream_merging_supported[5][4] == DAT_TRUE);
	CHECK(p.evd_stream_merging_supported[4][5] == DAT_FALSE);
	CHECK(p.rdma_write_for_rdma_read_req == DAT_TRUE && p.num_provider_specific_attr == 31);
	CHECK(dat_ia_query(ia, NULL, 0, NULL, 0, NULL) == DAT_SUCCESS);
}

static void endpoint(void)
{
	DAT_EP_ATTR attr = { .max_message_size = 1ull << 33, .max_rdma_size = 5, .max_recv_dtos = 6,
			     .srq_soft_hw = -1, .ep_provider_specific_count = 8 };
	DAT_EP_PARAM p;

	CHECK(dat_ep_create(ia, pz, evd, DAT_HANDLE_NULL, evd, &attr, &ep) == DAT_SUCCESS);
	CHECK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p) == DAT_SUCCESS);
	CHECK(p.ep_state == DAT_EP_STATE_CONNECTED);
	CHECK(p.local_port_qual == 0x1122334455667788 && p.remote_port_qual == 0x7ffffffb);
	CHECK(p.pz_handle == pz && p.recv_evd_handle == evd && p.connect_evd_handle == evd);
	CHECK(p.ep_attr.max_message_size == UINT32_MAX && p.ep_attr.max_rdma_size == 5);
	CHECK(p.ep_attr.max_recv_dtos == 6 && p.ep_attr.srq_soft_hw == -1);
	CHECK(p.ep_attr.ep_provider_specific_count == 8);
	CHECK(dat_ep_query(ep, DAT_EP_FIELD_SRQ_HANDLE, &p) == DAT_SUCCESS);
	CHECK(p.remote_port_qual == 0x800);
	/* 1.2 has no bit 11. */
	CHECK(dat_ep_query(ep, 0x800, &p) == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	CHECK(dat_ep_query(ep, 1, NULL) == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	CHECK(dat_ep_query(NULL, 1, &p) == DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
}

static void transfers(void)
{
	DAT_LMR_TRIPLET local[2] = { { 1, 0, 2, 3 }, { 100, 0, 0x10000, 4000 } };
	DAT_RMR_TRIPLET remote = { .rmr_context = 7, .target_address = 0x1000000 };
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	struct {
		DAT_EVENT event;
		char guard[128];
	} e;
	DAT_COUNT nmore;

	CHECK(dat_ep_post_send(ep, 2, local, cookie, DAT_COMPLETION_BARRIER_FENCE_FLAG) == DAT_SUCCESS);
	memset(&e, 0xaa, sizeof(e));
	CHECK(dat_evd_dequeue(evd, &e.event) == DAT_SUCCESS);
	for (size_t i = 0; i < sizeof(e.guard); i++)
		CHECK((unsigned char)e.guard[i] == 0xaa);
	d = &e.event.event_data.dto_completion_event_data;
	CHECK(e.event.event_number == DAT_DTO_COMPLETION_EVENT && e.event.evd_handle == evd);
	CHECK(d->ep_handle == ep && d->transfered_length == 4008 && d->user_cookie.as_64 == 0x10064);
	CHECK(d->status == DAT_DTO_ERR_LOCAL_PROTECTION);
	CHECK(dat_evd_dequeue(evd, &e.event) == DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE));

	CHECK(dat_ep_post_rdma_write(ep, 1, local, cookie, &remote, 0) == DAT_SUCCESS);
	CHECK(dat_evd_wait(evd, 0, 5, &e.event, &nmore) == DAT_SUCCESS && nmore == 5);
	CHECK(d->transfered_length == 3 && d->user_cookie.as_64 == 1 + 2 + 7 + 0x1000000);

	local[0].segment_length = 1ull << 32;
	CHECK(dat_ep_post_send(ep, 1, local, cookie, 0) == DAT_ERROR(DAT_LENGTH_ERROR, 0));
	CHECK(dat_ep_post_send(ep, -1, local, cookie, 0) ==
	      DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	CHECK(dat_ep_post_send(ep, 1, NULL, cookie, 0) ==
	      DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	CHECK(dat_ep_post_rdma_write(ep, 0, NULL, cookie, NULL, 0) ==
	      DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5));
	CHECK(dat_ep_post_send(NULL, -1, NULL, cookie, 0) ==
	      DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
	/* The fake provider has no such slot: NOT_IMPLEMENTED has another number in 1.2. */
	CHECK(dat_ep_post_rdma_read(ep, 0, NULL, cookie, &remote, 0) == 0x8fff0000);
}

static void software_event(void)
{
	DAT_EVENT e, back;

	memset(&e, 0, sizeof(e));
	e.event_number = DAT_SOFTWARE_EVENT;
	e.event_data.software_event_data.pointer = &e;
	CHECK(dat_evd_post_se(evd, &e) == DAT_SUCCESS);
	CHECK(dat_evd_dequeue(evd, &back) == DAT_SUCCESS);
	CHECK(back.event_number == DAT_SOFTWARE_EVENT);
	CHECK(back.event_data.software_event_data.pointer == &e);
}

static void memory(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = &ia };
	DAT_LMR_CONTEXT lc, second_lc;
	DAT_RMR_CONTEXT rc;
	DAT_LMR_HANDLE lmr, second;
	DAT_LMR_PARAM p;
	DAT_VADDR at;
	DAT_VLEN n;

	CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
			     &lc, &rc, &n, &at) == DAT_SUCCESS);
	CHECK(rc == 9 && n == 64 && at == 7);
	CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz, 0, &second, &second_lc, &rc,
			     &n, &at) == DAT_SUCCESS);
	CHECK(lc != second_lc);
	CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, NULL, 0, &second, &lc, &rc, &n,
			     &at) == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5));
	/* Argument 10 of 2.0 is argument 9 of 1.2. */
	CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz, 0, &second, &lc, NULL, &n,
			     &at) == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9));
	CHECK(dat_lmr_query(lmr, DAT_LMR_FIELD_REGISTERED_ADDRESS | DAT_LMR_FIELD_MEM_PRIV, &p) ==
	      DAT_SUCCESS);
	CHECK(p.length == 0x420 && p.mem_priv == DAT_MEM_PRIV_ALL_FLAG && p.pz_handle == pz);
	CHECK(p.lmr_context == lc && p.rmr_context == lc + 1 && p.registered_size == 65);
	CHECK(p.registered_address == 77 && p.region_desc.for_va == &ia);
	CHECK(dat_lmr_free(second) == DAT_SUCCESS);
}

/* 1.2 names the LMR by its context only. */
static void windows(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = &ia };
	DAT_RMR_COOKIE cookie = { .as_64 = 0 };
	DAT_CONTEXT own = { .as_ptr = NULL };
	DAT_LMR_CONTEXT lc[100];
	DAT_LMR_HANDLE lmr[100];
	DAT_LMR_TRIPLET t = { .virtual_address = 5, .segment_length = 6 };
	DAT_IA_HANDLE provider_ia;
	DAT_RMR_CONTEXT rc, context;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM p;
	DAT_VADDR at;
	DAT_VLEN n;

	/* The fake provider returns as IA of an RMR the context of its PZ: here its own handle, as
	 * some providers do. */
	CHECK(dats_get_ia_handle(ia, &provider_ia) == DAT_SUCCESS);
	own.as_ptr = provider_ia;
	CHECK(dat_set_consumer_context(pz, own) == DAT_SUCCESS);
	CHECK(dat_rmr_create(pz, &rmr) == DAT_SUCCESS);
	for (int i = 0; i < 100; i++)
		CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz, 0, &lmr[i], &lc[i], &rc,
				     &n, &at) == DAT_SUCCESS);
	for (int i = 0; i < 100; i++) {
		t.lmr_context = lc[i];
		CHECK(dat_rmr_bind(rmr, &t, DAT_MEM_PRIV_ALL_FLAG, ep, cookie, 0, &context) ==
		      DAT_SUCCESS && context == 4711);
	}
	CHECK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &p) == DAT_SUCCESS);
	CHECK(p.lmr_triplet.lmr_context == lc[99] && p.lmr_triplet.virtual_address == 5);
	CHECK(p.lmr_triplet.segment_length == 6 && p.rmr_context == 4711 && p.pz_handle == pz);
	/* Argument 9 of 2.0 is argument 7 of 1.2. */
	CHECK(dat_rmr_bind(rmr, &t, 0, ep, cookie, 0, NULL) ==
	      DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7));
	CHECK(dat_lmr_free(lmr[99]) == DAT_SUCCESS);
	CHECK(dat_rmr_bind(rmr, &t, 0, ep, cookie, 0, &context) ==
	      DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	t.segment_length = 0;
	CHECK(dat_rmr_bind(rmr, &t, 0, ep, cookie, 0, &context) == DAT_SUCCESS);
	CHECK(dat_rmr_bind(NULL, &t, 0, ep, cookie, 0, &context) ==
	      DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR));
}

static void queries(void)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = &ep };
	DAT_SRQ_ATTR attr = { 1, 2, 0 };
	DAT_CNO_HANDLE cno;
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_PARAM s;
	DAT_CNO_PARAM c;

	CHECK(dat_srq_create(ia, pz, &attr, &srq) == DAT_SUCCESS);
	CHECK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &s) == DAT_SUCCESS);
	CHECK(s.srq_state == DAT_SRQ_STATE_OPERATIONAL && s.max_recv_dtos == 3);
	CHECK(s.outstanding_dto_count == 8);
	CHECK(dat_cno_create(ia, agent, &cno) == DAT_SUCCESS);
	for (DAT_CNO_PARAM_MASK m = 1; m <= DAT_CNO_FIELD_ALL; m++) {
		CHECK(dat_cno_query(cno, m, &c) == DAT_SUCCESS);
		CHECK(c.agent.instance_data == &ep);
	}
	CHECK(dat_cno_query(cno, 4, &c) == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
}

static void names(void)
{
	DAT_EVD_HANDLE e = DAT_HANDLE_NULL;
	DAT_PROVIDER_INFO info[3], *list[3] = { &info[0], &info[1], &info[2] };
	DAT_NAME_PTR both = (DAT_NAME_PTR) "both";
	DAT_IA_HANDLE h;
	DAT_COUNT n;
	char *t;

	CHECK(dat_registry_list_providers(3, &n, list) == DAT_SUCCESS && n == 3);
	for (int i = 0; i < 3; i++)
		CHECK(list[i]->dapl_version_major == 1 && list[i]->dapl_version_minor == 2);
	/* A line for 1.2 wins over one for 2.0. */
	free(registry_trace());
	CHECK(dat_ia_open(both, 8, &e, &h) == DAT_SUCCESS);
	t = registry_trace();
	CHECK_MSG(strstr(t, "init both old"), "%s", t);
	free(t);
	CHECK(dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	/* Objects of an earlier open are gone. */
	CHECK(dat_ia_open(both, 8, &e, &h) == DAT_ERROR(DAT_INVALID_HANDLE,
							DAT_INVALID_HANDLE_EVD_ASYNC));
	e = DAT_HANDLE_NULL;
	CHECK(dat_ia_openv((DAT_NAME_PTR) "none", 8, &e, &h, 1, 2, DAT_FALSE) ==
	      DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	CHECK(dat_ia_openv((DAT_NAME_PTR) "one", 8, &e, &h, 1, 3, DAT_FALSE) ==
	      DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND));
	CHECK(dat_ia_close((DAT_IA_HANDLE)12345, 0) ==
	      DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
}

/* A provider of 1.2 registers itself: its table is not one of 2.0. */
static void old_provider(void)
{
	static DAT_PROVIDER_INFO info = { .ia_name = "old", .dapl_version_major = 1,
					  .dapl_version_minor = 2 };
	static DAT_PROVIDER table;

	table.ia_open_func = (DAT_IA_OPEN_FUNC)(void *)abort;
	CHECK(dat_registry_add_provider(&table, &info) == 0x8fff0000);
}

/* The same names in the other library have the numbers of 2.0, on the same IAs. */
static void other_library(void *dl2)
{
	DAT_RETURN (*pz_create2)(DAT_IA_HANDLE, DAT_PZ_HANDLE *), (*pz_free2)(DAT_PZ_HANDLE);
	DAT_RETURN (*openv2)(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *,
			     DAT_UINT32, DAT_UINT32, DAT_BOOLEAN);
	DAT_EVD_HANDLE e = DAT_HANDLE_NULL;
	DAT_IA_HANDLE h;
	DAT_PZ_HANDLE p;

	*(void **)&openv2 = dlsym(dl2, "dat_ia_openv");
	*(void **)&pz_create2 = dlsym(dl2, "dat_pz_create");
	*(void **)&pz_free2 = dlsym(dl2, "dat_pz_free");
	CHECK((void *)openv2 != dlsym(RTLD_DEFAULT, "dat_ia_openv"));
	CHECK(openv2((DAT_NAME_PTR) "none", 8, &e, &h, 2, 0, DAT_FALSE) == 0x800a0064);
	CHECK(openv2((DAT_NAME_PTR) "one", 8, &e, &h, 2, 0, DAT_FALSE) == DAT_SUCCESS && h != ia);
	CHECK(pz_create2(h, &p) == DAT_SUCCESS && pz_free2(p) == DAT_SUCCESS);
	CHECK(dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	CHECK(pz_create2(ia, &p) == DAT_SUCCESS && dat_pz_free(p) == DAT_SUCCESS);
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	void *dl, *dl2;
	char path[512];

	CHECK(argc > 3);
	registry_conf(argv[2], "one u2.0 nonthreadsafe default FAKE dapl.2.0 \"\" \"\"\n"
		      "both u2.0 nonthreadsafe default FAKE dapl.2.0 new \"\"\n"
		      "both u1.2 nonthreadsafe default FAKE dapl.1.2 old \"\"\n");
	snprintf(path, sizeof(path), "%s/%s", argv[1], argv[3]);
	dl = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	CHECK_MSG(dl, "%s", dlerror());
	CHECK(dat_ia_open((DAT_NAME_PTR) "one", 8, &async, &ia) == DAT_SUCCESS);
	snprintf(path, sizeof(path), "%s/libdat2.so.2", argv[1]);
	dl2 = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK_MSG(dl2, "%s", dlerror());
	CHECK(dat_pz_create(ia, &pz) == DAT_SUCCESS);
	CHECK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) == DAT_SUCCESS);
	attributes();
	endpoint();
	transfers();
	software_event();
	memory();
	windows();
	queries();
	old_provider();
	other_library(dl2);
	CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	CHECK(dat_ep_free(ep) == DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
	names();
	return 0;
}
