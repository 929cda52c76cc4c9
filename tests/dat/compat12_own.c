/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program of DAT 1.2 on Dapple's provider, under `dapple run`; DAPPLE_DAT_IA is the name. It
 * creates one of each object and compares queries with arguments. */
#include <dat/udat.h>

#include "support/check.h"

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE evd, sw;

static void adapter(void)
{
	DAT_PROVIDER_ATTR p;
	DAT_IA_ATTR a;

	CHECK(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &a, DAT_PROVIDER_FIELD_ALL, &p) == DAT_SUCCESS);
	CHECK(a.max_eps > 0 && a.max_lmrs > 0 && a.max_message_size >= 65536 && a.ia_address_ptr);
	CHECK(p.dapl_version_major == 1 && p.max_private_data_size > 0);
	CHECK(p.num_provider_specific_attr >= 0 && p.num_provider_specific_attr < 100);
	for (DAT_COUNT i = 0; i < p.num_provider_specific_attr; i++)
		CHECK(p.provider_specific_attr[i].name && p.provider_specific_attr[i].value);
}

static void endpoint(void)
{
	DAT_EP_ATTR attr;
	DAT_EP_PARAM p;
	DAT_EP_HANDLE ep;

	CHECK(dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL, NULL, &ep) == DAT_SUCCESS);
	CHECK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p) == DAT_SUCCESS);
	CHECK(p.pz_handle == pz && p.recv_evd_handle == evd && p.request_evd_handle == evd);
	CHECK(p.ia_handle == ia);
	attr = p.ep_attr;
	CHECK(dat_ep_free(ep) == DAT_SUCCESS);
	attr.max_recv_dtos = 33;
	CHECK(dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL, &attr, &ep) == DAT_SUCCESS);
	CHECK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p) == DAT_SUCCESS);
	CHECK(p.ep_attr.max_recv_dtos >= 33);
	CHECK(p.ep_attr.max_message_size == attr.max_message_size);
	CHECK(dat_ep_free(ep) == DAT_SUCCESS);
	CHECK(dat_ep_free(ep) == DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
}

static void memory(void)
{
	static char buffer[8192];
	DAT_REGION_DESCRIPTION region = { .for_va = buffer };
	DAT_LMR_CONTEXT lc;
	DAT_RMR_CONTEXT rc;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_PARAM p;
	DAT_VADDR at;
	DAT_VLEN n;

	CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(buffer), pz,
			     DAT_MEM_PRIV_ALL_FLAG, &lmr, &lc, &rc, &n, &at) == DAT_SUCCESS);
	CHECK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &p) == DAT_SUCCESS);
	CHECK(p.ia_handle == ia && p.pz_handle == pz && p.lmr_context == lc && p.rmr_context == rc);
	CHECK(p.mem_priv == DAT_MEM_PRIV_ALL_FLAG && p.length == sizeof(buffer));
	CHECK(p.registered_size == n && p.registered_address == at && at <= (uintptr_t)buffer);
	CHECK(dat_pz_free(pz) == DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
	CHECK(dat_lmr_free(lmr) == DAT_SUCCESS);
}

static void events(void)
{
	DAT_EVENT e = { .event_number = DAT_SOFTWARE_EVENT }, back;
	DAT_COUNT more;

	e.event_data.software_event_data.pointer = &e;
	CHECK(dat_evd_post_se(sw, &e) == DAT_SUCCESS);
	CHECK(dat_evd_wait(sw, 1000000, 1, &back, &more) == DAT_SUCCESS && more == 0);
	CHECK(back.event_number == DAT_SOFTWARE_EVENT && back.evd_handle == sw);
	CHECK(back.event_data.software_event_data.pointer == &e);
	CHECK(dat_evd_wait(sw, 1000, 1, &back, &more) == DAT_ERROR(DAT_TIMEOUT_EXPIRED, 0));
	CHECK(dat_evd_wait(sw, 1000, 0, &back, &more) ==
	      DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	CHECK(dat_evd_dequeue(sw, &back) == DAT_ERROR(DAT_QUEUE_EMPTY, 0));
}

int main(void)
{
	char *name = getenv("DAPPLE_DAT_IA");
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	CHECK(name);
	CHECK(dat_ia_open(name, 8, &async, &ia) == DAT_SUCCESS);
	CHECK(dat_pz_create(ia, &pz) == DAT_SUCCESS);
	CHECK(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) == DAT_SUCCESS);
	CHECK(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &sw) == DAT_SUCCESS);
	adapter();
	endpoint();
	memory();
	events();
	CHECK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) ==
	      DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE));
	CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	return 0;
}
