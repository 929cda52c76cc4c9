// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A connection of the adapter with itself, from dat_ia_open to dat_ia_close, in which an allocation fails. A number N
 * that is written to `round` runs it in the writing task, with the task's N-th allocation failing (0: none; the kernel's
 * Documentation/fault-injection says how). A write fails with EIO if something was lost: a call that succeeded had no
 * event, an endpoint learned of no end, a posted request did not complete, or the adapter did not close. `result` has
 * the sentence; `left` is 1 if the round had fewer than N allocations.
 */
#include <kdat/kdat.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

enum { QLEN = 32, WAIT_MS = 60000, CONNECT_US = 10000000, RESULT = 160 };
#define NONE DAT_COMPLETION_DEFAULT_FLAG

static char *ia_name = "dapple-kdat-rxe0";
static char text[RESULT] = "not run", *result = text;
static int left;
module_param_named(ia, ia_name, charp, 0444);
module_param(result, charp, 0444);
module_param(left, int, 0444);

struct round {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn;
	DAT_EP_HANDLE ep[2];       /* the one that connects, the one that accepts */
	bool asked[2];             /* to connect, to accept: an event must come */
	bool up[2], down[2];
	int posted, completed;
	DAT_LMR_CONTEXT lmr;
	DAT_RMR_CONTEXT rmr;
	DAT_VADDR base;
	u8 *memory;
	const char *step;          /* the call that failed, or NULL */
	const char *lost;          /* or NULL */
};

/* Names the first call that fails. */
#define DID(r, call) ({ DAT_RETURN ret_ = (call); if (ret_ && !(r)->step) (r)->step = #call; !ret_; })

static bool next(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);

	while (dat_evd_dequeue(evd, ev)) {
		if (time_after(jiffies, until))
			return false;
		usleep_range(500, 1000);
	}
	return true;
}

static bool make(struct round *r, DAT_IA_ATTR *attr, DAT_CONN_QUAL *qual)
{
	DAT_REGION_DESCRIPTION va = { .for_va = r->memory };
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	int i;

	if (!DID(r, dat_ia_open(ia_name, QLEN, &r->async, &r->ia)) ||
	    !DID(r, dat_ia_query(r->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL)) || !DID(r, dat_pz_create(r->ia, &r->pz)) ||
	    !DID(r, dat_evd_kcreate(r->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &r->dto)) ||
	    !DID(r, dat_evd_kcreate(r->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &r->conn)) ||
	    !DID(r, dat_lmr_kcreate(r->ia, DAT_MEM_TYPE_VIRTUAL, va, 2 * PAGE_SIZE, r->pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				    DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &r->lmr, &r->rmr, NULL, &r->base)))
		return false;
	for (i = 0; i < 2; i++)
		if (!DID(r, dat_ep_create(r->ia, r->pz, r->dto, r->dto, r->conn, NULL, &r->ep[i])))
			return false;
	return DID(r, dat_psp_create_any(r->ia, qual, r->conn, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void requested(struct round *r, DAT_CR_HANDLE cr)
{
	r->asked[1] = DID(r, dat_cr_accept(cr, r->ep[1], 0, NULL));
	if (!r->asked[1])
		DID(r, dat_cr_reject(cr, 0, NULL));
}

/* Takes connection events until each endpoint that asked has one of those for which `done` is true. */
static void connection_events(struct round *r, bool (*done)(const struct round *r, int i), const char *lost)
{
	DAT_EVENT ev;

	while ((r->asked[0] && !done(r, 0)) || (r->asked[1] && !done(r, 1))) {
		int i;

		if (!next(r->conn, &ev)) {
			r->lost = lost;
			return;
		}
		if (ev.event_number == DAT_CONNECTION_REQUEST_EVENT) {
			requested(r, ev.event_data.cr_arrival_event_data.cr_handle);
			continue;
		}
		i = ev.event_data.connect_event_data.ep_handle == r->ep[1];
		if (ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			r->up[i] = true;
		else
			r->down[i] = true;
	}
}

static bool answered(const struct round *r, int i)
{
	return r->up[i] || r->down[i];
}

static bool ended(const struct round *r, int i)
{
	return r->down[i];
}

static void transfer(struct round *r)
{
	DAT_LMR_TRIPLET at = { r->base, 64, r->lmr }, to = { r->base + PAGE_SIZE, 64, r->lmr };
	DAT_RMR_TRIPLET remote = { r->base, 64, r->rmr };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT ev;

	r->posted += DID(r, dat_ep_post_recv(r->ep[1], 1, &to, cookie, NONE));
	if (!r->posted)
		return;
	r->posted += DID(r, dat_ep_post_send(r->ep[0], 1, &at, cookie, NONE));
	r->posted += DID(r, dat_ep_post_rdma_write(r->ep[0], 1, &to, cookie, &remote, NONE));
	r->posted += DID(r, dat_ep_post_rdma_read(r->ep[0], 1, &to, cookie, &remote, NONE));
	/* without a Send the receive ends with the connection */
	while (r->completed < (r->posted == 4 ? 4 : r->posted - 1) && next(r->dto, &ev))
		r->completed++;
	if (r->completed < (r->posted == 4 ? 4 : r->posted - 1))
		r->lost = "a request did not complete";
}

static void disconnect(struct round *r)
{
	DAT_EVENT ev;

	if (!r->up[0] || (!DID(r, dat_ep_disconnect(r->ep[0], DAT_CLOSE_GRACEFUL_FLAG)) && !r->down[0] &&
			  !DID(r, dat_ep_disconnect(r->ep[0], DAT_CLOSE_ABRUPT_FLAG))))
		return;
	connection_events(r, ended, "an endpoint did not learn of the end of its connection");
	while (!dat_evd_dequeue(r->dto, &ev))
		r->completed++;
	if (!r->lost && r->completed != r->posted)
		r->lost = "a request was not flushed";
}

static void run(struct round *r)
{
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;

	r->memory = alloc_pages_exact(2 * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	if (!r->memory)
		return;
	if (make(r, &attr, &qual)) {
		r->asked[0] = DID(r, dat_ep_connect(r->ep[0], attr.ia_address_ptr, qual, CONNECT_US, 0, NULL,
						    DAT_QOS_BEST_EFFORT, 0));
		connection_events(r, answered, "an attempt had no event");
		if (r->up[0] && r->up[1])
			transfer(r);
		if (!r->lost)
			disconnect(r);
	}
	if (r->ia && !DID(r, dat_ia_close(r->ia, DAT_CLOSE_ABRUPT_FLAG)))
		r->lost = "the adapter did not close";
	free_pages_exact(r->memory, 2 * PAGE_SIZE);
}

static int round_set(const char *value, const struct kernel_param *kp)
{
	struct round r = { 0 };
	unsigned int n;
	int err = kstrtouint(value, 0, &n);

	if (err)
		return err;
#ifdef CONFIG_FAULT_INJECTION
	current->fail_nth = n;
#else
	if (n)
		return -EOPNOTSUPP;
#endif
	run(&r);
#ifdef CONFIG_FAULT_INJECTION
	left = n && current->fail_nth;
	current->fail_nth = 0;
#endif
	snprintf(text, RESULT, "%u %s%s, up %d%d down %d%d, %d of %d completed", n, r.lost ?: r.step ? "failed: " : "passed",
		 r.lost || !r.step ? "" : r.step, r.up[0], r.up[1], r.down[0], r.down[1], r.completed, r.posted);
	return r.lost ? -EIO : 0;
}

static const struct kernel_param_ops round_ops = { .set = round_set };
module_param_cb(round, &round_ops, NULL, 0200);

static int __init faults_init(void)
{
	return 0;
}

static void __exit faults_exit(void)
{
}

module_init(faults_init);
module_exit(faults_exit);
MODULE_DESCRIPTION("Failing allocations below kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
