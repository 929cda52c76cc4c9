// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Calls of kDAPL in which an allocation fails. A number N written to `objects` makes and ends an object of each kind; one
 * written to `connection` makes two endpoints of an adapter that stays open, connects them, transfers, disconnects and
 * frees them. In the writing task, the N-th allocation of each call fails (0: none; the kernel's
 * Documentation/fault-injection says how). A call that fails for it is made again and has to succeed; a call that ends
 * something has to succeed at once; an attempt that fails is made again, by endpoints that were reset, and has to succeed.
 *
 * A write fails with EIO if something was lost: such a call failed, a call that succeeded had no event, an endpoint was
 * not told of a failed acceptance or of the end, a posted request did not complete. `result` has the sentence, `fired` the
 * number of calls in which an allocation failed, `calls` for each call the largest N with which one did, and `found_out` the
 * number of rounds in which an endpoint learned of the end by its next request.
 */
#include <kdat/kdat.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

enum { QLEN = 32, WAIT_MS = 90000, TOLD_MS = 30000, CONNECT_US = 45000000, RESULT = 200, CALLS = 48 };
#define NONE DAT_COMPLETION_DEFAULT_FLAG

static char *ia_name = "dapple-kdat-rxe0";
static char text[RESULT] = "not run", *result = text;
static int fired, found_out;
module_param_named(ia, ia_name, charp, 0444);
module_param(result, charp, 0444);
module_param(fired, int, 0444);
module_param(found_out, int, 0444);

/* What all rounds on connections use; made with the first. */
static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn;
	DAT_LMR_CONTEXT lmr;
	DAT_RMR_CONTEXT rmr;
	DAT_VADDR base;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
	u8 *memory;
} kept;

struct round {
	unsigned int n;
	DAT_EP_HANDLE ep[2];       /* the one that connects, the one that accepts */
	bool asked[2];             /* to connect, to accept: an event must come */
	bool up[2], down[2];
	bool timed_out;            /* the one that connects heard nothing */
	int posted, completed;
	const char *failed;        /* the first call that failed, or NULL */
	const char *lost;          /* or NULL */
};

/* --- calls whose N-th allocation fails --- */

static struct { const char *text; unsigned int most; } calls[CALLS];

static void count(const char *call, unsigned int n)
{
	unsigned int i = 0;

	while (i < CALLS - 1 && calls[i].text && calls[i].text != call)
		i++;
	calls[i].text = call;
	calls[i].most = max(calls[i].most, n);
}

/* The allocation of this task that fails, counted down to 0; rounds with another number are refused where no such is. */
#ifdef CONFIG_FAULT_INJECTION
#define FAIL_NTH current->fail_nth
#else
static unsigned int never;
#define FAIL_NTH never
#endif

static void arm(unsigned int n)
{
	FAIL_NTH = n;
}

static void disarm(unsigned int n, const char *call)
{
	if (n && !FAIL_NTH) {
		fired++;
		count(call, n);
	}
	FAIL_NTH = 0;
}

/* Makes a call, and if it fails makes it again without a failing allocation. */
#define TRY(r, call) ({                                        \
	DAT_RETURN ret_;                                       \
	arm((r)->n);                                           \
	ret_ = (call);                                         \
	disarm((r)->n, #call);                                 \
	if (ret_ && !(r)->failed)                              \
		(r)->failed = #call;                           \
	if (ret_ && (call) && !(r)->lost)                      \
		(r)->lost = "a call failed twice: " #call;     \
	!(r)->lost;                                            \
})

/* Makes a call that ends something, which needs no memory to succeed. */
#define END(r, call) ({                                        \
	DAT_RETURN ret_;                                       \
	arm((r)->n);                                           \
	ret_ = (call);                                         \
	disarm((r)->n, #call);                                 \
	if (ret_ && !(r)->lost)                                \
		(r)->lost = "an end failed: " #call;           \
	!ret_;                                                 \
})

/* --- objects --- */

static void objects(struct round *r)
{
	DAT_REGION_DESCRIPTION va = { .for_va = kept.memory };
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 16, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, dto, conn;
	DAT_LMR_HANDLE lmr, fmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_CONN_QUAL qual;
	DAT_SRQ_HANDLE srq;
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_IA_ATTR attr;
	DAT_VADDR base;
	bool made;

	if (!TRY(r, dat_ia_open(ia_name, QLEN, &async, &ia)))
		return;
	made = TRY(r, dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL)) &&
	       TRY(r, dat_pz_create(ia, &pz)) &&
	       TRY(r, dat_evd_kcreate(ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &dto)) &&
	       TRY(r, dat_evd_kcreate(ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &conn)) &&
	       TRY(r, dat_evd_resize(dto, 4 * QLEN)) &&
	       TRY(r, dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, va, 2 * PAGE_SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				      DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context, &remote, NULL, &base)) &&
	       TRY(r, dat_lmr_allocate(ia, pz, 4, DAT_LMR_SCOPE_PZ, &fmr)) && TRY(r, dat_rmr_create(pz, &rmr)) &&
	       TRY(r, dat_srq_create(ia, pz, &srq_attr, &srq)) &&
	       TRY(r, dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep)) &&
	       TRY(r, dat_psp_create_any(ia, &qual, conn, DAT_PSP_CONSUMER_FLAG, &psp));
	if (made && END(r, dat_psp_free(psp)) && END(r, dat_ep_free(ep)) && END(r, dat_srq_free(srq)) &&
	    END(r, dat_rmr_free(rmr)) && END(r, dat_lmr_free(fmr)) && END(r, dat_lmr_free(lmr)) && END(r, dat_evd_free(dto)) &&
	    END(r, dat_evd_free(conn)))
		END(r, dat_pz_free(pz));
	END(r, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* --- events --- */

static bool next(DAT_EVD_HANDLE evd, DAT_EVENT *ev, unsigned int ms)
{
	unsigned long until = jiffies + msecs_to_jiffies(ms);

	while (dat_evd_dequeue(evd, ev)) {
		if (time_after(jiffies, until))
			return false;
		usleep_range(500, 1000);
	}
	return true;
}

/* A request of an attempt that has ended may still be there: its endpoint is taken, and it is rejected. */
static void requested(struct round *r, DAT_CR_HANDLE cr)
{
	if (r->asked[1])
		END(r, dat_cr_reject(cr, 0, NULL));
	else
		r->asked[1] = TRY(r, dat_cr_accept(cr, r->ep[1], 0, NULL));
}

static void take(struct round *r, const DAT_EVENT *ev)
{
	int i = ev->event_data.connect_event_data.ep_handle == r->ep[1];

	if (ev->event_number == DAT_CONNECTION_REQUEST_EVENT)
		requested(r, ev->event_data.cr_arrival_event_data.cr_handle);
	else if (ev->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		r->up[i] = true;
	else
		r->down[i] = true;
	r->timed_out |= ev->event_number == DAT_CONNECTION_EVENT_TIMED_OUT;
}

/* Takes connection events until each endpoint that asked has one of those for which `done` is true. Returns false if none
 * came within ms; `lost` says what is lost then, or NULL. */
static bool connection_events(struct round *r, bool (*done)(const struct round *r, int i), unsigned int ms, const char *lost)
{
	DAT_EVENT ev;

	while ((r->asked[0] && !done(r, 0)) || (r->asked[1] && !done(r, 1))) {
		if (!next(kept.conn, &ev, ms)) {
			r->lost = r->lost ?: lost;
			return false;
		}
		take(r, &ev);
	}
	return true;
}

static bool answered(const struct round *r, int i)
{
	return r->up[i] || r->down[i];
}

static bool ended(const struct round *r, int i)
{
	return r->down[i];
}

/* --- a connection --- */

static bool keep(void)
{
	DAT_REGION_DESCRIPTION va = { .for_va = kept.memory };
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;

	if (kept.ia)
		return true;
	return !dat_ia_open(ia_name, QLEN, &kept.async, &kept.ia) &&
	       !dat_ia_query(kept.ia, NULL, DAT_IA_FIELD_ALL, &kept.attr, 0, NULL) && !dat_pz_create(kept.ia, &kept.pz) &&
	       !dat_evd_kcreate(kept.ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &kept.dto) &&
	       !dat_evd_kcreate(kept.ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &kept.conn) &&
	       !dat_lmr_kcreate(kept.ia, DAT_MEM_TYPE_VIRTUAL, va, 2 * PAGE_SIZE, kept.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &kept.lmr, &kept.rmr, NULL, &kept.base) &&
	       !dat_psp_create_any(kept.ia, &kept.qual, kept.conn, DAT_PSP_CONSUMER_FLAG, &psp);
}

static void attempt(struct round *r)
{
	memset(r->asked, 0, sizeof(r->asked));
	memset(r->up, 0, sizeof(r->up));
	memset(r->down, 0, sizeof(r->down));
	r->timed_out = false;
	r->asked[0] = TRY(r, dat_ep_connect(r->ep[0], kept.attr.ia_address_ptr, kept.qual, CONNECT_US, 0, NULL,
					    DAT_QOS_BEST_EFFORT, 0));
	connection_events(r, answered, WAIT_MS, "an attempt had no event");
	/* an acceptance that fails rejects: its peer does not wait */
	if (r->n && r->down[1] && r->timed_out && !r->lost)
		r->lost = "the connecting endpoint was not told that the acceptance had failed";
}

/* An attempt of which one end failed has an end at the other. */
static void again(struct round *r)
{
	int i;

	r->failed = r->failed ?: "an attempt";
	connection_events(r, ended, WAIT_MS, "an endpoint did not learn that the attempt had failed");
	for (i = 0; i < 2; i++)
		if (r->asked[i])
			END(r, dat_ep_reset(r->ep[i]));
	r->n = 0;
	attempt(r);
	if (!r->lost && !(r->up[0] && r->up[1]))
		r->lost = "an attempt failed twice";
}

static void transfer(struct round *r)
{
	DAT_LMR_TRIPLET at = { kept.base, 64, kept.lmr }, to = { kept.base + PAGE_SIZE, 64, kept.lmr };
	DAT_RMR_TRIPLET remote = { kept.base, 64, kept.rmr };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT ev;

	r->posted += TRY(r, dat_ep_post_recv(r->ep[1], 1, &to, cookie, NONE));
	r->posted += TRY(r, dat_ep_post_send(r->ep[0], 1, &at, cookie, NONE));
	r->posted += TRY(r, dat_ep_post_rdma_write(r->ep[0], 1, &to, cookie, &remote, NONE));
	r->posted += TRY(r, dat_ep_post_rdma_read(r->ep[0], 1, &to, cookie, &remote, NONE));
	while (!r->lost && r->completed < r->posted) {
		if (!next(kept.dto, &ev, WAIT_MS))
			r->lost = "a request did not complete";
		else if (ev.event_data.dto_completion_event_data.status)
			r->lost = "a request failed";
		else
			r->completed++;
	}
}

/*
 * The message of an end that cannot be made for want of memory is not sent at all by the kernel's connection manager. Then
 * the next request of the other endpoint finds out, by its retries.
 */
static void find_out(struct round *r, DAT_LMR_TRIPLET *from, DAT_DTO_COOKIE cookie)
{
	found_out++;
	r->posted += TRY(r, dat_ep_post_send(r->ep[1], 1, from, cookie, NONE));
	connection_events(r, ended, WAIT_MS, "an endpoint did not learn of the end of its connection");
}

/* A receive that nothing answers is flushed by the end. */
static void disconnect(struct round *r)
{
	DAT_LMR_TRIPLET to = { kept.base + PAGE_SIZE, 64, kept.lmr };
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	DAT_EVENT ev;

	r->posted += TRY(r, dat_ep_post_recv(r->ep[1], 1, &to, cookie, NONE));
	END(r, dat_ep_disconnect(r->ep[0], DAT_CLOSE_GRACEFUL_FLAG));
	if (!connection_events(r, ended, TOLD_MS, r->n ? "an endpoint was not told of the end of its connection" : NULL) &&
	    !r->lost)
		find_out(r, &to, cookie);
	while (!dat_evd_dequeue(kept.dto, &ev))
		r->completed++;
	if (!r->lost && r->completed != r->posted)
		r->lost = "a request was not flushed";
}

static void connection(struct round *r)
{
	unsigned int n = r->n;
	DAT_EVENT ev;
	int i;

	if (!keep()) {
		r->lost = "no adapter: a round without failures has to pass first";
		return;
	}
	for (i = 0; i < 2; i++)
		if (!TRY(r, dat_ep_create(kept.ia, kept.pz, kept.dto, kept.dto, kept.conn, NULL, &r->ep[i])))
			return;
	attempt(r);
	if (!r->lost && !(r->up[0] && r->up[1]))
		again(r);
	r->n = n;
	if (!r->lost)
		transfer(r);
	if (!r->lost)
		disconnect(r);
	for (i = 0; i < 2; i++)
		END(r, dat_ep_free(r->ep[i]));
	/* of a request whose sender has given up */
	while (!dat_evd_dequeue(kept.conn, &ev))
		if (ev.event_number == DAT_CONNECTION_REQUEST_EVENT)
			END(r, dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
}

/* --- the parameters --- */

static int run(const char *value, void (*of)(struct round *r))
{
	struct round r = { 0 };
	unsigned long begin = jiffies;
	int err = kstrtouint(value, 0, &r.n);

	if (err)
		return err;
	if (r.n && !IS_ENABLED(CONFIG_FAULT_INJECTION))
		return -EOPNOTSUPP;
	fired = 0;
	of(&r);
	snprintf(text, RESULT, "%u %s, %u ms, up %d%d down %d%d, %d of %d completed: %.100s", r.n,
		 r.lost ? "lost" : r.failed ? "failed" : "passed", jiffies_to_msecs(jiffies - begin), r.up[0], r.up[1], r.down[0],
		 r.down[1], r.completed, r.posted, r.lost ?: r.failed ?: "-");
	return r.lost ? -EIO : 0;
}

static int objects_set(const char *value, const struct kernel_param *kp)
{
	return run(value, objects);
}

static int connection_set(const char *value, const struct kernel_param *kp)
{
	return run(value, connection);
}

static int calls_get(char *to, const struct kernel_param *kp)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < CALLS && calls[i].text; i++)
		len += scnprintf(to + len, PAGE_SIZE - len, "%.*s %u\n", (int)strcspn(calls[i].text, "("), calls[i].text,
				 calls[i].most);
	return len;
}

static const struct kernel_param_ops objects_ops = { .set = objects_set }, connection_ops = { .set = connection_set },
				     calls_ops = { .get = calls_get };
module_param_cb(objects, &objects_ops, NULL, 0200);
module_param_cb(connection, &connection_ops, NULL, 0200);
module_param_cb(calls, &calls_ops, NULL, 0444);

static int __init faults_init(void)
{
	kept.memory = alloc_pages_exact(2 * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	return kept.memory ? 0 : -ENOMEM;
}

static void __exit faults_exit(void)
{
	if (kept.ia && dat_ia_close(kept.ia, DAT_CLOSE_ABRUPT_FLAG))
		pr_err("kdapl_faults: WARNING: the adapter did not close\n");
	free_pages_exact(kept.memory, 2 * PAGE_SIZE);
}

module_init(faults_init);
module_exit(faults_exit);
MODULE_DESCRIPTION("Failing allocations below kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
