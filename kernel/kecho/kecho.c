// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * kecho: a first consumer of kDAPL, to be read from the end. Both sides load it; the server with no argument but the
 * adapter (insmod kecho.ko ia=dapple-kdat-rxe0), the client with the server's address too (peer=10.0.0.1).
 *
 * The client registers a list of pages by a work request (dat_lmr_fmr), and sends its context to the server. The server
 * reads the pages with an RDMA Read, writes them back with every bit turned over, and answers with a Send that also
 * invalidates the client's context. Then the client leaves. Its module parameter `result` tells how it went.
 */
#include <kdat/kdat.h>
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/module.h>

enum { PORT = 7007, PAGES = 4, BYTES = PAGES * PAGE_SIZE, QLEN = 16, WAIT_S = 60 };

static char *ia_name = "dapple-kdat-rxe0", *peer = "", *result = "running";
module_param_named(ia, ia_name, charp, 0444);
module_param(peer, charp, 0444);
module_param(result, charp, 0444);

static struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, conn, dto;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE pages_lmr, msg_lmr;
	DAT_LMR_CONTEXT pages_context, msg_context;
	DAT_RMR_TRIPLET *msg; /* what travels by Send: where the client's pages are */
	u8 *pages;
	DAT_PADDR list[PAGES];
	struct completion up, step, down;
	DAT_DTO_COMPLETION_STATUS status;
} me;

static DAT_LMR_TRIPLET msg_segment(void)
{
	return (DAT_LMR_TRIPLET){ (uintptr_t)me.msg, sizeof(*me.msg), me.msg_context };
}

static void post_recv(void)
{
	DAT_LMR_TRIPLET s = msg_segment();

	dat_ep_post_recv(me.ep, 1, &s, (DAT_DTO_COOKIE){ .as_64 = 0 }, DAT_COMPLETION_DEFAULT_FLAG);
}

/* The server's three steps, each begun by the completion of the one before. Softirq: posts are allowed, sleeping is not. */
static void serve(const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	DAT_LMR_TRIPLET pages = { me.list[0], BYTES, me.pages_context }, answer = msg_segment();
	unsigned int i;

	if (d->operation == DAT_DTO_RECEIVE) {
		dat_ep_post_rdma_read(me.ep, 1, &pages, d->user_cookie, me.msg, DAT_COMPLETION_DEFAULT_FLAG);
	} else if (d->operation == DAT_DTO_RDMA_READ) {
		for (i = 0; i < BYTES; i++)
			me.pages[i] = ~me.pages[i];
		dat_ep_post_rdma_write(me.ep, 1, &pages, d->user_cookie, me.msg, DAT_COMPLETION_DEFAULT_FLAG);
		dat_ep_post_send_with_invalidate(me.ep, 1, &answer, d->user_cookie, DAT_COMPLETION_DEFAULT_FLAG,
						 DAT_TRUE, me.msg->rmr_context);
	}
}

static void on_dto(DAT_PVOID unused, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;

	if (d->operation == DAT_DTO_LMR_FMR || d->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE ||
	    d->status != DAT_DTO_SUCCESS) {
		me.status = d->status;
		complete(&me.step);
	} else if (!*peer || d->operation == DAT_DTO_LMR_FMR) {
		serve(d);
	}
}

/* Connection events come in a context that may sleep, so a request can be accepted here. */
static void on_conn(DAT_PVOID unused, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	if (ev->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		dat_cr_accept(ev->event_data.cr_arrival_event_data.cr_handle, me.ep, 0, NULL);
	} else if (ev->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		complete_all(&me.up);
	} else {
		complete_all(&me.down); /* refused, or the end */
		complete_all(&me.up);
	}
}

static DAT_RETURN make(void)
{
	DAT_UPCALL_OBJECT dto = { NULL, on_dto }, conn = { NULL, on_conn };
	DAT_REGION_DESCRIPTION msg = { .for_va = me.msg }, list = { .for_array = { PAGE_SIZE, me.list } };
	DAT_RETURN r;

	(r = dat_ia_open(ia_name, QLEN, &me.async, &me.ia)) || (r = dat_pz_create(me.ia, &me.pz)) ||
	(r = dat_evd_kcreate(me.ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &dto, DAT_EVD_DTO_FLAG, &me.dto)) ||
	(r = dat_evd_kcreate(me.ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &conn,
			     DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &me.conn)) ||
	(r = dat_lmr_kcreate(me.ia, DAT_MEM_TYPE_VIRTUAL, msg, sizeof(*me.msg), me.pz,
			     DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA,
			     DAT_MEM_OPTIMIZE_DONT_CARE, &me.msg_lmr, &me.msg_context, NULL, NULL, NULL)) ||
	(r = dat_ep_create(me.ia, me.pz, me.dto, me.dto, me.conn, NULL, &me.ep));
	if (!r && !*peer) /* the server's pages have a context for as long as it lives */
		r = dat_lmr_kcreate(me.ia, DAT_MEM_TYPE_PHYSICAL, list, BYTES, me.pz, DAT_MEM_PRIV_ALL_FLAG,
				    DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &me.pages_lmr, &me.pages_context,
				    NULL, NULL, NULL);
	else if (!r)
		r = dat_lmr_allocate(me.ia, me.pz, PAGES, DAT_LMR_SCOPE_PZ, &me.pages_lmr);
	return r;
}

static const char *client(void)
{
	DAT_REGION_DESCRIPTION list = { .for_array = { PAGE_SIZE, me.list } };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = in_aton(peer) };
	DAT_LMR_TRIPLET s = msg_segment();
	unsigned int i;

	memset(me.pages, 0x5a, BYTES);
	post_recv();
	if (dat_ep_connect(me.ep, (DAT_IA_ADDRESS_PTR)&to, PORT, WAIT_S * 1000000u, 0, NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG))
		return "no connect";
	if (!wait_for_completion_timeout(&me.up, WAIT_S * HZ) || completion_done(&me.down))
		return "not connected";
	*me.msg = (DAT_RMR_TRIPLET){ me.list[0], BYTES, 0 };
	if (dat_lmr_fmr(me.pages_lmr, DAT_MEM_TYPE_PHYSICAL, list, PAGES, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, me.ep,
			(DAT_LMR_COOKIE){ .as_64 = 1 }, DAT_COMPLETION_DEFAULT_FLAG, NULL, &me.msg->rmr_context) ||
	    dat_ep_post_send(me.ep, 1, &s, (DAT_DTO_COOKIE){ .as_64 = 2 }, DAT_COMPLETION_DEFAULT_FLAG))
		return "no post";
	for (i = 0; i < 2; i++) /* the registration; the answer that invalidates it */
		if (!wait_for_completion_timeout(&me.step, WAIT_S * HZ) || me.status != DAT_DTO_SUCCESS)
			return "no answer";
	for (i = 0; i < BYTES && me.pages[i] == 0xa5; i++)
		;
	dat_ep_disconnect(me.ep, DAT_CLOSE_GRACEFUL_FLAG);
	wait_for_completion_timeout(&me.down, WAIT_S * HZ);
	return i == BYTES ? "ok" : "wrong data";
}

/* One call ends every object of the adapter. */
static void leave(void)
{
	if (me.ia)
		dat_ia_close(me.ia, DAT_CLOSE_ABRUPT_FLAG);
	free_pages_exact(me.pages, BYTES);
	kfree(me.msg);
}

static int __init kecho_init(void)
{
	DAT_RETURN r;
	int i;

	init_completion(&me.up);
	init_completion(&me.step);
	init_completion(&me.down);
	me.pages = alloc_pages_exact(BYTES, GFP_KERNEL);
	me.msg = kzalloc(sizeof(*me.msg), GFP_KERNEL);
	for (i = 0; i < PAGES && me.pages; i++)
		me.list[i] = virt_to_phys(me.pages + i * PAGE_SIZE);
	r = me.pages && me.msg ? make() : DAT_INSUFFICIENT_RESOURCES;
	if (!r && *peer) {
		result = (char *)client();
	} else if (!r) {
		post_recv();
		r = dat_psp_create(me.ia, PORT, me.conn, DAT_PSP_CONSUMER_FLAG, &me.psp);
	}
	if (!r)
		return 0;
	pr_err("kecho: kDAPL returned %08x: nothing runs; look for %s among the adapters\n", r, ia_name);
	leave();
	return -EIO;
}

module_init(kecho_init);
module_exit(leave);
MODULE_DESCRIPTION("Echo of pages over kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
