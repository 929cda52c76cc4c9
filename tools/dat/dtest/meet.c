/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtest.h"

#include <arpa/inet.h>
#include <string.h>
#include <time.h>

#if DTL_V2
#include <dat2/dat_ib_extensions.h>
#endif

/* Connections between the two ends: requests, answers and rejections with private data. */

#define PRIVATE_MAGIC 0x44544553u	/* "DTES" */
#define TRIES 100

/* In both directions: the check, the abilities of the end, and a pattern up to the end. */
struct word {
	uint32_t magic, nr, abilities, kind;	/* network order */
	unsigned char pattern[DTD_PRIVATE - 16];
};

enum kind { ASK = 1, ANSWER, REFUSE };

/* The events of a connection, per kind of endpoint. */
struct signs {
	int request, established;
};

static const struct signs connection = { DAT_CONNECTION_REQUEST_EVENT,
					 DAT_CONNECTION_EVENT_ESTABLISHED };

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
		dtl_complain("private data: %d bytes came, %zu were sent", size, sizeof(*ret));
		return false;
	}
	memcpy(ret, data, sizeof(*ret));
	if (ntohl(ret->magic) == PRIVATE_MAGIC && ntohl(ret->kind) == kind &&
	    dtl_differs(ret->pattern, sizeof(ret->pattern), kind * 1000 + ntohl(ret->nr)) < 0)
		return true;
	dtl_complain("the private data differ from what was sent");
	return false;
}

/* --- the server --- */

/* Takes the requests of N checks from NR on. */
static int next_request(struct dtd *d, uint32_t nr, uint32_t n, int sign, DAT_CR_HANDLE *ret,
			struct word *ret_word)
{
	DAT_CR_PARAM param;
	DAT_EVENT ev;
	int r;

	/* The first one may take until the client is started. */
	do
		r = dtl_next(DTL_WAIT, DAT_HANDLE_NULL, d->cr_evd, DTL_TIMEOUT_MS, &ev);
	while (r > 0 && !d->met);
	if (r != 0 || (int)ev.event_number != sign) {
		dtl_complain("a connection request did not come");
		return -1;
	}
	d->met = true;
	*ret = ev.event_data.cr_arrival_event_data.cr_handle;
	if (dtl_check(dat_cr_query(*ret, DAT_CR_FIELD_ALL, &param), "dat_cr_query") != 0)
		return -1;
	if (!read_word(param.private_data, param.private_data_size, ASK, ret_word) ||
	    ntohl(ret_word->nr) - nr >= n) {
		dtl_complain("a connection request of another check or program: it is rejected; run the same "
			     "version at both ends");
		dtl_cr_reject(*ret, NULL, 0);
		return -1;
	}
	return 0;
}

static enum dtd_result take(struct dtd *d, struct dtl_end *e, uint32_t nr, const struct signs *s,
			    DAT_EVENT *ret)
{
	struct word asked, answer;
	DAT_CR_HANDLE cr;

	DTD_NEED(next_request(d, nr, 1, s->request, &cr, &asked) == 0);
	d->common = dtd_abilities(&d->ia) & ntohl(asked.abilities);
	write_word(&answer, ANSWER, nr, dtd_abilities(&d->ia));
	DTD_NEED(dtl_accept(e, cr, &answer, sizeof(answer)) == 0);
	DTD_NEED(dtl_next(DTL_WAIT, DAT_HANDLE_NULL, e->conn, DTL_TIMEOUT_MS, ret) == 0);
	return DTD_PASS;
}

/* --- the client --- */

/* Connects, and retries while no server listens: both ends are started at the same time. */
static enum dtd_result ask(struct dtd *d, struct dtl_end *e, uint32_t nr, DAT_EVENT *ret)
{
	struct timespec delay = { 0, 50000000 };
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
		nanosleep(&delay, NULL);
	}
	dtl_complain("no server listens at %s, qualifier %llu: the checks stop; start dapple-dtest -s there", d->o->host,
		     (unsigned long long)d->o->qual);
	return DTD_FAIL;
}

static enum dtd_result enter(struct dtd *d, struct dtl_end *e, uint32_t nr, const struct signs *s,
			     DAT_EVENT *ret)
{
	DAT_CONNECTION_EVENT_DATA *c = &ret->event_data.connect_event_data;
	struct word answer;

	if (ask(d, e, nr, ret) != DTD_PASS)
		return DTD_FAIL;
	if ((int)ret->event_number != s->established)
		return DTD_PASS;	/* the caller prints it */
	DTD_NEED(read_word(c->private_data, c->private_data_size, ANSWER, &answer));
	DTD_NEED(ntohl(answer.nr) == nr);
	d->common = dtd_abilities(&d->ia) & ntohl(answer.abilities);
	return DTD_PASS;
}

static enum dtd_result meet(struct dtd *d, struct dtl_end *e, uint32_t nr, const struct signs *s,
			    DAT_EVENT *ret)
{
	enum dtd_result r = dtd_is_server(d) ? take(d, e, nr, s, ret) : enter(d, e, nr, s, ret);

	if (r == DTD_PASS && (int)ret->event_number != s->established) {
		dtl_complain("the connection was not established: %s", dtl_event_name(ret->event_number));
		return DTD_FAIL;
	}
	return r;
}

enum dtd_result dtd_meet(struct dtd *d, struct dtl_end *e, uint32_t nr)
{
	DAT_EVENT ev;
	enum dtd_result r = meet(d, e, nr, &connection, &ev);

	e->connected = r == DTD_PASS;
	return r;
}

static enum dtd_result take_many(struct dtd *d, struct dtl_end *e, int n, uint32_t nr)
{
	struct word asked, answer;
	DAT_CR_HANDLE cr;
	uint32_t at, seen = 0;
	int i;

	for (i = 0; i < n; i++) {
		DTD_NEED(next_request(d, nr, n, connection.request, &cr, &asked) == 0);
		at = ntohl(asked.nr) - nr;
		DTD_NEED(!(seen >> at & 1));
		seen |= 1u << at;
		write_word(&answer, ANSWER, nr + at, 0);
		DTD_NEED(dtl_accept(&e[at], cr, &answer, sizeof(answer)) == 0);
	}
	for (i = 0; i < n; i++)
		DTD_NEED(dtl_established(&e[i], NULL) == 0);
	return DTD_PASS;
}

static enum dtd_result enter_many(struct dtd *d, struct dtl_end *e, int n, uint32_t nr)
{
	DAT_CONNECTION_EVENT_DATA *c;
	struct word asked, answer;
	DAT_EVENT ev;
	int i;

	for (i = 0; i < n; i++) {
		write_word(&asked, ASK, nr + i, 0);
		DTD_NEED(dtl_ask(&e[i], &d->peer, d->o->qual, &asked, sizeof(asked)) == 0);
	}
	for (i = 0; i < n; i++) {
		DTD_NEED(dtl_established(&e[i], &ev) == 0);
		c = &ev.event_data.connect_event_data;
		DTD_NEED(c->ep_handle == e[i].ep);
		DTD_NEED(read_word(c->private_data, c->private_data_size, ANSWER, &answer));
		DTD_NEED(ntohl(answer.nr) == nr + i);
	}
	return DTD_PASS;
}

enum dtd_result dtd_meet_many(struct dtd *d, struct dtl_end *e, int n, uint32_t nr)
{
	return dtd_is_server(d) ? take_many(d, e, n, nr) : enter_many(d, e, n, nr);
}

#if DTL_V2
enum dtd_result dtd_meet_ud(struct dtd *d, struct dtl_end *e, uint32_t nr, DAT_EVENT *ret)
{
	static const struct signs datagrams = { DAT_IB_UD_CONNECTION_REQUEST_EVENT,
						DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED };

	return meet(d, e, nr, &datagrams, ret);
}
#endif

/* The first check, in which the client waits for the server to listen. */
enum dtd_result dtd_check_reject(struct dtd *d)
{
	struct dtl_end_wish wish = dtd_wish(d);
	struct word word;
	DAT_CR_HANDLE cr;
	struct dtl_end e;
	DAT_EVENT ev;

	if (dtd_is_server(d)) {
		DTD_NEED(next_request(d, 0, 1, connection.request, &cr, &word) == 0);
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
