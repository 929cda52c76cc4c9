/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "log.h"

#include "raw.h"
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define BASE ((uint8_t *)RP_FILE_MAP)
#define CHUNK (4ull << 20)                  /* room on the disk that is taken at once */
#define MARGIN (1ull << 20)                 /* more than one event needs but for large reads */

static int file = -1;
static uint8_t *events;
static uint64_t events_at, limit, room, at, body; /* from `events`: taken from the disk, the event, the next byte in it */
static uint64_t n_events, n_messages;  /* kept here too: a child's are those at its fork() */

int rp_log_open(int fd, uint64_t begin, uint64_t max)
{
	bool recording = rp_mode == RP_RECORDING;
	long r = RP_RAW6(SYS_mmap, BASE, begin + max, recording ? PROT_READ | PROT_WRITE : PROT_READ,
			 (recording ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED_NOREPLACE | MAP_NORESERVE, fd, 0);

	if (r < 0)
		return (int)r;
	file = fd;
	limit = max;
	events_at = begin;
	events = BASE + begin;
	return 0;
}

int rp_log_fd(void)
{
	return file;
}

uint64_t rp_log_used(void)
{
	return at;
}

const struct rp_file *rp_log_head(void)
{
	return (const void *)BASE;
}

void rp_log_close(int status)
{
	if (rp_mode != RP_RECORDING)
		return;
	rp_control->status = status;
	rp_control->exited = 1;
	RP_RAW2(SYS_ftruncate, file, events_at + at + sizeof(struct rp_event));
}

int rp_log_move(int fd)
{
	long r = RP_RAW6(SYS_mmap, BASE, events_at + limit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);

	if (r >= 0)
		r = rp_control_map(fd, RP_CONTROL_AT, MAP_FIXED);
	if (r >= 0)
		r = RP_RAW3(SYS_dup3, fd, file, O_CLOEXEC);
	RP_RAW1(SYS_close, fd);
	if (r < 0)
		return (int)r;
	room = at;
	rp_control->used = at;
	rp_control->events = n_events;
	rp_control->messages = n_messages;
	return 0;
}

/* Makes sure that a store does not find the disk full. */
static bool has_room(uint64_t n)
{
	uint64_t more = (n + CHUNK - 1) / CHUNK * CHUNK;

	if (at + n <= room)
		return true;
	if (at + n > limit)
		return false;
	if (room + more > limit)
		more = limit - room;
	if (RP_RAW4(SYS_fallocate, file, 0, events_at + room, more) < 0)
		return false;
	room += more;
	return true;
}

static const struct rp_event *next(void)
{
	const struct rp_event *e = (const void *)(events + at);

	return at + sizeof(*e) <= limit && e->bytes ? e : NULL;
}

int rp_log_thread(void)
{
	const struct rp_event *e = next();

	return e ? e->thread : -1;
}

int rp_log_kind(void)
{
	const struct rp_event *e = next();

	return e ? e->kind : -1;
}

int64_t rp_log_about(void)
{
	const struct rp_event *e = next();

	return e ? e->about : -1;
}

int64_t rp_event_begin(unsigned kind, unsigned thread, int64_t about, int64_t result)
{
	struct rp_event *e = (void *)(events + at);

	body = at + sizeof(*e);
	if (rp_mode == RP_REPLAYING) {
		if (!next())
			rp_stop(RP_AT_END);
		if (e->kind != kind)
			rp_stop_at(RP_OTHER_CALL, kind, e->kind);
		rp_control->about = e->about;
		if (e->about != about)
			rp_stop_at(RP_OTHER_CALL, kind, e->kind);
		return e->result;
	}
	if (rp_mode == RP_RECORDING && !has_room(MARGIN))
		rp_stop(RP_FULL);
	if (rp_mode == RP_RECORDING)
		*e = (struct rp_event){ .kind = (uint16_t)kind, .thread = (uint16_t)thread, .about = about, .result = result };
	return result;
}

void rp_bytes(void *p, size_t n)
{
	if (!n)
		return;
	if (rp_mode == RP_REPLAYING) {
		memcpy(p, events + body, n);
	} else {
		if (rp_mode == RP_RECORDING && !has_room(body - at + n + MARGIN))
			rp_stop(RP_FULL);
		if (rp_mode != RP_RECORDING)
			return;
		memcpy(events + body, p, n);
	}
	body += n;
}

/* --- what goes out --- */

#define SEED 0x9e3779b97f4a7c15ull

static uint64_t mix(uint64_t sum, uint64_t v)
{
	sum = (sum ^ v) * 0xff51afd7ed558ccdull;
	return sum ^ sum >> 32;
}

static uint64_t add(uint64_t sum, const uint8_t *p, size_t n)
{
	uint64_t v;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&v, p, 8);
		sum = mix(sum, v);
	}
	for (v = 0; n; n--)
		v = v << 8 | p[n - 1];
	return mix(sum, v);
}

struct sent {
	uint64_t sum;
	uint32_t len, kept;
	uint8_t octets[RP_PREFIX];
};

static void gather(const struct iovec *iov, int n_iov, size_t n, struct sent *s)
{
	s->sum = SEED;
	s->len = (uint32_t)n;
	s->kept = 0;
	for (int i = 0; i < n_iov && n; i++) {
		size_t part = iov[i].iov_len < n ? iov[i].iov_len : n;
		size_t keep = part < RP_PREFIX - s->kept ? part : RP_PREFIX - s->kept;

		memcpy(s->octets + s->kept, iov[i].iov_base, keep);
		s->kept += (uint32_t)keep;
		s->sum = add(s->sum, iov[i].iov_base, part);
		n -= part;
	}
}

static _Thread_local struct sent now __attribute__((tls_model("initial-exec")));

static void tell_difference(const struct sent *was, const uint8_t *octets, bool is_message)
{
	struct rp_control *c = rp_control;
	uint32_t i = 0, least = was->kept < now.kept ? was->kept : now.kept;

	while (i < least && octets[i] == now.octets[i])
		i++;
	c->at = i;
	c->before_len = was->len;
	c->after_len = now.len;
	memcpy(c->before, octets, was->kept);
	memcpy(c->after, now.octets, now.kept);
	c->is_message = is_message;
	rp_stop_at(RP_OTHER_OCTETS, (int64_t)c->messages, 0);
}

void rp_compare(const struct iovec *iov, int n_iov, size_t n, bool is_message)
{
	struct sent was;
	size_t head = offsetof(struct sent, octets);

	gather(iov, n_iov, n, &now);
	rp_control->messages = n_messages += is_message;
	if (rp_mode != RP_REPLAYING) {
		rp_bytes(&now, head);
		rp_bytes(now.octets, now.kept);
		return;
	}
	rp_bytes(&was, head);
	if (was.sum != now.sum || was.len != now.len)
		tell_difference(&was, events + body, is_message);
	body += was.kept;
}

/* The length is written last: a file ends with a whole event, whenever the process ends. */
void rp_event_end(void)
{
	struct rp_event *e = (void *)(events + at);
	uint32_t bytes = (uint32_t)((body - at + 7) & ~7ull);

	if (rp_mode == RP_OFF)
		return;
	if (rp_mode == RP_REPLAYING)
		bytes = e->bytes;
	else
		__atomic_store_n(&e->bytes, bytes, __ATOMIC_RELEASE);
	at += bytes;
	rp_control->used = at;
	rp_control->events = ++n_events;
}

int64_t rp_event(unsigned kind, unsigned thread, int64_t about, int64_t result)
{
	result = rp_event_begin(kind, thread, about, result);
	rp_event_end();
	return result;
}
