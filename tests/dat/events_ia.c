/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Open, query and close of adapters; context and type of handles. */
#include "events_lib.h"

#include "../support/entries.h"

#include <dat2/dat_registry.h>
#include <netinet/in.h>
#include <sys/socket.h>

static char *name(void)
{
	return (char *)mp_ia_name();
}

static void open_refused(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_IA_HANDLE ia, first;

	WANT(dat_ia_open((char *)"no-such-adapter", 8, &async, &ia),
	     ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	WANT(dat_ia_open(name(), 0, &async, &ia), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_ia_open(name(), -1, &async, &ia), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	first = ev_open(&async);
	/* an EVD without the ASYNC stream; and a handle that never was an EVD */
	OK(dat_evd_create(first, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	WANT(dat_ia_open(name(), 8, &evd, &ia),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC));
	OK(dat_evd_free(evd));
	WANT(dat_ia_open(name(), 8, &evd, &ia),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC));
	OK(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG));
}

/* The three destinations of asynchronous events. */
static void async_evds(void)
{
	DAT_EVD_HANDLE made, none = DAT_EVD_ASYNC_EXISTS, shared, got;
	DAT_IA_HANDLE a = ev_open(&made), b, c;
	DAT_EVD_PARAM p;

	OK(dat_evd_query(made, DAT_EVD_FIELD_ALL, &p));
	CHECK(p.evd_flags == DAT_EVD_ASYNC_FLAG && p.evd_qlen >= 16 && p.ia_handle == a);
	CHECK(p.cno_handle == DAT_HANDLE_NULL);
	OK(dat_ia_query(a, &got, 0, NULL, 0, NULL));
	CHECK(got == made);
	OK(dat_ia_open(name(), 16, &none, &b));
	OK(dat_ia_query(b, &got, 0, NULL, 0, NULL));
	CHECK(got == DAT_EVD_OUT_OF_SCOPE);
	shared = made;
	OK(dat_ia_open(name(), 16, &shared, &c));
	CHECK(shared == made);
	OK(dat_ia_query(c, &got, 0, NULL, 0, NULL));
	CHECK(got == made);
	CHECK(a != b && b != c && a != c);
	/* events of c go to a's EVD */
	WANT(dat_ia_close(a, DAT_CLOSE_GRACEFUL_FLAG),
	     ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE));
	OK(dat_ia_close(c, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_ia_close(b, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_ia_close(a, DAT_CLOSE_GRACEFUL_FLAG));
	WANT(dat_ia_close(a, DAT_CLOSE_GRACEFUL_FLAG),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
}

static void query_refused(DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR prov;
	DAT_EVD_HANDLE evd;
	DAT_IA_ATTR attr;

	OK(dat_ia_query(ia, NULL, 0, NULL, 0, NULL));
	WANT(dat_ia_query(ia, &evd, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	WANT(dat_ia_query(ia, &evd, DAT_IA_FIELD_ALL, NULL, 0, NULL),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
	WANT(dat_ia_query(ia, &evd, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &prov),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5));
	WANT(dat_ia_query(ia, &evd, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6));
	WANT(dat_ia_close(ia, (DAT_CLOSE_FLAGS)2), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
}

static const char *named(const DAT_PROVIDER_ATTR *p, const char *key)
{
	for (int i = 0; i < p->num_provider_specific_attr; i++)
		if (!strcmp(p->provider_specific_attr[i].name, key))
			return p->provider_specific_attr[i].value;
	return NULL;
}

static void adapter(const DAT_IA_ATTR *a)
{
	const struct sockaddr *sa = (const struct sockaddr *)a->ia_address_ptr;

	CHECK(*a->adapter_name && *a->vendor_name);
	CHECK(sa && (sa->sa_family == AF_INET || sa->sa_family == AF_INET6));
	CHECK(a->max_eps > 0 && a->max_dto_per_ep > 0 && a->max_evds > 0 && a->max_evd_qlen > 0);
	CHECK(a->max_iov_segments_per_dto > 0 && a->max_iov_segments_per_rdma_read > 0 &&
	      a->max_iov_segments_per_rdma_write > 0);
	CHECK(a->max_lmrs > 0 && a->max_pzs > 0 && a->max_lmr_block_size > 0);
	CHECK(a->max_message_size > 0 && a->max_rdma_size > 0);
	CHECK(a->max_rdma_read_per_ep_in > 0 && a->max_rdma_read_per_ep_out > 0);
	CHECK(a->max_rdma_read_in >= a->max_rdma_read_per_ep_in);
	CHECK(a->extension_supported == DAT_EXTENSION_IB);
	CHECK(a->extension_version == DAT_IB_EXTENSION_VERSION);
}

static void provider(const DAT_PROVIDER_ATTR *p)
{
	static const char *const names[] = {
		"DAT_IB_TRANSPORT_MTU", "DAT_EXTENSION_INTERFACE", "DAT_IB_DEVICE_NAME",
		"DAT_IB_PORT_NUMBER", "DAT_IB_PORT_STATUS", "DAT_IB_NODE_GUID", "DAT_IB_GID",
		"DAT_IB_RDMA_READ", "DAT_IB_PROVIDER_NAME", "DAT_IB_CONNECTIVITY_MODE",
		"DAT_COUNTERS",
	};
	int mtu;

	CHECK(!strcmp(p->provider_name, mp_ia_name()));
	CHECK(p->dapl_version_major == 2 && p->dapl_version_minor == 0);
	CHECK(p->max_private_data_size == (mp_is_iwarp() ? 251 : 56));
	CHECK(!p->supports_multipath && !p->ha_supported);
	CHECK(p->ep_creator == DAT_PSP_CREATES_EP_IFASKED);
	for (int i = 0; i < 36; i++)
		CHECK(p->evd_stream_merging_supported[i / 6][i % 6]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_MSG(named(p, names[i]) && *named(p, names[i]), "%s", names[i]);
	mtu = atoi(named(p, "DAT_IB_TRANSPORT_MTU"));
	CHECK_MSG(mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1)), "%d", mtu);
	/* iWARP has no datagrams */
	CHECK(!named(p, DAT_IB_ATTR_UD) == mp_is_iwarp());
}

static void queries(void)
{
	DAT_PROVIDER_ATTR prov;
	DAT_EVD_HANDLE async, got = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = ev_open(&async);
	DAT_IA_ATTR attr;

	query_refused(ia);
	memset(&attr, 0xee, sizeof(attr));
	memset((void *)&prov, 0xee, sizeof(prov));
	OK(dat_ia_query(ia, &got, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &prov));
	CHECK(got == async);
	adapter(&attr);
	provider(&prov);
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* Every kind of object that can be created without a peer: its type, its context, and that the
 * adapter cannot be closed gracefully with it. */
static void handles(void)
{
	DAT_HANDLE h[10];
	DAT_HANDLE_TYPE type[10] = {
		DAT_HANDLE_TYPE_IA, DAT_HANDLE_TYPE_EVD, DAT_HANDLE_TYPE_CNO, DAT_HANDLE_TYPE_PZ,
		DAT_HANDLE_TYPE_EVD, DAT_HANDLE_TYPE_EP, DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_LMR,
		DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_RMR,
	};
	static char memory[4096];
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_SRQ_ATTR srq = { 4, 1, DAT_SRQ_LW_DEFAULT };
	DAT_HANDLE_TYPE got;
	DAT_CONN_QUAL qual;
	DAT_CONTEXT c;

	h[0] = ev_open(&h[1]);
	OK(dat_cno_create(h[0], DAT_OS_WAIT_PROXY_AGENT_NULL, &h[2]));
	OK(dat_pz_create(h[0], &h[3]));
	OK(dat_evd_create(h[0], 16, h[2], (DAT_EVD_FLAGS)(DAT_EVD_DEFAULT_FLAG), &h[4]));
	OK(dat_ep_create(h[0], h[3], h[4], h[4], h[4], NULL, &h[5]));
	OK(dat_psp_create_any(h[0], &qual, h[4], DAT_PSP_CONSUMER_FLAG, &h[6]));
	OK(dat_lmr_create(h[0], DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), h[3],
			  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &h[7], NULL, NULL, NULL, NULL));
	OK(dat_srq_create(h[0], h[3], &srq, &h[8]));
	OK(dat_rmr_create(h[3], &h[9]));
	for (uintptr_t i = 0; i < 10; i++) {
		OK(dat_get_handle_type(h[i], &got));
		CHECK_MSG(got == type[i], "handle %lu is of type %d", (unsigned long)i, got);
		WANT(dat_get_handle_type(h[i], NULL),
		     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
		WANT(dat_get_consumer_context(h[i], NULL),
		     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
		OK(dat_get_consumer_context(h[i], &c));
		CHECK(!c.as_64);
		c.as_64 = 1000 + i;
		OK(dat_set_consumer_context(h[i], c));
	}
	for (uintptr_t i = 0; i < 10; i++) {
		OK(dat_get_consumer_context(h[i], &c));
		CHECK(c.as_64 == 1000 + i);
	}
	WANT(dat_ia_close(h[0], DAT_CLOSE_GRACEFUL_FLAG),
	     ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE));
	OK(dat_ia_close(h[0], DAT_CLOSE_ABRUPT_FLAG));
	for (int i = 1; i < 10; i++) {
		WANT(dat_get_handle_type(h[i], &got),
		     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
		WANT(dat_set_consumer_context(h[i], c),
		     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
		WANT(dat_get_consumer_context(h[i], &c),
		     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	}
}

/* An abrupt close leaves nothing, and the qualifier of a listener is free at once. */
static int again(void *arg)
{
	DAT_EVD_HANDLE async, evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual = 0;
	DAT_IA_HANDLE ia;
	int fds = 0;

	for (int i = 0; i < 12; i++) {
		ia = ev_open(&async);
		OK(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd));
		if (!i)
			OK(dat_psp_create_any(ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
		else
			OK(dat_psp_create(ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
		if (i == 1)
			fds = open_fds();
	}
	return fds;
}

static void related(void)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia = ev_open(&async), pointer = ia;
	const DAT_PROVIDER *table;
	DAT_BOOLEAN answer = DAT_FALSE;

	OK(dats_get_ia_handle(ia, &pointer));
	table = *(const DAT_PROVIDER **)pointer;
	OK(table->ia_ha_related_func(pointer, name(), &answer));
	CHECK(answer == DAT_TRUE);
	WANT(table->ia_ha_related_func(pointer, name(), NULL),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	WANT(table->ia_ha_related_func(pointer, (char *)"unheard-of", &answer),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

int main(void)
{
	open_refused();
	async_evds();
	queries();
	handles();
	ev_no_fds_left(again, NULL);
	related();
	return 0;
}
