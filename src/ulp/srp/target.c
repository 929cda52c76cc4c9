/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/target.h"
#include "ulp/srp/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define IT_LENGTH 8276                  /* as Linux's */
#define READS 4
#define ACCEPT_MS 30000
#define RELOGIN_MS 30000                /* for the end of the session before */
#define LEAVE_MS 1000                   /* for the completion of a logout */
#define FORMATS (1 << WIRE_SRP_FORMAT_DIRECT | 1 << WIRE_SRP_FORMAT_INDIRECT)

/* Reasons of SRP_T_LOGOUT: table 14. */
enum { LOGOUT_NO_REASON = 0, LOGOUT_NEW_LOGIN = 4 };

void srp_target_init(struct srp_target *t)
{
	pthread_condattr_t attr;

	*t = (struct srp_target){ .limit = 64, .it_length = IT_LENGTH, .immediate = true };
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->ended, &attr);
	pthread_condattr_destroy(&attr);
}

/* --- the list of sessions --- */

static void kick(struct srp_serving *s, uint32_t reason)
{
	uint64_t one = 1;

	if (s->kicked)
		return;
	s->kicked = true;
	s->kick_reason = reason;
	while (write(s->kick_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Another session of the initiator, which was requested earlier; of NULL, each session. */
static bool is_before(const struct srp_serving *a, const struct srp_serving *s)
{
	return !s || (a->arrival < s->arrival && !memcmp(a->login.initiator, s->login.initiator, 16));
}

/* Has sessions before this one end, or all. Called with the lock held. */
static void kick_before(struct srp_target *t, const struct srp_serving *s, uint32_t reason)
{
	for (struct srp_serving *a = t->sessions; a; a = a->next)
		if (is_before(a, s))
			kick(a, reason);
}

/* One that does not stand yet takes no commands once it is kicked. */
static bool have_ended(const struct srp_target *t, const struct srp_serving *s)
{
	for (const struct srp_serving *a = t->sessions; a; a = a->next)
		if (is_before(a, s) && (!s || a->stands))
			return false;
	return true;
}

/* Waits until they have ended. Returns false after the time. Called with the lock held. */
static bool await_ends(struct srp_target *t, const struct srp_serving *s, int timeout_ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout_ms / 1000;
	while (!have_ended(t, s))
		if (pthread_cond_timedwait(&t->ended, &t->lock, &end))
			return have_ended(t, s);
	return true;
}

/* Enters the list. Returns false if the target stops. */
static bool enter(struct srp_serving *s, enum wire_srp_channels *ret_channels)
{
	struct srp_target *t = s->target;
	bool ok, only = true;

	pthread_mutex_lock(&t->lock);
	s->arrival = ++t->arrivals;
	for (const struct srp_serving *a = t->sessions; a; a = a->next)
		only = only && !is_before(a, s);
	*ret_channels = only ? WIRE_SRP_CHANNELS_NONE : s->login.multi ? WIRE_SRP_CHANNELS_KEPT : WIRE_SRP_CHANNELS_ENDED;
	ok = !t->stopping;
	if (ok) {
		s->next = t->sessions;
		t->sessions = s;
	}
	pthread_mutex_unlock(&t->lock);
	return ok;
}

/* The session stands, in the place of the initiator's sessions before, if it wants that. */
static int stand(struct srp_serving *s)
{
	struct srp_target *t = s->target;
	bool ok = true;

	pthread_mutex_lock(&t->lock);
	s->stands = !s->kicked;
	if (s->stands && !s->login.multi) {
		kick_before(t, s, LOGOUT_NEW_LOGIN);
		ok = await_ends(t, s, RELOGIN_MS);
	}
	pthread_mutex_unlock(&t->lock);
	return ok ? 0 : ulp_end(&s->ch.rdma, ETIMEDOUT, "the initiator's session before does not end");
}

static void leave_list(struct srp_serving *s)
{
	struct srp_target *t = s->target;

	pthread_mutex_lock(&t->lock);
	for (struct srp_serving **at = &t->sessions; *at; at = &(*at)->next) {
		if (*at != s)
			continue;
		*at = s->next;
		break;
	}
	pthread_cond_broadcast(&t->ended);
	pthread_mutex_unlock(&t->lock);
}

void srp_target_stop(struct srp_target *t, int timeout_ms)
{
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	kick_before(t, NULL, LOGOUT_NO_REASON);
	await_ends(t, NULL, timeout_ms);
	pthread_mutex_unlock(&t->lock);
}

/* --- login --- */

static bool may_log_in(const struct srp_target *t, const uint8_t initiator[16])
{
	for (unsigned i = 0; i < t->nr_allowed; i++)
		if (!memcmp(t->allowed[i], initiator, 16))
			return true;
	return false;
}

/* The reason for which a login is rejected, with a sentence; 0: none. */
static uint32_t objection(const struct srp_target *t, const struct srp_login *l, const char **why)
{
	if (l->it_length < WIRE_SRP_IT_MIN || l->it_length > t->it_length) {
		*why = "its information units are too long or too short";
		return WIRE_SRP_REJ_IT_LENGTH;
	}
	if (!(l->formats & FORMATS)) {
		*why = "it has no format of descriptors that is supported";
		return WIRE_SRP_REJ_FORMAT;
	}
	if (memcmp(l->target, t->id, 16)) {
		*why = "it names another target port";
		return WIRE_SRP_REJ_NO_ASSOCIATION;
	}
	if (!may_log_in(t, l->initiator)) {
		*why = "its initiator port is not in the access list";
		return WIRE_SRP_REJ_CHANNEL_LIMIT;
	}
	return 0;
}

static int reject(struct srp_serving *s, uint32_t reason, const char *why)
{
	uint8_t data[WIRE_SRP_LOGIN_REJ_LEN];

	srp_reject_put(data, s->login.tag, (enum wire_srp_reject)reason);
	rdma_reject(s->ch.rdma.id, data, sizeof(data));
	return ulp_end(&s->ch.rdma, EACCES, "the login is rejected: %s", why);
}

static int take_event(struct ulp_conn *u, const struct rdma_cm_event *ev)
{
	struct srp_serving *s = (struct srp_serving *)u;

	switch (ev->event) {
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		s->ch.established = true;
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		s->ch.disconnected = true;
		return ulp_end(u, ECONNRESET, "the initiator has disconnected");
	default:
		return ulp_unexpected(u, ev, ECONNRESET);
	}
}

static int prepare(struct srp_serving *s)
{
	uint32_t limit = s->target->limit;
	struct srp_chan_sizes sizes = { .nr_recv = limit + SRP_SPARE_RECEIVES, .recv_size = s->target->it_length,
					.send_size = WIRE_SRP_RSP_LEN + SCSI_SENSE_LEN + WIRE_SRP_RESPONSE_DATA_LEN };
	int r;

	s->nr_tasks = sizes.nr_recv + limit;
	sizes.nr_send = s->nr_tasks + SRP_REQUESTS;
	sizes.sq_depth = s->nr_tasks + SRP_REQUESTS + SRP_RDMA_DEPTH;
	r = srp_chan_make(&s->ch, &sizes);
	return r ? r : srp_tasks_init(s);
}

static int send_request(struct srp_serving *s, uint32_t i, uint8_t type, uint32_t number)
{
	struct srp_short q = { .type = type, .tag = i, .number = number };

	srp_short_put(srp_chan_send_at(&s->ch, s->nr_tasks + i), &q);
	return srp_chan_send(&s->ch, s->nr_tasks + i, WIRE_SRP_SHORT_LEN, SRP_WORK_REQUEST);
}

static int accept_login(struct srp_serving *s, enum wire_srp_channels channels)
{
	uint16_t limit = s->target->limit, first = s->target->first_limit;
	struct srp_accepted a = { .tag = s->login.tag, .limit = first && first < limit ? first : limit,
				  .it_length = s->target->it_length, .ti_length = s->login.it_length, .formats = FORMATS,
				  .immediate = s->login.immediate, .channels = channels };
	uint8_t data[WIRE_SRP_LOGIN_RSP_LEN];
	struct rdma_conn_param p = { .private_data = data, .private_data_len = sizeof(data), .responder_resources = READS,
				     .initiator_depth = READS, .flow_control = 1, .rnr_retry_count = 7 };
	int r;

	srp_accepted_put(data, &a);
	s->granted = limit;
	if (rdma_accept(s->ch.rdma.id, &p))
		return ulp_end(&s->ch.rdma, errno, "the login cannot be accepted (%s)", strerror(errno));
	r = ulp_await(&s->ch.rdma, RDMA_CM_EVENT_ESTABLISHED, ACCEPT_MS);
	return r || a.limit == limit ? r : send_request(s, 0, WIRE_SRP_CRED_REQ, limit - a.limit);
}

static int take_login(struct srp_serving *s, const void *data, size_t len)
{
	enum srp_verdict v = srp_login_get(&s->login, data, len);
	const char *why = NULL;
	uint32_t reason;

	if (v) {
		rdma_reject(s->ch.rdma.id, NULL, 0);
		return srp_chan_end_rule(&s->ch, v);
	}
	memcpy(s->served.initiator, s->login.initiator, 16);
	reason = objection(s->target, &s->login, &why);
	if (reason)
		return reject(s, reason, why);
	s->login.immediate = s->login.immediate && s->target->immediate && s->login.immediate_offset >= WIRE_SRP_CMD_LEN;
	scsi_nexus_init(&s->nexus, s->target->units, s->target->nr_units);
	return 0;
}

/* --- service --- */

static int take_unit(struct srp_serving *s, uint32_t recv, uint32_t len)
{
	const uint8_t *data = srp_chan_recv_at(&s->ch, recv);
	struct srp_short q;

	if (srp_short_get(&q, data, len))
		return srp_chan_end_rule(&s->ch, SRP_SHORT);
	switch (q.type) {
	case WIRE_SRP_CMD:
	case WIRE_SRP_TSK_MGMT:
		return srp_tasks_take(s, recv, len);
	case WIRE_SRP_CRED_RSP:
		return srp_chan_post_recv(&s->ch, recv);
	case WIRE_SRP_I_LOGOUT:
		s->logged_out = true;
		return ulp_end(&s->ch.rdma, ECONNRESET, "the initiator logs out");
	default:
		return srp_chan_end_rule(&s->ch, SRP_BAD_TYPE);
	}
}

static int completed(struct srp_chan *ch, const struct srp_done *d)
{
	struct srp_serving *s = (struct srp_serving *)ch;

	if (d->kind == SRP_WORK_RECEIVE)
		return s->leaving ? 0 : take_unit(s, d->index, d->len);
	if (d->kind != SRP_WORK_REQUEST)
		return srp_tasks_completed(s, (enum srp_work)d->kind, d->index);
	if (s->leaving && d->index == s->nr_tasks + 1)
		return ulp_end(&s->ch.rdma, ESHUTDOWN, "the target logs the initiator out");
	return 0;
}

static int take_kick(struct srp_serving *s)
{
	uint64_t value;

	if (s->leaving || read(s->kick_fd, &value, sizeof(value)) != sizeof(value))
		return 0;
	s->leaving = true;
	return send_request(s, 1, WIRE_SRP_T_LOGOUT, s->kick_reason);
}

static int run(struct srp_serving *s)
{
	struct pollfd p[SRP_CHAN_FDS + 1];
	int r = 0, n = 1;

	while (!r) {
		r = take_kick(s);
		if (!r)
			r = srp_chan_progress(&s->ch, completed);
		if (!r && !s->leaving)
			r = srp_tasks_pump(s);
		srp_chan_fds(&s->ch, p);
		p[SRP_CHAN_FDS] = (struct pollfd){ s->kick_fd, s->leaving ? 0 : POLLIN, 0 };
		if (!r)
			n = ulp_poll(&s->ch.rdma, p, SRP_CHAN_FDS + 1, s->leaving ? LEAVE_MS : -1);
		if (!r && s->leaving && !n)
			r = ulp_end(&s->ch.rdma, ESHUTDOWN, "the target logs the initiator out");
	}
	return s->logged_out || s->ch.disconnected || s->leaving ? 0 : r;
}

static void destroy(struct srp_serving *s, bool entered)
{
	srp_chan_end(&s->ch);
	srp_tasks_fini(s);
	srp_chan_free(&s->ch);
	if (entered)
		leave_list(s);
	if (s->kick_fd >= 0)
		close(s->kick_fd);
	free(s);
}

int srp_target_serve(struct srp_target *t, struct rdma_cm_id *id, const void *data, size_t len, struct srp_served *ret,
		     void (*logged_in)(const struct srp_served *served, void *user), void *user, char why[ULP_WHY_MAX])
{
	struct srp_serving *s = calloc(1, sizeof(*s));
	enum wire_srp_channels channels;
	bool entered = false;
	int r;

	if (!s) {
		rdma_destroy_id(id);
		snprintf(why, ULP_WHY_MAX, "no memory for a session");
		return -ENOMEM;
	}
	s->target = t;
	s->ch.rdma.take_event = take_event;
	s->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = ulp_adopt(&s->ch.rdma, id);
	if (!r)
		r = take_login(s, data, len);
	if (!r)
		r = prepare(s);
	if (!r) {
		entered = enter(s, &channels);
		r = entered ? accept_login(s, channels)
			: reject(s, WIRE_SRP_REJ_RESOURCES, "the target stops");
	}
	if (!r)
		r = stand(s);
	if (!r && logged_in)
		logged_in(&s->served, user);
	if (!r)
		r = run(s);
	*ret = s->served;
	snprintf(why, ULP_WHY_MAX, "%s", s->ch.rdma.why);
	destroy(s, entered);
	return r;
}
