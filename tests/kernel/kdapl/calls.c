// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The calls of kDAPL that kecho, kdapltest and rules.c do not make, each with its effect, over connections of an adapter
 * with itself: another provider in the registry, policies of upcalls, the ways to connect and to answer, windows, fast
 * registrations and their ends, shared receive queues with their watermarks, asynchronous errors.
 */
#include "check.h"

#include <kdat/kdat_registry.h>
#include <linux/in.h>
#include <linux/io.h>
#include <linux/net.h>
#include <linux/slab.h>

enum { QLEN = 32, CONNECT_US = 60000000, PART = 64 };

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, dto, conn, crs, crs2;
static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual;
static DAT_IA_ATTR attr;
static DAT_DTO_COOKIE cookie = { .as_64 = 7 };
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lkey;
static DAT_RMR_CONTEXT rkey;
static DAT_VADDR base;
static u8 *memory; /* two pages, in lmr */

static DAT_LMR_TRIPLET local(unsigned int at)
{
	return (DAT_LMR_TRIPLET){ base + at, PART, lkey };
}

/* --- the registry, handles --- */

static struct {
	const DAT_PROVIDER *provider;
	int opens, closes;
} another;

static DAT_RETURN another_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd, DAT_IA_HANDLE *ret)
{
	another.opens++;
	*ret = (DAT_IA_HANDLE)&another;
	return DAT_SUCCESS;
}

static DAT_RETURN another_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	another.closes++;
	return DAT_SUCCESS;
}

static DAT_RETURN another_hint(DAT_IA_HANDLE handle, DAT_MEM_TYPE type, DAT_VLEN length, DAT_MEM_OPTIMIZE_FLAGS optimize,
			       DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment)
{
	*preferred_length = 4711;
	return DAT_SUCCESS;
}

/* A provider of another module: found by its name and its versions, called by its table, held while an IA is open. */
static void registry(void)
{
	static const DAT_PROVIDER table = {
		.device_name = "another",
		.ia_open_func = another_open,
		.ia_close_func = another_close,
		.ia_memtype_hint_func = another_hint,
	};
	static DAT_PROVIDER_INFO info = { "kdat-another", 2, 0, DAT_FALSE }, found[8];
	DAT_PROVIDER_INFO *list[8];
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_HA_RELATIONSHIP related;
	DAT_IA_HANDLE other;
	DAT_VADDR alignment;
	DAT_VLEN length = 0;
	bool listed = false;
	DAT_COUNT i, n = 0;
	int held;

	another.provider = &table;
	IS(dat_registry_add_provider(NULL, &info), ARG(1));
	IS(dat_registry_add_provider(&table, NULL), ARG(2));
	IS(dat_registry_add_provider(&table, &info), OK);
	IS(dat_registry_add_provider(&table, &info), BAD(PROVIDER_ALREADY_REGISTERED, NO_SUBTYPE));
	for (i = 0; i < 8; i++)
		list[i] = &found[i];
	IS(dat_registry_list_providers(8, &n, list), OK);
	for (i = 0; i < n; i++)
		listed |= !strcmp(found[i].ia_name, info.ia_name);
	TRUE(n >= 2 && listed);
	IS(dat_ia_openv(info.ia_name, 8, &evd, &other, 2, 0, DAT_TRUE), BAD(PROVIDER_NOT_FOUND, THREAD_SAFETY_NOT_FOUND));
	held = module_refcount(THIS_MODULE);
	IS(dat_ia_openv(info.ia_name, 8, &evd, &other, 2, 0, DAT_FALSE), OK);
	TRUE(another.opens == 1 && module_refcount(THIS_MODULE) == held + 1);
	IS(dat_ia_memtype_hint(other, DAT_MEM_TYPE_VIRTUAL, 1, DAT_MEM_OPTIMIZE_DONT_CARE, &length, &alignment), OK);
	TRUE(length == 4711);
	IS(dat_registry_remove_provider(&table, &info), OK);
	IS(dat_registry_remove_provider(&table, &info), BAD(PROVIDER_NOT_FOUND, NAME_NOT_REGISTERED));
	IS(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), OK);
	TRUE(another.closes == 1 && module_refcount(THIS_MODULE) == held);
	IS(dat_ia_openv(info.ia_name, 8, &evd, &other, 2, 0, DAT_FALSE), BAD(PROVIDER_NOT_FOUND, NAME_NOT_REGISTERED));
	IS(dat_registry_providers_related(ia_name, ia_name, NULL), ARG(3));
	IS(dat_registry_providers_related(ia_name, ia_name, &related), OK);
}

static void is_type(DAT_HANDLE handle, DAT_HANDLE_TYPE want)
{
	DAT_CONTEXT in = { .as_64 = 0x1234567890ull + want }, out = { 0 };
	DAT_HANDLE_TYPE type = -1;

	IS(dat_get_handle_type(handle, &type), OK);
	TRUE(type == want);
	IS(dat_set_consumer_context(handle, in), OK);
	IS(dat_get_consumer_context(handle, &out), OK);
	TRUE(out.as_64 == in.as_64);
}

static void handles(void)
{
	DAT_BOOLEAN related = DAT_FALSE;
	DAT_VADDR alignment = 0;
	DAT_VLEN length = 0;
	DAT_LMR_TRIPLET t = local(0);
	DAT_RMR_HANDLE rmr;
	DAT_HANDLE_TYPE type;

	is_type(ia, DAT_HANDLE_TYPE_IA);
	is_type(pz, DAT_HANDLE_TYPE_PZ);
	is_type(dto, DAT_HANDLE_TYPE_EVD);
	is_type(lmr, DAT_HANDLE_TYPE_LMR);
	is_type(psp, DAT_HANDLE_TYPE_PSP);
	IS(dat_rmr_create(pz, &rmr), OK);
	is_type(rmr, DAT_HANDLE_TYPE_RMR);
	IS(dat_rmr_free(rmr), OK);
	IS(dat_get_handle_type(NULL, &type), BAD(INVALID_HANDLE, INVALID_HANDLE1));
	IS(dat_get_handle_type(ia, NULL), ARG(2));
	IS(dat_ia_memtype_hint(ia, DAT_MEM_TYPE_VIRTUAL, 0, DAT_MEM_OPTIMIZE_DONT_CARE, &length, &alignment), ARG(3));
	IS(dat_ia_memtype_hint(ia, DAT_MEM_TYPE_VIRTUAL, 5000, DAT_MEM_OPTIMIZE_DONT_CARE, &length, &alignment), OK);
	TRUE(length == 2 * PAGE_SIZE && alignment == PAGE_SIZE);
	IS(dat_ia_memtype_hint(ia, DAT_MEM_TYPE_VIRTUAL, 5000, DAT_MEM_OPTIMIZE_EXACT_EXPOSURE, &length, &alignment), OK);
	TRUE(length == 5000);
	IS(dat_ia_ha_related(ia, "no-such", &related), ARG(2));
	IS(dat_ia_ha_related(ia, ia_name, NULL), ARG(3));
	IS(dat_lmr_sync_rdma_read(ia, &t, 1), OK);
	IS(dat_lmr_sync_rdma_write(ia, &t, 1), OK);
	IS(dat_lmr_sync_rdma_read(ia, NULL, 1), ARG(2));
}

/* --- upcalls --- */

static struct {
	atomic_t calls, empty, ended;
	int last, order, more;
} heard;

static void hear(DAT_PVOID instance, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	int value;

	atomic_inc(&heard.calls);
	heard.more = more;
	if (!ev) {
		atomic_inc(&heard.empty);
		return;
	}
	value = (int)(long)ev->event_data.software_event_data.pointer;
	heard.order += value == heard.last + 1;
	heard.last = value;
}

static void hear_long(DAT_PVOID instance, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	atomic_inc(&heard.calls);
	msleep(200);
	atomic_inc(&heard.ended);
}

static DAT_RETURN tell(DAT_EVD_HANDLE evd, long value)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };

	ev.event_data.software_event_data.pointer = (DAT_PVOID)value;
	return dat_evd_post_se(evd, &ev);
}

static void forget(void)
{
	memset(&heard, 0, sizeof(heard));
}

static void upcalls(void)
{
	DAT_UPCALL_OBJECT up = { NULL, hear }, slow = { NULL, hear_long };
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM p;
	DAT_EVENT ev;
	int i;

	IS(dat_evd_kcreate(ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &up, DAT_EVD_SOFTWARE_FLAG, &evd), OK);
	for (i = 1; i <= 5; i++)
		IS(tell(evd, i), OK);
	TRUE(atomic_read(&heard.calls) == 5 && heard.order == 5 && !heard.more);
	IS(dat_evd_dequeue(evd, &ev), BAD(QUEUE_EMPTY, NO_SUBTYPE));

	/* NOTIFY: an upcall without an event, which stays */
	forget();
	IS(dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW), OK);
	IS(tell(evd, 1), OK);
	TRUE(atomic_read(&heard.empty) == 1 && heard.more);
	IS(dat_evd_dequeue(evd, &ev), OK);

	/* DISABLE: events wait; INVOC_ANY tells of them, INVOC_NEW with the next one */
	forget();
	IS(dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW), OK);
	IS(tell(evd, 1), OK);
	IS(tell(evd, 2), OK);
	TRUE(!atomic_read(&heard.calls));
	IS(dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW), OK);
	TRUE(!atomic_read(&heard.calls));
	IS(tell(evd, 3), OK);
	TRUE(atomic_read(&heard.calls) == 3 && heard.order == 3);
	IS(dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW), OK);
	IS(tell(evd, 4), OK);
	IS(dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, &up, DAT_UPCALL_INVOC_ANY), OK);
	TRUE(atomic_read(&heard.calls) == 4 && heard.order == 4);
	IS(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &p), OK);
	TRUE(p.upcall_policy == DAT_UPCALL_MANY && p.upcall.upcall_func == hear);
	IS(dat_evd_free(evd), OK);

	/* TEARDOWN returns when the upcall that runs has ended, and none follows */
	forget();
	IS(dat_evd_kcreate(ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &slow, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG, &evd), OK);
	IS(tell(evd, 1), OK);
	IS(tell(evd, 2), OK);
	for (i = 0; i < 6000 && !atomic_read(&heard.calls); i++)
		msleep(10);
	IS(dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW), OK);
	i = atomic_read(&heard.calls);
	TRUE(i >= 1 && atomic_read(&heard.ended) == i);
	IS(tell(evd, 3), OK);
	TRUE(atomic_read(&heard.calls) == i);
	IS(dat_evd_free(evd), OK);
}

/* --- connections --- */

struct pair {
	DAT_EP_HANDLE a, b; /* the one that connects, the one that accepts */
};

static DAT_EP_HANDLE endpoint(void)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	IS(dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep), OK);
	return ep;
}

static DAT_RETURN ask(DAT_EP_HANDLE ep, DAT_CONN_QUAL to)
{
	return dat_ep_connect(ep, attr.ia_address_ptr, to, CONNECT_US, 4, "ask", DAT_QOS_BEST_EFFORT, 0);
}

/* The next request at evd. */
static DAT_CR_HANDLE request(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	if (!TRUE(next(evd, &ev) == DAT_CONNECTION_REQUEST_EVENT))
		return DAT_HANDLE_NULL;
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

/* Both ends have an event of this kind, or either of two kinds. */
static void both(DAT_EVENT_NUMBER kind, DAT_EVENT_NUMBER other)
{
	DAT_EVENT_NUMBER got;
	DAT_EVENT ev;
	int i;

	for (i = 0; i < 2; i++) {
		got = next(conn, &ev);
		if (!TRUE(got == kind || got == other))
			pr_err("%s: event %x\n", KBUILD_MODNAME, got);
	}
}

static void established(void)
{
	both(DAT_CONNECTION_EVENT_ESTABLISHED, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static struct pair connected(DAT_EP_HANDLE b)
{
	struct pair p = { endpoint(), b ? b : endpoint() };

	IS(ask(p.a, qual), OK);
	IS(dat_cr_accept(request(crs), p.b, 0, NULL), OK);
	established();
	return p;
}

static void discard(struct pair p)
{
	DAT_EVENT ev;

	IS(dat_ep_free(p.a), OK);
	IS(dat_ep_free(p.b), OK);
	while (!dat_evd_dequeue(dto, &ev))
		;
}

static void leave(struct pair p)
{
	IS(dat_ep_disconnect(p.b, DAT_CLOSE_ABRUPT_FLAG), OK);
	both(DAT_CONNECTION_EVENT_DISCONNECTED, DAT_CONNECTION_EVENT_DISCONNECTED);
	discard(p);
}

/* No listener; a reject with its private data; a second try of the same endpoint. */
static void refused(void)
{
	DAT_EP_HANDLE ep = endpoint();
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	IS(ask(ep, 64999), OK);
	TRUE(next(conn, &ev) == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	IS(dat_ep_reset(ep), OK);
	IS(ask(ep, qual), OK);
	cr = request(crs);
	is_type(cr, DAT_HANDLE_TYPE_CR);
	IS(dat_cr_reject(cr, 7, "enough"), OK);
	TRUE(next(conn, &ev) == DAT_CONNECTION_EVENT_PEER_REJECTED);
	TRUE(ev.event_data.connect_event_data.private_data_size >= 7 &&
	     !strcmp(ev.event_data.connect_event_data.private_data, "enough"));
	IS(dat_ep_free(ep), OK);
}

/* A request handed to another service point is accepted there; its private data come along. */
static void handed(void)
{
	struct pair p = { endpoint(), endpoint() };
	DAT_PSP_HANDLE second;
	DAT_CONN_QUAL to;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM c;

	IS(dat_psp_create_any(ia, &to, crs2, DAT_PSP_CONSUMER_FLAG, &second), OK);
	IS(ask(p.a, qual), OK);
	cr = request(crs);
	IS(dat_cr_handoff(NULL, to), HANDLE(CR));
	IS(dat_cr_handoff(cr, 64999), ARG(2));
	IS(dat_cr_handoff(cr, to), OK);
	cr = request(crs2);
	IS(dat_cr_query(cr, DAT_CR_FIELD_ALL, &c), OK);
	TRUE(c.private_data_size >= 4 && !strcmp(c.private_data, "ask"));
	IS(dat_cr_accept(cr, p.b, 0, NULL), OK);
	established();
	IS(dat_psp_free(second), OK);
	leave(p);
}

/* A duplicate goes to the address and the service point of its model. */
static void duplicated(void)
{
	struct pair p = connected(NULL), q = { endpoint(), endpoint() };
	DAT_EP_PARAM e, f;

	IS(dat_ep_dup_connect(q.a, q.b, CONNECT_US, 0, NULL, DAT_QOS_BEST_EFFORT), STATE(EP_UNCONNECTED));
	IS(dat_ep_dup_connect(q.a, p.a, CONNECT_US, 4, "dup", DAT_QOS_BEST_EFFORT), OK);
	IS(dat_cr_accept(request(crs), q.b, 0, NULL), OK);
	established();
	IS(dat_ep_query(p.a, DAT_EP_FIELD_ALL, &e), OK);
	IS(dat_ep_query(q.a, DAT_EP_FIELD_ALL, &f), OK);
	TRUE(e.remote_port_qual == f.remote_port_qual && f.ep_state == DAT_EP_STATE_CONNECTED);
	leave(q);
	leave(p);
}

static void common(void)
{
	DAT_COMM comm = { AF_INET, SOCK_STREAM, 0 }, odd = { AF_INET, SOCK_DGRAM, 0 };
	struct pair p = { endpoint(), endpoint() };
	struct sockaddr_in at, no = { .sin_family = AF_INET };
	DAT_CSP_HANDLE csp, twice;
	DAT_CSP_PARAM c;
	DAT_EP_PARAM e;

	memcpy(&at, attr.ia_address_ptr, sizeof(at));
	at.sin_port = 0;
	IS(dat_csp_create(ia, NULL, (DAT_IA_ADDRESS_PTR)&at, crs, &csp), ARG(2));
	IS(dat_csp_create(ia, &odd, (DAT_IA_ADDRESS_PTR)&at, crs, &csp), BAD(COMM_NOT_SUPPORTED, NO_SUBTYPE));
	IS(dat_csp_create(ia, &comm, NULL, crs, &csp), ARG(3));
	IS(dat_csp_create(ia, &comm, (DAT_IA_ADDRESS_PTR)&at, dto, &csp), HANDLE(EVD_CR));
	IS(dat_csp_create(ia, &comm, (DAT_IA_ADDRESS_PTR)&at, crs, &csp), OK);
	is_type(csp, DAT_HANDLE_TYPE_CSP);
	IS(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &c), OK);
	memcpy(&at, c.address_ptr, sizeof(at));
	TRUE(at.sin_port != 0 && c.evd_handle == crs);
	IS(dat_csp_create(ia, &comm, (DAT_IA_ADDRESS_PTR)&at, crs, &twice), BAD(PORT_IN_USE, NO_SUBTYPE));
	IS(dat_ep_common_connect(p.a, NULL, CONNECT_US, 0, NULL), ARG(2));
	IS(dat_ep_common_connect(p.a, (DAT_IA_ADDRESS_PTR)&no, CONNECT_US, 0, NULL),
	   BAD(INVALID_ADDRESS, INVALID_ADDRESS_MALFORMED));
	IS(dat_ep_common_connect(p.a, (DAT_IA_ADDRESS_PTR)&at, CONNECT_US, 4, "com"), OK);
	IS(dat_cr_accept(request(crs), p.b, 0, NULL), OK);
	established();
	IS(dat_ep_query(p.a, DAT_EP_FIELD_ALL, &e), OK);
	TRUE(e.comm.domain == AF_INET && e.comm.type == SOCK_STREAM);
	IS(dat_csp_free(csp), OK);
	leave(p);
}

/* A reserved service point takes one request, by its endpoint; a provider's one comes with an endpoint. */
static void reserved(void)
{
	struct pair p = { endpoint(), endpoint() };
	DAT_PSP_HANDLE giving;
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM r;
	DAT_EP_PARAM e = { .pz_handle = pz, .recv_evd_handle = dto, .request_evd_handle = dto, .connect_evd_handle = conn };
	DAT_CONN_QUAL to;
	DAT_CR_PARAM c;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	IS(dat_rsp_create(ia, 7302, p.b, crs, &rsp), OK);
	is_type(rsp, DAT_HANDLE_TYPE_RSP);
	IS(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &r), OK);
	TRUE(r.conn_qual == 7302 && r.ep_handle == p.b);
	IS(ask(p.a, 7302), OK);
	cr = request(crs);
	IS(dat_cr_query(cr, DAT_CR_FIELD_ALL, &c), OK);
	TRUE(c.local_ep_handle == p.b);
	IS(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), OK);
	established();
	leave(p);
	p.a = endpoint();
	IS(ask(p.a, 7302), OK);
	TRUE(next(conn, &ev) == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	IS(dat_ep_reset(p.a), OK);
	IS(dat_rsp_free(rsp), OK);

	IS(dat_psp_create_any(ia, &to, crs, DAT_PSP_PROVIDER_FLAG, &giving), OK);
	IS(ask(p.a, to), OK);
	cr = request(crs);
	IS(dat_cr_query(cr, DAT_CR_FIELD_ALL, &c), OK);
	p.b = c.local_ep_handle;
	if (TRUE(p.b)) {
		is_type(p.b, DAT_HANDLE_TYPE_EP);
		IS(dat_ep_modify(p.b, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				      DAT_EP_FIELD_CONNECT_EVD_HANDLE, &e), OK);
		IS(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), OK);
		established();
		leave(p);
	}
	IS(dat_psp_free(giving), OK);
}

/* --- transfers --- */

/* The next completion of an operation: its status. */
static DAT_DTO_COMPLETION_STATUS done(DAT_DTOS operation)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT ev = { 0 };

	if (!TRUE(next(dto, &ev) == DAT_DTO_COMPLETION_EVENT))
		return -1;
	d = &ev.event_data.dto_completion_event_data;
	if (!TRUE(d->operation == operation && d->user_cookie.as_64 == cookie.as_64))
		pr_err("%s: operation %d, status %d\n", KBUILD_MODNAME, d->operation, d->status);
	return d->status;
}

#define DONE(operation) TRUE(done(DAT_DTO_##operation) == DAT_DTO_SUCCESS)

static void bound(void)
{
	DAT_EVENT ev = { 0 };

	TRUE(next(dto, &ev) == DAT_RMR_BIND_COMPLETION_EVENT &&
	     ev.event_data.rmr_completion_event_data.status == DAT_DTO_SUCCESS);
}

/* A Read of memory that remote may not name any more: refused, which ends the connection. A Write would not do: over iWARP it
 * completes when it is sent. */
static void denied(struct pair p, const DAT_RMR_TRIPLET *remote)
{
	DAT_LMR_TRIPLET to = local(0);
	DAT_DTO_COMPLETION_STATUS status;

	IS(dat_ep_post_rdma_read(p.a, 1, &to, cookie, remote, NONE), OK);
	status = done(DAT_DTO_RDMA_READ);
	TRUE(status == DAT_DTO_ERR_REMOTE_ACCESS || status == DAT_DTO_ERR_FLUSHED);
	both(DAT_CONNECTION_EVENT_BROKEN, DAT_CONNECTION_EVENT_DISCONNECTED);
	discard(p);
}

/* Windows: one for an endpoint, written into by the peer; another as the sink of a Read; both contexts end. */
static void windows(void)
{
	struct pair p = connected(NULL);
	DAT_LMR_TRIPLET window = local(2 * PART), from = local(0), recv = local(6 * PART);
	DAT_RMR_TRIPLET remote = { base + 2 * PART, PART, 0 }, all = { base, PART, rkey };
	DAT_RMR_CONTEXT first;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM r;

	IS(dat_rmr_create_for_ep(pz, &rmr), OK);
	IS(dat_rmr_bind(rmr, lmr, &window, DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, p.b,
			cookie, NONE, &remote.rmr_context), OK);
	bound();
	IS(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &r), OK);
	TRUE(r.rmr_scope == DAT_RMR_SCOPE_EP && r.rmr_context == remote.rmr_context && r.lmr_triplet.segment_length == PART);
	memset(memory, 0x11, PART);
	IS(dat_ep_post_rdma_write(p.a, 1, &from, cookie, &remote, NONE), OK);
	DONE(RDMA_WRITE);
	memset(memory + PART, 0, PART);
	from = local(PART);
	IS(dat_ep_post_rdma_read(p.a, 1, &from, cookie, &remote, NONE), OK);
	DONE(RDMA_READ);
	TRUE(!memchr_inv(memory + PART, 0x11, 2 * PART));

	/* a second bind ends the first one's context */
	first = remote.rmr_context;
	IS(dat_rmr_bind(rmr, lmr, &window, DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, p.b,
			cookie, NONE, &remote.rmr_context), OK);
	bound();
	TRUE(first != remote.rmr_context);

	/* a Read whose sink is named by a window */
	memset(memory, 0x22, PART);
	IS(dat_ep_post_rdma_read_to_rmr(p.b, NULL, cookie, &all, NONE), ARG(2));
	IS(dat_ep_post_rdma_read_to_rmr(p.b, &remote, cookie, NULL, NONE), ARG(4));
	IS(dat_ep_post_rdma_read_to_rmr(p.b, &remote, cookie, &all, NONE), OK);
	DONE(RDMA_READ);
	TRUE(!memchr_inv(memory + 2 * PART, 0x22, PART));

	/* the peer ends the window by its Send, and is refused from then on */
	IS(dat_ep_post_recv(p.b, 1, &recv, cookie, NONE), OK);
	from = local(0);
	IS(dat_ep_post_send_with_invalidate(p.a, 1, &from, cookie, NONE, 7, remote.rmr_context), ARG(6));
	IS(dat_ep_post_send_with_invalidate(p.a, 1, &from, cookie, DAT_COMPLETION_SUPPRESS_FLAG, DAT_TRUE, remote.rmr_context), OK);
	DONE(RECEIVE_WITH_INVALIDATE);
	IS(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &r), OK);
	TRUE(!r.rmr_context);
	denied(p, &remote);
	IS(dat_rmr_free(rmr), OK);
}

/* A fast registration, used, ended by its owner, and used in vain. */
static void registrations(void)
{
	struct pair p = connected(NULL);
	DAT_PADDR list[1] = { virt_to_phys(memory + PAGE_SIZE) };
	DAT_REGION_DESCRIPTION pages = { .for_array = { PAGE_SIZE, list } };
	DAT_LMR_TRIPLET from = local(0);
	DAT_RMR_TRIPLET remote = { list[0], PART, 0 };
	DAT_LMR_HANDLE fmr;
	DAT_LMR_PARAM l;
	int i;

	IS(dat_lmr_allocate(ia, pz, 1, DAT_LMR_SCOPE_ANY, &fmr), OK);
	IS(dat_lmr_invalidate(fmr, p.b, cookie, NONE), STATE(LMR_FREE));
	for (i = 0; i < 2; i++) {
		IS(dat_lmr_fmr(fmr, DAT_MEM_TYPE_PHYSICAL, pages, 1, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, p.b, cookie, NONE, NULL,
			       &remote.rmr_context), OK);
		DONE(LMR_FMR);
		IS(dat_lmr_query(fmr, DAT_LMR_FIELD_ALL, &l), OK);
		TRUE(l.lmr_state.fmr_support && l.lmr_state.bound && l.rmr_context == remote.rmr_context);
		IS(dat_lmr_fmr(fmr, DAT_MEM_TYPE_PHYSICAL, pages, 1, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, p.b, cookie, NONE, NULL,
			       NULL), STATE(LMR_IN_USE));
		memset(memory, 0x33 + i, PART);
		IS(dat_ep_post_rdma_write(p.a, 1, &from, cookie, &remote, NONE), OK);
		DONE(RDMA_WRITE);
		TRUE(!memchr_inv(memory + PAGE_SIZE, 0x33 + i, PART));
		IS(dat_lmr_invalidate(fmr, p.b, cookie, DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG), OK);
		DONE(LMR_INVALIDATE);
		IS(dat_lmr_query(fmr, DAT_LMR_FIELD_ALL, &l), OK);
		TRUE(!l.lmr_state.bound);
	}
	denied(p, &remote);
	IS(dat_lmr_free(fmr), OK);
}

/* --- shared receive queues, asynchronous errors --- */

/* The asynchronous EVD tells this of a handle. */
static void told(DAT_EVENT_NUMBER number, DAT_HANDLE handle, DAT_COUNT reason)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *d;
	DAT_EVENT ev = { 0 };

	if (!TRUE(next(async, &ev) == number))
		return;
	d = &ev.event_data.asynch_error_event_data;
	TRUE(d->dat_handle == handle && d->reason == reason);
}

static void shared(void)
{
	DAT_SRQ_ATTR a = { .max_recv_dtos = 8, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_LMR_TRIPLET from = local(0), to = local(PAGE_SIZE);
	DAT_COUNT buffers = -1, span = 0;
	DAT_EP_HANDLE ep, bare = endpoint();
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_PARAM s;
	struct pair p;
	int i;

	IS(dat_srq_create(ia, pz, &a, &srq), OK);
	is_type(srq, DAT_HANDLE_TYPE_SRQ);
	IS(dat_ep_create_with_srq(ia, pz, dto, dto, conn, NULL, NULL, &ep), HANDLE(SRQ));
	IS(dat_ep_create_with_srq(ia, pz, dto, dto, conn, srq, NULL, &ep), OK);
	IS(dat_srq_free(srq), STATE(SRQ_IN_USE));
	IS(dat_ep_set_watermark(bare, 1, 1), STATE(EP_RECV_WATERMARK));
	IS(dat_ep_set_watermark(ep, -7, 1), ARG(2));
	IS(dat_ep_set_watermark(ep, 2, 4), OK);
	IS(dat_srq_post_recv(srq, 2, &to, cookie), ARG(2));
	for (i = 0; i < 8; i++)
		IS(dat_srq_post_recv(srq, 1, &to, cookie), OK);
	IS(dat_srq_post_recv(srq, 1, &to, cookie), BAD(INSUFFICIENT_RESOURCES, RESOURCE_MEMORY));
	IS(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &s), OK);
	TRUE(s.available_dto_count == 8 && s.max_recv_dtos == 8);
	IS(dat_srq_resize(srq, 4), STATE(SRQ_IN_USE));
	IS(dat_srq_resize(srq, 16), BAD(MODEL_NOT_SUPPORTED, NO_SUBTYPE));
	IS(dat_srq_set_lw(srq, 9), ARG(2));
	IS(dat_srq_set_lw(srq, 7), OK);
	p = connected(ep);
	IS(dat_ep_post_recv(p.b, 1, &to, cookie, NONE), BAD(INVALID_STATE, NO_SUBTYPE));

	/* the second Send leaves six: below 7, and the endpoint has taken the two of its soft watermark */
	for (i = 0; i < 2; i++) {
		memset(memory, 0x44 + i, PART);
		IS(dat_ep_post_send(p.a, 1, &from, cookie, DAT_COMPLETION_SUPPRESS_FLAG), OK);
		DONE(RECEIVE);
		TRUE(!memchr_inv(memory + PAGE_SIZE, 0x44 + i, PART));
	}
	told(DAT_ASYNC_ERROR_EP_BROKEN, srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	told(DAT_ASYNC_ERROR_EP_BROKEN, p.b, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	IS(dat_ep_recv_query(p.b, &buffers, &span), OK);
	TRUE(buffers == 2);
	IS(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &s), OK);
	TRUE(s.available_dto_count == 6);

	/* above the hard watermark the connection ends */
	for (i = 0; i < 2; i++) {
		IS(dat_ep_post_send(p.a, 1, &from, cookie, DAT_COMPLETION_SUPPRESS_FLAG), OK);
		DONE(RECEIVE);
	}
	IS(dat_ep_post_send(p.a, 1, &from, cookie, DAT_COMPLETION_SUPPRESS_FLAG), OK);
	both(DAT_CONNECTION_EVENT_BROKEN, DAT_CONNECTION_EVENT_DISCONNECTED);
	discard(p);
	IS(dat_ep_free(bare), OK);
	IS(dat_srq_free(srq), OK);
}

/* An EVD for one completion, in which the first stays. */
static void overflow(void)
{
	struct pair p = { DAT_HANDLE_NULL, endpoint() };
	DAT_LMR_TRIPLET from = local(0);
	DAT_RMR_TRIPLET remote = { base + PAGE_SIZE, PART, rkey };
	DAT_EVD_HANDLE narrow;
	int i;

	IS(dat_evd_kcreate(ia, 1, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &narrow), OK);
	IS(dat_ep_create(ia, pz, dto, narrow, conn, NULL, &p.a), OK);
	IS(ask(p.a, qual), OK);
	IS(dat_cr_accept(request(crs), p.b, 0, NULL), OK);
	established();
	for (i = 0; i < 2; i++)
		IS(dat_ep_post_rdma_write(p.a, 1, &from, cookie, &remote, NONE), OK);
	told(DAT_ASYNC_ERROR_EVD_OVERFLOW, narrow, DAT_EVD_OVERFLOW_ERROR);
	leave(p);
	IS(dat_evd_free(narrow), OK);
}

static DAT_RETURN make(void)
{
	DAT_REGION_DESCRIPTION va = { .for_va = memory };
	const DAT_EVD_FLAGS requests = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG;

	return dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL) ?: dat_pz_create(ia, &pz) ?:
	       dat_evd_kcreate(ia, QLEN, DAT_UPCALL_DISABLE, NULL, requests, &dto) ?:
	       dat_evd_kcreate(ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG, &conn) ?:
	       dat_evd_kcreate(ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG, &crs) ?:
	       dat_evd_kcreate(ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG, &crs2) ?:
	       dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, va, 2 * PAGE_SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &lkey, &rkey, NULL, &base) ?:
	       dat_psp_create_any(ia, &qual, crs, DAT_PSP_CONSUMER_FLAG, &psp);
}

static void all(void)
{
	registry();
	handles();
	upcalls();
	refused();
	handed();
	duplicated();
	common();
	reserved();
	windows();
	registrations();
	shared();
	overflow();
}

static int __init calls_init(void)
{
	memory = alloc_pages_exact(2 * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	if (!memory)
		return -ENOMEM;
	if (IS(dat_ia_open(ia_name, QLEN, &async, &ia), OK)) {
		if (IS(make(), OK))
			all();
		IS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), OK);
	}
	free_pages_exact(memory, 2 * PAGE_SIZE);
	return ia ? 0 : -ENODEV;
}

static void __exit calls_exit(void)
{
}

module_init(calls_init);
module_exit(calls_exit);
MODULE_DESCRIPTION("Calls of kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
