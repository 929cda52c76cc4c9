// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * kecho: a first consumer of kDAPL, to be read from its end. Both sides load it: the server with its adapter
 * (insmod kecho.ko ia=dapple-kdat-rxe0), the client with the server's address too (peer=10.0.0.1). The client registers
 * a list of pages by a work request and sends its context. The server reads the pages by RDMA, turns every bit over,
 * writes them back and answers with a Send that also invalidates the context. The client's `result` tells how it went.
 */
#include <kdat/kdat.h>
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

enum { PORT = 7007, PAGES = 4, BYTES = PAGES * PAGE_SIZE, QLEN = 16, WAIT_S = 120 };
#define NONE DAT_COMPLETION_DEFAULT_FLAG
#define LOCAL (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define TRY(call) do { DAT_RETURN r_ = (call); if (r_) return r_; } while (0)

static char *ia_name = "dapple-kdat-rxe0", *peer = "", *result = "running";
module_param_named(ia, ia_name, charp, 0444);
module_param(peer, charp, 0444);
module_param(result, charp, 0444);

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, conn, dto;
static DAT_HANDLE ep, psp, pages_lmr, msg_lmr;
static DAT_LMR_CONTEXT pages_context, msg_context;
static DAT_RMR_TRIPLET msg; /* what travels by Send: where the client's pages are */
static u8 pages[BYTES] __aligned(PAGE_SIZE);
static DAT_PADDR list[PAGES];
static DAT_DTO_COOKIE cookie;
static struct completion ready = COMPLETION_INITIALIZER(ready), step = COMPLETION_INITIALIZER(step),
	ended = COMPLETION_INITIALIZER(ended);

static DAT_LMR_TRIPLET message(void)
{
	return (DAT_LMR_TRIPLET){ (uintptr_t)&msg, sizeof(msg), msg_context };
}

/* Each completion begins the next step. This is softirq context: posts are allowed, sleeping is not. */
static void on_dto(DAT_PVOID unused, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	DAT_LMR_TRIPLET all = { list[0], BYTES, pages_context }, answer = message();
	int i;

	if (d->status != DAT_DTO_SUCCESS)
		return;
	if (d->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE) /* the client's answer */
		complete(&step);
	if (d->operation == DAT_DTO_RECEIVE)                 /* the server's request */
		dat_ep_post_rdma_read(ep, 1, &all, cookie, &msg, NONE);
	if (d->operation == DAT_DTO_RDMA_READ) {
		for (i = 0; i < BYTES; i++)
			pages[i] = ~pages[i];
		dat_ep_post_rdma_write(ep, 1, &all, cookie, &msg, NONE);
		dat_ep_post_send_with_invalidate(ep, 1, &answer, cookie, NONE, DAT_TRUE, msg.rmr_context);
	}
}

/* Connection events come in a context that may sleep, so a request can be accepted here. */
static void on_conn(DAT_PVOID unused, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	if (ev->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		dat_cr_accept(ev->event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL);
		return;
	}
	if (ev->event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		complete_all(&ended);
		complete(&step); /* nothing else will */
	}
	complete_all(&ready);
}

static DAT_RETURN make(void)
{
	DAT_UPCALL_OBJECT dto_up = { NULL, on_dto }, conn_up = { NULL, on_conn };
	DAT_REGION_DESCRIPTION m = { .for_va = &msg }, l = { .for_array = { PAGE_SIZE, list } };
	DAT_LMR_TRIPLET s;

	TRY(dat_ia_open(ia_name, QLEN, &async, &ia));
	TRY(dat_pz_create(ia, &pz));
	TRY(dat_evd_kcreate(ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &dto_up, DAT_EVD_DTO_FLAG, &dto));
	TRY(dat_evd_kcreate(ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &conn_up, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
			    &conn));
	TRY(dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, m, sizeof(msg), pz, LOCAL, DAT_VA_TYPE_VA,
			    DAT_MEM_OPTIMIZE_DONT_CARE, &msg_lmr, &msg_context, NULL, NULL, NULL));
	TRY(dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep));
	s = message();
	TRY(dat_ep_post_recv(ep, 1, &s, cookie, NONE));
	if (*peer)
		return dat_lmr_allocate(ia, pz, PAGES, DAT_LMR_SCOPE_PZ, &pages_lmr);
	TRY(dat_lmr_kcreate(ia, DAT_MEM_TYPE_PHYSICAL, l, BYTES, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			    DAT_MEM_OPTIMIZE_DONT_CARE, &pages_lmr, &pages_context, NULL, NULL, NULL));
	return dat_psp_create(ia, PORT, conn, DAT_PSP_CONSUMER_FLAG, &psp);
}

static char *client(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = in_aton(peer) };
	DAT_REGION_DESCRIPTION l = { .for_array = { PAGE_SIZE, list } };
	DAT_LMR_TRIPLET s = message();
	int i;

	memset(pages, 0x5a, BYTES);
	if (dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, PORT, WAIT_S * 1000000u, 0, NULL, DAT_QOS_BEST_EFFORT, 0))
		return "no connect";
	if (!wait_for_completion_timeout(&ready, WAIT_S * HZ) || completion_done(&ended))
		return "not connected";
	msg = (DAT_RMR_TRIPLET){ list[0], BYTES, 0 };
	if (dat_lmr_fmr(pages_lmr, DAT_MEM_TYPE_PHYSICAL, l, PAGES, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep, cookie,
			NONE, NULL, &msg.rmr_context) || dat_ep_post_send(ep, 1, &s, cookie, NONE))
		return "no post";
	if (!wait_for_completion_timeout(&step, WAIT_S * HZ))
		return "no answer";
	i = memchr_inv(pages, 0xa5, BYTES) == NULL;
	dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
	wait_for_completion_timeout(&ended, WAIT_S * HZ);
	return i ? "ok" : "wrong data";
}

static void leave(void)
{
	if (ia)
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG); /* ends every object of the adapter */
}

static int __init kecho_init(void)
{
	DAT_RETURN r;
	int i;

	for (i = 0; i < PAGES; i++) /* a module's memory is not contiguous */
		list[i] = page_to_phys(vmalloc_to_page(pages + i * PAGE_SIZE));
	r = make();
	if (!r && *peer)
		result = client();
	if (r) {
		pr_err("kecho: kDAPL returned %08x: nothing runs; look for %s among the adapters\n", r, ia_name);
		leave();
	}
	return r ? -EIO : 0;
}

module_init(kecho_init);
module_exit(leave);
MODULE_DESCRIPTION("Echo of pages over kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
