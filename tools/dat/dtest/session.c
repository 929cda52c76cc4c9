/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtest.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>
#include <time.h>

#define NOTE 64
#define NOTES 4
#define PRIVATE_MAGIC 0x44544553u	/* "DTES" */
#define TRIES 100

/* Both directions: which check it is for, what the end can, and a pattern to the end. */
struct word {
	uint32_t magic, nr, abilities, kind;	/* network order */
	unsigned char pattern[DTD_PRIVATE - 16];
};

enum kind { ASK = 1, ANSWER, REFUSE };

struct note {
	uint64_t nr, context, source, target;	/* big endian */
};

static void write_word(struct word *w, enum kind kind, uint32_t nr, uint32_t abilities)
{
	w->magic = htonl(PRIVATE_MAGIC);
	w->nr = htonl(nr);
	w->abilities = htonl(abilities);
	w->kind = htonl(kind);
	dtl_fill(w->pattern, sizeof(w->pattern), kind * 1000 + nr);
}

static bool read_word(const void *data, int size, enum kind kind, struct word *ret)
{
	if (size < (int)sizeof(*ret)) {
		dtl_complain("%d bytes of private data came, %zu were sent", size, sizeof(*ret));
		return false;
	}
	memcpy(ret, data, sizeof(*ret));
	if (ntohl(ret->magic) == PRIVATE_MAGIC && ntohl(ret->kind) == kind &&
	    dtl_differs(ret->pattern, sizeof(ret->pattern), kind * 1000 + ntohl(ret->nr)) < 0)
		return true;
	dtl_complain("the private data are not what was sent");
	return false;
}

/* --- the server's side of a meeting --- */

static int next_request(struct dtd *d, uint32_t nr, DAT_CR_HANDLE *ret, struct word *ret_word)
{
	DAT_CR_PARAM param;
	DAT_EVENT ev;
	int r;

	/* The first may take as long as somebody takes to start the client. */
	do
		r = dtl_next(DTL_WAIT, DAT_HANDLE_NULL, d->cr_evd, DTL_PATIENCE_MS, &ev);
	while (r > 0 && !d->met);
	if (r != 0 || ev.event_number != DAT_CONNECTION_REQUEST_EVENT) {
		dtl_complain("no request to connect came");
		return -1;
	}
	d->met = true;
	*ret = ev.event_data.cr_arrival_event_data.cr_handle;
	if (dtl_check(dat_cr_query(*ret, DAT_CR_FIELD_ALL, &param), "dat_cr_query") != 0)
		return -1;
	if (!read_word(param.private_data, param.private_data_size, ASK, ret_word) ||
	    ntohl(ret_word->nr) != nr) {
		dtl_complain("a request of another check or another program is turned away");
		dtl_cr_reject(*ret, NULL, 0);
		return -1;
	}
	return 0;
}

static enum dtd_result take(struct dtd *d, struct dtl_end *e, uint32_t nr)
{
	struct word asked, answer;
	DAT_CR_HANDLE cr;

	DTD_NEED(next_request(d, nr, &cr, &asked) == 0);
	d->common = dtd_abilities(&d->ia) & ntohl(asked.abilities);
	write_word(&answer, ANSWER, nr, dtd_abilities(&d->ia));
	DTD_NEED(dtl_accept(e, cr, &answer, sizeof(answer)) == 0);
	DTD_NEED(dtl_established(e, NULL) == 0);
	return DTD_PASS;
}

/* --- the client's --- */

/* Asks, again while nobody is there to be asked: the two ends are started at one time. */
static enum dtd_result ask(struct dtd *d, struct dtl_end *e, uint32_t nr, DAT_EVENT *ret)
{
	struct timespec nap = { 0, 50000000 };
	struct word asked;
	int i;

	write_word(&asked, ASK, nr, dtd_abilities(&d->ia));
	for (i = 0; i < TRIES; i++) {
		DTD_NEED(dtl_connect(e, &d->peer, d->o->qual, &asked, sizeof(asked), ret) == 0);
		if (d->met || ret->event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED) {
			d->met = true;
			return DTD_PASS;
		}
		DTD_NEED(dtl_check(dat_ep_reset(e->ep), "dat_ep_reset") == 0);
		nanosleep(&nap, NULL);
	}
	dtl_complain("nobody serves at %s, qualifier %llu: start dapple-dtest -s there", d->o->host,
		     (unsigned long long)d->o->qual);
	return DTD_FAIL;
}

static enum dtd_result enter(struct dtd *d, struct dtl_end *e, uint32_t nr)
{
	DAT_CONNECTION_EVENT_DATA *c;
	struct word answer;
	DAT_EVENT ev;

	if (ask(d, e, nr, &ev) != DTD_PASS)
		return DTD_FAIL;
	if (!e->connected)
		dtl_complain("no connection: %s", dtl_event_name(ev.event_number));
	DTD_NEED(e->connected);
	c = &ev.event_data.connect_event_data;
	DTD_NEED(read_word(c->private_data, c->private_data_size, ANSWER, &answer));
	DTD_NEED(ntohl(answer.nr) == nr);
	d->common = dtd_abilities(&d->ia) & ntohl(answer.abilities);
	return DTD_PASS;
}

enum dtd_result dtd_meet(struct dtd *d, struct dtl_end *e, uint32_t nr)
{
	return dtd_is_server(d) ? take(d, e, nr) : enter(d, e, nr);
}

/* --- checks of connections --- */

static struct dtl_end_wish wish_of(const struct dtd *d)
{
	return (struct dtl_end_wish){ .recvs = d->o->burst + 3, .requests = d->o->burst + 2,
		.iov = 1, .how = d->o->how, .cno = d->cno, .srq = DAT_HANDLE_NULL };
}

/* The first of all, so here the client waits for the server to be there. */
enum dtd_result dtd_check_reject(struct dtd *d)
{
	struct dtl_end_wish wish = wish_of(d);
	struct word word;
	DAT_CR_HANDLE cr;
	struct dtl_end e;
	DAT_EVENT ev;

	if (dtd_is_server(d)) {
		DTD_NEED(next_request(d, 0, &cr, &word) == 0);
		write_word(&word, REFUSE, 0, 0);
		DTD_NEED(dtl_check(dtl_cr_reject(cr, &word, sizeof(word)), "dat_cr_reject") == 0);
		return DTD_PASS;
	}
	DTD_NEED(dtl_end_make(&e, &d->ia, &wish) == 0);
	DTD_NEED(ask(d, &e, 0, &ev) == DTD_PASS);
	if (ev.event_number != DAT_CONNECTION_EVENT_PEER_REJECTED)
		dtl_complain("a rejection came as %s", dtl_event_name(ev.event_number));
	DTD_NEED(ev.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED);
#if DTL_V2
	DTD_NEED(read_word(ev.event_data.connect_event_data.private_data,
			   ev.event_data.connect_event_data.private_data_size, REFUSE, &word));
#endif
	DTD_NEED(dtl_end_drop(&e) == 0);
	return DTD_PASS;
}

int dtd_post_note(struct dtd *d)
{
	char *slot = d->mem.start + NOTE * (1 + d->notes_posted++ % NOTES);
	DAT_LMR_TRIPLET seg = dtl_segment(d->mem.context, slot, NOTE);

	return dtl_post_recv(&d->end, &seg, 1, d->recv_posted++);
}

enum dtd_result dtd_check_connect(struct dtd *d)
{
	struct dtl_end_wish wish = wish_of(d);

	DTD_NEED(dtl_end_make(&d->end, &d->ia, &wish) == 0);
	DTD_NEED(dtd_post_note(d) == 0);
	if (dtd_meet(d, &d->end, 1) != DTD_PASS)
		return DTD_FAIL;
	DTD_NEED(dtd_step(d, 1) == 0);
	return DTD_PASS;
}

/* Ends the connection, and makes it anew with the same endpoint. */
enum dtd_result dtd_check_reconnect(struct dtd *d)
{
	DAT_EP_STATE state;
	DAT_EVENT ev;

	DTD_NEED(dtd_step(d, 98) == 0);
	DTD_NEED(dtl_disconnect(&d->end) == 0);
	DTD_NEED(dtl_check(dat_ep_get_status(d->end.ep, &state, NULL, NULL),
			   "dat_ep_get_status") == 0);
	DTD_NEED(state == DAT_EP_STATE_DISCONNECTED);
	/* The receive that was posted for a next note comes back flushed. */
	DTD_NEED(dtl_next(d->end.how, d->cno, d->end.recv, DTL_PATIENCE_MS, &ev) == 0);
	DTD_NEED(ev.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED);
	d->received++;
	d->notes_read++;
	DTD_NEED(dtl_check(dat_ep_reset(d->end.ep), "dat_ep_reset") == 0);
	DTD_NEED(dtd_post_note(d) == 0);
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
	struct note note = { htobe64(nr), htobe64(d->mem.remote), htobe64((uintptr_t)d->source),
			     htobe64((uintptr_t)d->target) };
	DAT_LMR_TRIPLET seg = dtl_segment(d->mem.context, d->mem.start, NOTE);
	uint64_t length;

	memcpy(d->mem.start, &note, sizeof(note));
	/* The peer may be at the next step as soon as it has our note. */
	if (dtd_post_note(d) != 0 || dtl_post_send(&d->end, &seg, 1, d->posted) != 0 ||
	    dtd_reap_request(d, d->posted++) != 0 ||
	    dtl_reap(&d->end, d->end.recv, d->received, &length) != 0)
		return -1;
	d->received++;
	memcpy(&note, d->mem.start + NOTE * (1 + d->notes_read++ % NOTES), sizeof(note));
	if (length != NOTE || be64toh(note.nr) != nr) {
		dtl_complain("the peer is at step %u, we are at %u", (unsigned)be64toh(note.nr), nr);
		return -1;
	}
	d->peer_context = be64toh(note.context);
	d->peer_source = be64toh(note.source);
	d->peer_target = be64toh(note.target);
	return 0;
}

/* --- all of it --- */

static int open_service(struct dtd *d)
{
	return dtl_check(dat_evd_create(d->ia.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &d->cr_evd),
			 "dat_evd_create") ||
	       dtl_check(dat_psp_create(d->ia.ia, d->o->qual, d->cr_evd, DAT_PSP_CONSUMER_FLAG,
					&d->psp), "dat_psp_create (another qualifier: -n)") ? -1 : 0;
}

int dtd_open(struct dtd *d, const struct dtd_options *o)
{
	/* Whole pages, since atomics want aligned places. */
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
