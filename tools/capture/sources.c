/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sources.h"

#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_ROOM (OBS_HEADER + 16 + OBS_COPY + 65536)
#define BUCKETS (1u << 16)
#define KEY_BYTES 48u
#define LATE_MOST (1u << 16) /* a power of two */

/* A record without that of the other end. */
struct half {
	struct half *next;
	uint64_t key, pos; /* pos: in the source's stream of entries */
	struct source *src;
	bool out;
	bool given;        /* it has waited long enough: its entry is gone */
};

/* A half that was given. */
struct late {
	uint64_t key, pos, time;
	const struct source *src;
};

struct sources {
	struct obs_config cfg;
	struct source *v[SOURCES_MAX];
	int n;
	struct half *halves[BUCKETS], *spare;
	struct late late[LATE_MOST]; /* by the time of giving, from late_first on */
	uint32_t late_first, late_n;
	struct ut_ticks_clock clock;
	uint8_t bytes[RECORD_ROOM];
};

struct sources *sources_new(const struct obs_config *cfg)
{
	struct sources *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->cfg = *cfg;
	ut_ticks_clock_begin(&s->clock);
	return s;
}

static void source_free(struct source *src)
{
	if (src->open)
		obs_reader_close(&src->reader);
	if (src->session >= 0)
		close(src->session);
	free(src->buf);
	free(src);
}

static void halves_free(struct half *h)
{
	while (h) {
		struct half *next = h->next;

		free(h);
		h = next;
	}
}

void sources_free(struct sources *s)
{
	for (int i = 0; i < s->n; i++)
		source_free(s->v[i]);
	for (uint32_t i = 0; i < BUCKETS; i++)
		halves_free(s->halves[i]);
	halves_free(s->spare);
	free(s);
}

int sources_add(struct sources *s, int session)
{
	struct source *src;
	int r = s->n < SOURCES_MAX ? obs_session_give(session, &s->cfg) : -EMFILE;

	if (r < 0)
		return r;
	src = calloc(1, sizeof(*src));
	if (!src)
		abort();
	src->session = session;
	s->v[s->n++] = src;
	return 0;
}

int sources_poll(struct sources *s, struct pollfd *v, int max)
{
	int n = 0;

	for (int i = 0; i < s->n && n < max; i++)
		if (s->v[i]->session >= 0)
			v[n++] = (struct pollfd){ .fd = s->v[i]->session, .events = POLLIN };
	return n;
}

static bool begin(const struct sources *s, struct source *src, int ring)
{
	const struct obs_ring_page *page;

	if (obs_reader_open(&src->reader, ring, &s->clock) < 0)
		return false;
	page = src->reader.page;
	src->open = true;
	src->pid = page->pid;
	snprintf(src->program, sizeof(src->program), "%.*s", OBS_NAME - 1, page->program);
	snprintf(src->adapter, sizeof(src->adapter), "%.*s", OBS_NAME - 1, page->adapter);
	ut_log_plain(src->program, strlen(src->program));
	ut_log_plain(src->adapter, strlen(src->adapter));
	src->offset = obs_reader_offset(&src->reader);
	return true;
}

void sources_serve(struct sources *s, void (*began)(struct source *src, void *arg), void *arg)
{
	ut_ticks_clock_sync(&s->clock);
	for (int i = 0; i < s->n; i++) {
		struct source *src = s->v[i];
		int ring;

		if (src->session < 0)
			continue;
		ring = obs_session_take(src->session);
		if (ring == -EAGAIN)
			continue;
		if (ring >= 0 && !src->open && begin(s, src, ring))
			began(src, arg);
		if (ring >= 0) {
			close(ring);
		} else {
			close(src->session);
			src->session = -1;
		}
	}
}

/* --- both ends of one packet --- */

static uint64_t mix(uint64_t v, const uint8_t *bytes, size_t n)
{
	for (; n; bytes += n < 8 ? n : 8, n -= n < 8 ? n : 8) {
		uint64_t word = 0;

		memcpy(&word, bytes, n < 8 ? n : 8);
		v = (v ^ word) * 0x9e3779b97f4a7c15u;
		v ^= v >> 32;
	}
	return v;
}

static uint64_t key_of(const struct obs_record *h, const uint8_t *bytes)
{
	bool stream = h->kind == OBS_FPDU || h->kind == OBS_FRAME;
	uint32_t n = h->have < KEY_BYTES ? h->have : KEY_BYTES;
	uint64_t v = (uint64_t)h->kind << 32 ^ h->len;

	if (h->kind == OBS_MESSAGE)
		n = OBS_HEADER;
	v = mix(v, bytes, n);
	v = mix(v, h->flow.src, sizeof(h->flow.src));
	v = mix(v, h->flow.dst, sizeof(h->flow.dst));
	return stream ? mix(v, (const uint8_t *)&h->flow.sport, 4) : v;
}

static struct source_entry *entry_at(const struct source *src, uint64_t pos)
{
	return (struct source_entry *)(src->buf + (pos - src->base));
}

static struct half **bucket(struct sources *s, uint64_t key)
{
	return &s->halves[(key ^ key >> 32) % BUCKETS];
}

/* Returns the oldest record of the other end that still waits, or else the oldest one, taken out of the table; or NULL. */
static struct half *other_half(struct sources *s, uint64_t key, bool out)
{
	struct half **found = NULL, *h;

	for (struct half **at = bucket(s, key); *at; at = &(*at)->next)
		if ((*at)->key == key && (*at)->out != out && (!found || (*found)->given || !(*at)->given))
			found = at; /* the newest is first */
	if (!found)
		return NULL;
	h = *found;
	*found = h->next;
	return h;
}

static void keep_half(struct sources *s, struct source *src, uint64_t key, uint64_t pos, bool out)
{
	struct half *h = s->spare, **at = bucket(s, key);

	if (h)
		s->spare = h->next;
	else
		h = malloc(sizeof(*h));
	if (!h)
		abort();
	*h = (struct half){ .next = *at, .key = key, .pos = pos, .src = src, .out = out };
	*at = h;
}

/* NULL: it was taken out of the table. */
static struct half **find_half(struct sources *s, const struct source *src, uint64_t key, uint64_t pos)
{
	for (struct half **at = bucket(s, key); *at; at = &(*at)->next)
		if ((*at)->pos == pos && (*at)->src == src)
			return at;
	return NULL;
}

/* Forgets the oldest of those that were given. */
static void drop_late(struct sources *s)
{
	const struct late *l = &s->late[s->late_first];
	struct half **at = find_half(s, l->src, l->key, l->pos), *h;

	s->late_first = (s->late_first + 1) % LATE_MOST;
	s->late_n--;
	if (!at)
		return;
	h = *at;
	*at = h->next;
	h->next = s->spare;
	s->spare = h;
}

static void give_half(struct sources *s, const struct source *src, uint64_t key, uint64_t pos, uint64_t now)
{
	struct half **at = find_half(s, src, key, pos);

	if (!at)
		return;
	(*at)->given = true;
	if (s->late_n == LATE_MOST)
		drop_late(s);
	s->late[(s->late_first + s->late_n++) % LATE_MOST] = (struct late){ key, pos, now, src };
}

static void match(struct sources *s, struct source *src, uint64_t pos)
{
	struct source_entry *e = entry_at(src, pos), *out, *in;
	struct half *h;

	if (e->h.kind == OBS_ACCESS)
		return;
	h = other_half(s, e->key, e->h.out);
	if (!h) {
		keep_half(s, src, e->key, pos, e->h.out);
		return;
	}
	if (h->given) {
		e->merged = true;
	} else {
		out = e->h.out ? e : entry_at(h->src, h->pos);
		in = e->h.out ? entry_at(h->src, h->pos) : e;
		out->peer = e->h.out ? h->src : src;
		out->peer_time = in->h.time;
		in->merged = true;
	}
	h->next = s->spare;
	s->spare = h;
}

/* --- reading --- */

static size_t entry_bytes(uint32_t have)
{
	return (sizeof(struct source_entry) + have + 15) & ~(size_t)15;
}

static void make_room(struct source *src, size_t n)
{
	if (src->head == src->tail) {
		src->base += src->head;
		src->head = src->tail = 0;
	}
	if (src->tail + n <= src->size)
		return;
	if (src->head > src->size / 2) {
		memmove(src->buf, src->buf + src->head, src->tail - src->head);
		src->base += src->head;
		src->tail -= src->head;
		src->head = 0;
	}
	while (src->tail + n > src->size) {
		src->size = src->size ? src->size * 2 : 1 << 20;
		src->buf = realloc(src->buf, src->size);
		if (!src->buf)
			abort();
	}
}

static void keep(struct sources *s, struct source *src, const struct obs_record *h)
{
	size_t n = entry_bytes(h->have);
	struct source_entry *e;

	make_room(src, n);
	e = (struct source_entry *)(src->buf + src->tail);
	*e = (struct source_entry){ .h = *h, .key = key_of(h, s->bytes) };
	memcpy(e->bytes, s->bytes, h->have);
	src->tail += n;
	match(s, src, src->base + src->tail - n);
}

unsigned sources_read(struct sources *s, unsigned most)
{
	unsigned n = 0;

	for (int i = 0; i < s->n; i++) {
		struct source *src = s->v[i];
		struct obs_record h;
		int r = 0;

		if (!src->open)
			continue;
		for (unsigned k = 0; k < most && (r = obs_reader_next(&src->reader, &h, s->bytes, sizeof(s->bytes))) > 0; k++) {
			keep(s, src, &h);
			n++;
		}
		src->lost = src->reader.lost;
		/* The process has left before this look, so nothing follows. */
		if (r < 0 || (r == 0 && src->session < 0)) {
			obs_reader_end(&src->reader);
			src->lost = src->reader.lost;
			src->broken = r < 0;
			obs_reader_close(&src->reader);
			src->open = false;
		}
	}
	return n;
}

static struct source *oldest(struct sources *s)
{
	struct source *first = NULL;
	uint64_t time = UINT64_MAX;

	for (int i = 0; i < s->n; i++) {
		struct source *src = s->v[i];
		const struct source_entry *e;

		if (src->head == src->tail)
			continue;
		e = (struct source_entry *)(src->buf + src->head);
		if (e->h.time < time) {
			time = e->h.time;
			first = src;
		}
	}
	return first;
}

void sources_give(struct sources *s, bool all, void (*give)(struct source *src, const struct source_entry *e, void *arg),
		  void *arg)
{
	uint64_t now = ut_now(), until = now - SOURCES_HOLD_NS;
	struct source *src;

	while (s->late_n && s->late[s->late_first].time + SOURCES_LATE_NS < now)
		drop_late(s);
	while ((src = oldest(s))) {
		const struct source_entry *e = (struct source_entry *)(src->buf + src->head);

		if (!all && e->h.time > until)
			break;
		src->received++;
		if (!e->peer && !e->merged)
			give_half(s, src, e->key, src->base + src->head, now);
		if (!e->merged)
			give(src, e, arg);
		src->head += entry_bytes(e->h.have);
	}
}

bool sources_live(const struct sources *s)
{
	for (int i = 0; i < s->n; i++)
		if (s->v[i]->session >= 0)
			return true;
	return false;
}

bool sources_any(const struct sources *s)
{
	for (int i = 0; i < s->n; i++)
		if (s->v[i]->session >= 0 || s->v[i]->open || s->v[i]->head != s->v[i]->tail)
			return true;
	return false;
}

void sources_end(struct sources *s)
{
	for (int i = 0; i < s->n; i++) {
		if (s->v[i]->session >= 0)
			close(s->v[i]->session);
		s->v[i]->session = -1;
	}
}

void sources_each(struct sources *s, void (*each)(struct source *src, void *arg), void *arg)
{
	for (int i = 0; i < s->n; i++)
		each(s->v[i], arg);
}
