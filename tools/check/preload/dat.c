/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of uDAPL whose arguments are the same in DAT 1.2 and 2.0: handles that are used after they were freed, and event dispatchers
 * that are shorter than what may complete into them. Regions and requests are watched below, where the provider calls verbs.
 */
#include "check.h"

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#define DAT "libdat2.so.2"
#define DAT_1_2 "libdat.so.1"

static void *original(const char *name)
{
	void *f = check_real(DAT, name);

	return f ? f : check_real(DAT_1_2, name);
}

#define REAL(name, ...) \
	static DAT_RETURN (*real)(__VA_ARGS__); \
	if (!real) \
		*(void **)&real = original(name)

static bool is_gone(enum object kind, const void *handle)
{
	struct check_site site;

	check_here(&site);
	return check_is_gone(kind, handle, &site);
}

/* A call with a handle that was freed is reported and not passed on: providers read the memory behind it. */
#define REFUSE_GONE(kind, handle) \
	do { \
		if (is_gone(kind, handle)) \
			return DAT_ERROR(DAT_INVALID_HANDLE, 0); \
	} while (0)

static struct check_record *made(enum object kind, void *handle)
{
	struct check_site site;

	check_here(&site);
	return check_add(kind, handle, &site);
}

static DAT_RETURN ended(enum object kind, void *handle, DAT_RETURN r)
{
	if (r == DAT_SUCCESS) {
		ut_lock(&check_lock);
		check_drop(kind, handle);
		ut_unlock(&check_lock);
	}
	return r;
}

/* --- objects --- */

EXPORT DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	DAT_RETURN r;

	REAL("dat_pz_create", DAT_IA_HANDLE, DAT_PZ_HANDLE *);
	r = real(ia, pz);
	if (r != DAT_SUCCESS)
		return r;
	ut_lock(&check_lock);
	made(DAT_PZ, *pz);
	ut_unlock(&check_lock);
	return r;
}

EXPORT DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz)
{
	REAL("dat_pz_free", DAT_PZ_HANDLE);
	REFUSE_GONE(DAT_PZ, pz);
	return ended(DAT_PZ, pz, real(pz));
}

EXPORT DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	DAT_RETURN r;

	REAL("dat_evd_create", DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS, DAT_EVD_HANDLE *);
	r = real(ia, qlen, cno, flags, evd);
	if (r != DAT_SUCCESS)
		return r;
	ut_lock(&check_lock);
	made(DAT_EVD, *evd)->evd.length = (unsigned)qlen;
	ut_unlock(&check_lock);
	return r;
}

EXPORT DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen)
{
	struct check_record *rec;
	DAT_RETURN r;

	REAL("dat_evd_resize", DAT_EVD_HANDLE, DAT_COUNT);
	REFUSE_GONE(DAT_EVD, evd);
	r = real(evd, qlen);
	ut_lock(&check_lock);
	rec = r == DAT_SUCCESS ? check_find(DAT_EVD, evd) : NULL;
	if (rec)
		rec->evd.length = (unsigned)qlen;
	ut_unlock(&check_lock);
	return r;
}

EXPORT DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd)
{
	REAL("dat_evd_free", DAT_EVD_HANDLE);
	REFUSE_GONE(DAT_EVD, evd);
	return ended(DAT_EVD, evd, real(evd));
}

/* check_lock held: a request of the endpoint that may complete into the dispatcher, or (by -1) has. */
static void count(struct check_record *ep, struct check_record *evd, int by)
{
	unsigned *due = evd->ptr == ep->ep.recv_evd ? &ep->ep.recv_due : &ep->ep.request_due;

	if (by > 0 || evd->evd.due)
		evd->evd.due += (unsigned)by;
	if (by > 0 || *due)
		*due += (unsigned)by;
}

/* The requests of an endpoint that is freed or reset complete no more. */
static void forget_requests(DAT_EP_HANDLE ep)
{
	struct check_record *e, *q;

	ut_lock(&check_lock);
	e = check_find(DAT_EP, ep);
	q = e ? check_find(DAT_EVD, e->ep.recv_evd) : NULL;
	while (q && e->ep.recv_due)
		count(e, q, -1);
	q = e ? check_find(DAT_EVD, e->ep.request_evd) : NULL;
	while (q && q->ptr != e->ep.recv_evd && e->ep.request_due)
		count(e, q, -1);
	ut_unlock(&check_lock);
}

static void add_ep(DAT_EP_HANDLE ep, DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd)
{
	struct check_record *rec;

	ut_lock(&check_lock);
	rec = made(DAT_EP, ep);
	rec->ep.recv_evd = recv_evd;
	rec->ep.request_evd = request_evd;
	ut_unlock(&check_lock);
}

EXPORT DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
				DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	DAT_RETURN r;

	REAL("dat_ep_create", DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, const DAT_EP_ATTR *,
	     DAT_EP_HANDLE *);
	REFUSE_GONE(DAT_PZ, pz);
	REFUSE_GONE(DAT_EVD, recv_evd);
	REFUSE_GONE(DAT_EVD, request_evd);
	REFUSE_GONE(DAT_EVD, connect_evd);
	r = real(ia, pz, recv_evd, request_evd, connect_evd, attr, ep);
	if (r == DAT_SUCCESS)
		add_ep(*ep, recv_evd, request_evd);
	return r;
}

EXPORT DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep)
{
	DAT_RETURN r;

	REAL("dat_ep_free", DAT_EP_HANDLE);
	REFUSE_GONE(DAT_EP, ep);
	r = real(ep);
	if (r == DAT_SUCCESS)
		forget_requests(ep);
	return ended(DAT_EP, ep, r);
}

EXPORT DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep)
{
	DAT_RETURN r;

	REAL("dat_ep_reset", DAT_EP_HANDLE);
	REFUSE_GONE(DAT_EP, ep);
	r = real(ep);
	if (r == DAT_SUCCESS)
		forget_requests(ep);
	return r;
}

EXPORT DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	DAT_RETURN r;

	REAL("dat_psp_create", DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS, DAT_PSP_HANDLE *);
	REFUSE_GONE(DAT_EVD, evd);
	r = real(ia, qual, evd, flags, psp);
	if (r != DAT_SUCCESS)
		return r;
	ut_lock(&check_lock);
	made(DAT_PSP, *psp);
	ut_unlock(&check_lock);
	return r;
}

EXPORT DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp)
{
	REAL("dat_psp_free", DAT_PSP_HANDLE);
	REFUSE_GONE(DAT_PSP, psp);
	return ended(DAT_PSP, psp, real(psp));
}

EXPORT DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno)
{
	DAT_RETURN r;

	REAL("dat_cno_create", DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *);
	r = real(ia, agent, cno);
	if (r != DAT_SUCCESS)
		return r;
	ut_lock(&check_lock);
	made(DAT_CNO, *cno);
	ut_unlock(&check_lock);
	return r;
}

EXPORT DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno)
{
	REAL("dat_cno_free", DAT_CNO_HANDLE);
	REFUSE_GONE(DAT_CNO, cno);
	return ended(DAT_CNO, cno, real(cno));
}

/* --- connections --- */

EXPORT DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout, DAT_COUNT size,
				 const DAT_PVOID data, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	REAL("dat_ep_connect", DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT, const DAT_PVOID, DAT_QOS,
	     DAT_CONNECT_FLAGS);
	REFUSE_GONE(DAT_EP, ep);
	return real(ep, remote, qual, timeout, size, data, qos, flags);
}

EXPORT DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	REAL("dat_ep_disconnect", DAT_EP_HANDLE, DAT_CLOSE_FLAGS);
	REFUSE_GONE(DAT_EP, ep);
	return real(ep, flags);
}

/* --- requests and events --- */

struct overrun {
	unsigned due, length;
};

/* A request that may complete into a dispatcher, or (by -1) one that was refused. Returns how many may, if they are too many. */
static struct overrun may_complete(DAT_EP_HANDLE ep, bool recv, int by)
{
	struct overrun over = { 0, 0 };
	struct check_record *e, *q;

	ut_lock(&check_lock);
	e = check_find(DAT_EP, ep);
	q = e ? check_find(DAT_EVD, recv ? e->ep.recv_evd : e->ep.request_evd) : NULL;
	if (q)
		count(e, q, by);
	if (q && q->evd.due > q->evd.length)
		over = (struct overrun){ q->evd.due, q->evd.length };
	ut_unlock(&check_lock);
	return over;
}

/* The call is over: too many requests are a mistake if the provider has taken them. */
static DAT_RETURN posted(DAT_EP_HANDLE ep, bool recv, bool silent, struct overrun over, const struct check_site *site, DAT_RETURN r)
{
	if (r != DAT_SUCCESS && !silent)
		may_complete(ep, recv, -1);
	else if (over.due)
		check_report(CHECK_EVD_SHORT, site, "this makes %u requests that may complete into an event dispatcher of %u events before it "
			     "is dequeued", over.due, over.length);
	return r;
}

/* The body of a post: call() is the original one. */
#define POST(ep, recv, flags, call) \
	do { \
		bool silent_ = (flags) & DAT_COMPLETION_SUPPRESS_FLAG; \
		struct overrun over_ = { 0, 0 }; \
		struct check_site site_; \
		CHECK_HERE(&site_); \
		if (check_is_gone(DAT_EP, ep, &site_)) \
			return DAT_ERROR(DAT_INVALID_HANDLE, 0); \
		if (!silent_) \
			over_ = may_complete(ep, recv, 1); \
		return posted(ep, recv, silent_, over_, &site_, call); \
	} while (0)

EXPORT DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	REAL("dat_ep_post_send", DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS);
	POST(ep, false, flags, real(ep, n, local, cookie, flags));
}

EXPORT DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	REAL("dat_ep_post_recv", DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS);
	POST(ep, true, flags, real(ep, n, local, cookie, flags));
}

EXPORT DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	REAL("dat_ep_post_rdma_read", DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *,
	     DAT_COMPLETION_FLAGS);
	POST(ep, false, flags, real(ep, n, local, cookie, remote, flags));
}

EXPORT DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	REAL("dat_ep_post_rdma_write", DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *,
	     DAT_COMPLETION_FLAGS);
	POST(ep, false, flags, real(ep, n, local, cookie, remote, flags));
}

/* The first word of an event is its number, in both versions. */
static void dequeued(DAT_EVD_HANDLE evd, const DAT_EVENT *e)
{
	struct check_record *q, *ep;

	if (e->event_number != DAT_DTO_COMPLETION_EVENT && (int)e->event_number != DAT_IB_DTO_EVENT)
		return;
	ut_lock(&check_lock);
	q = check_find(DAT_EVD, evd);
	ep = check_find(DAT_EP, e->event_data.dto_completion_event_data.ep_handle);
	if (q && ep)
		count(ep, q, -1);
	ut_unlock(&check_lock);
}

EXPORT DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	struct check_site site;
	DAT_RETURN r;

	REAL("dat_evd_dequeue", DAT_EVD_HANDLE, DAT_EVENT *);
	CHECK_HERE(&site);
	if (check_is_gone(DAT_EVD, evd, &site))
		return DAT_ERROR(DAT_INVALID_HANDLE, 0);
	r = real(evd, event);
	if (r == DAT_SUCCESS)
		dequeued(evd, event);
	return r;
}

EXPORT DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct check_site site;
	DAT_RETURN r;

	REAL("dat_evd_wait", DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *, DAT_COUNT *);
	CHECK_HERE(&site);
	if (check_is_gone(DAT_EVD, evd, &site))
		return DAT_ERROR(DAT_INVALID_HANDLE, 0);
	r = real(evd, timeout, threshold, event, nmore);
	if (r == DAT_SUCCESS)
		dequeued(evd, event);
	return r;
}
