/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtest.h"

#include <endian.h>
#include <string.h>

#define STEP_BYTES 64
#define STEPS 4

struct step {
	uint64_t nr, context, source, target, saying;	/* big endian */
};

/* --- checks of connections --- */

struct dtl_end_wish dtd_wish(const struct dtd *d)
{
	return (struct dtl_end_wish){ .recvs = d->o->burst + 3, .requests = d->o->burst + 2,
		.iov = 1, .how = d->o->how, .cno = d->cno, .srq = DAT_HANDLE_NULL };
}

int dtd_post_step_recv(struct dtd *d)
{
	char *slot = d->mem.start + STEP_BYTES * (1 + d->steps_posted++ % STEPS);
	DAT_LMR_TRIPLET seg = dtl_segment(d->mem.context, slot, STEP_BYTES);

	return dtl_post_recv(&d->end, &seg, 1, d->recv_posted++);
}

enum dtd_result dtd_check_connect(struct dtd *d)
{
	struct dtl_end_wish wish = dtd_wish(d);

	DTD_NEED(dtl_end_make(&d->end, &d->ia, &wish) == 0);
	DTD_NEED(dtd_post_step_recv(d) == 0);
	if (dtd_meet(d, &d->end, 1) != DTD_PASS)
		return DTD_FAIL;
	DTD_NEED(dtd_step(d, 1) == 0);
	return DTD_PASS;
}

/*
 * Ends the connection on both sides. No end can know that its last message arrived: so the server
 * sends one last, whatever its result, and the client disconnects when it has it.
 */
int dtd_part(struct dtd *d)
{
	DAT_LMR_TRIPLET seg = dtl_segment(d->mem.context, d->mem.start, STEP_BYTES);
	DAT_EVENT ev;

	if (!dtd_is_server(d)) {
		if (dtd_post_step_recv(d) != 0 || dtl_reap(&d->end, d->end.recv, d->received, NULL) != 0)
			return -1;
		d->received++;
		d->steps_read++;
		return dtl_disconnect(&d->end);
	}
	if (dtl_post_send(&d->end, &seg, 1, d->posted++) != 0 || dtl_disconnected(&d->end) != 0)
		return -1;
	return dtl_next(d->end.how, d->cno, d->end.request, DTL_TIMEOUT_MS, &ev) == 0 ? 0 : -1;
}

/* Ends the connection, and makes it anew with the same endpoint. */
enum dtd_result dtd_check_reconnect(struct dtd *d)
{
	DAT_EP_STATE state;
	DAT_EVENT ev;

	DTD_NEED(dtd_step(d, 98) == 0);
	DTD_NEED(dtd_part(d) == 0);
	DTD_NEED(dtl_check(dat_ep_get_status(d->end.ep, &state, NULL, NULL),
			   "dat_ep_get_status") == 0);
	DTD_NEED(state == DAT_EP_STATE_DISCONNECTED);
	/* the receive posted for the next step message is flushed */
	DTD_NEED(dtl_next(d->end.how, d->cno, d->end.recv, DTL_TIMEOUT_MS, &ev) == 0);
	DTD_NEED(ev.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED);
	d->received++;
	d->steps_read++;
	DTD_NEED(dtl_check(dat_ep_reset(d->end.ep), "dat_ep_reset") == 0);
	DTD_NEED(dtd_post_step_recv(d) == 0);
	if (dtd_meet(d, &d->end, 99) != DTD_PASS)
		return DTD_FAIL;
	DTD_NEED(dtd_step(d, 99) == 0);
	return DTD_PASS;
}

/* --- steps --- */

int dtd_reap_request(struct dtd *d, uint64_t cookie)
{
	return dtl_reap(&d->end, d->end.request, cookie, NULL);
}

int dtd_step(struct dtd *d, uint32_t nr)
{
	return dtd_step_saying(d, nr, 0, NULL);
}

int dtd_step_saying(struct dtd *d, uint32_t nr, uint64_t saying, uint64_t *ret)
{
	struct step step = { htobe64(nr), htobe64(d->mem.remote), htobe64((uintptr_t)d->source),
			     htobe64((uintptr_t)d->target), htobe64(saying) };
	DAT_LMR_TRIPLET seg = dtl_segment(d->mem.context, d->mem.start, STEP_BYTES);
	uint64_t length;

	memcpy(d->mem.start, &step, sizeof(step));
	/* The peer may be at the next step as soon as it has this message. */
	if (dtd_post_step_recv(d) != 0 || dtl_post_send(&d->end, &seg, 1, d->posted) != 0 ||
	    dtd_reap_request(d, d->posted++) != 0 ||
	    dtl_reap(&d->end, d->end.recv, d->received, &length) != 0)
		return -1;
	d->received++;
	memcpy(&step, d->mem.start + STEP_BYTES * (1 + d->steps_read++ % STEPS), sizeof(step));
	if (length != STEP_BYTES || be64toh(step.nr) != nr) {
		dtl_complain("the peer is at step %u and this end at %u: the checks stop; use one version "
			     "and the same options at both ends", (unsigned)be64toh(step.nr), nr);
		return -1;
	}
	d->peer_context = be64toh(step.context);
	d->peer_source = be64toh(step.source);
	d->peer_target = be64toh(step.target);
	if (ret)
		*ret = be64toh(step.saying);
	return 0;
}

/* --- all of it --- */

static int open_service(struct dtd *d)
{
	return dtl_check(dat_evd_create(d->ia.ia, DTD_BACKLOG, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
					&d->cr_evd),
			 "dat_evd_create") ||
	       dtl_check(dat_psp_create(d->ia.ia, d->o->qual, d->cr_evd, DAT_PSP_CONSUMER_FLAG,
					&d->psp), "dat_psp_create (another qualifier: -n)") ? -1 : 0;
}

int dtd_open(struct dtd *d, const struct dtd_options *o)
{
	/* Whole pages, since atomics need aligned addresses. */
	uint64_t each = (o->size * o->burst + 4095) & ~(uint64_t)4095;

	*d = (struct dtd){ .o = o, .cno = DAT_HANDLE_NULL, .cr_evd = DAT_HANDLE_NULL,
			   .psp = DAT_HANDLE_NULL, .mem = { .lmr = DAT_HANDLE_NULL } };
	if (o->host && dtl_resolve(o->host, &d->peer) != 0)
		return -1;
	if (dtl_ia_open(&d->ia, o->ia) != 0)
		return -1;
	if (dtl_check(dat_cno_create(d->ia.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &d->cno),
		      "dat_cno_create") != 0 ||
	    dtl_mem_make(&d->mem, &d->ia, 4096 + 2 * each, dtd_rights(&d->ia)) != 0 ||
	    (!o->host && open_service(d) != 0))
		return -1;
	d->source = d->mem.start + 4096;
	d->target = d->source + each;
	return 0;
}

int dtd_close(struct dtd *d)
{
	int bad = dtl_end_drop(&d->end);

	if (d->psp != DAT_HANDLE_NULL)
		bad |= dtl_check(dat_psp_free(d->psp), "dat_psp_free");
	if (d->cr_evd != DAT_HANDLE_NULL)
		bad |= dtl_check(dat_evd_free(d->cr_evd), "dat_evd_free");
	if (d->cno != DAT_HANDLE_NULL)
		bad |= dtl_check(dat_cno_free(d->cno), "dat_cno_free");
	bad |= dtl_mem_drop(&d->mem);
	return dtl_ia_close(&d->ia) | bad;
}
