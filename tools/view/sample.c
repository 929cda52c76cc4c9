/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sample.h"

#include "../capture/sources.h"
#include "../run/ask.h"
#include "../run/run.h"

#include "observe/place.h"
#include "proto/ib/frame_shm.h"
#include "util/clock.h"
#include "wire/ib_opcode.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING_BYTES (1u << 20)
#define SLOTS 8192u /* requests that wait for their acknowledgement: a power of two */
#define HEADERS 128u
#define LOOK_MS 20 /* at a child that asks */

struct sent {
	const struct source *src;
	uint32_t peer, psn;
	uint64_t time;
};

struct sampler {
	struct sources *sources;
	int listener;
	char path[OBS_PATH + 32];
	struct sent slot[SLOTS];

	/* Of the current read. */
	uint32_t (*peer_of)(long pid, uint32_t qpn, void *arg);
	void (*got)(long pid, uint32_t qpn, uint64_t ns, void *arg);
	void *arg;
	uint64_t until;
};

/* --- requests and their acknowledgements --- */

static struct sent *slot_of(struct sampler *s, const struct source *src, uint32_t peer, uint32_t psn)
{
	return &s->slot[(peer * 0x9e3779b1u ^ psn * 0x85ebca6bu ^ (uint32_t)(uintptr_t)src) & (SLOTS - 1)];
}

static void note_sent(struct sampler *s, const struct source *src, uint32_t peer, uint32_t psn, uint64_t time)
{
	*slot_of(s, src, peer, psn) = (struct sent){ src, peer, psn, time };
}

static void note_answered(struct sampler *s, const struct source *src, uint32_t qpn, uint32_t peer, uint32_t psn, uint64_t time)
{
	struct sent *v = slot_of(s, src, peer, psn);

	if (v->src != src || v->peer != peer || v->psn != psn || time < v->time)
		return;
	v->src = NULL;
	s->got((long)src->pid, qpn, time - v->time, s->arg);
}

/* IBTA table 44: an acknowledgement that is no NAK. */
static bool is_positive(uint8_t syndrome)
{
	return syndrome >> 5 == 0;
}

static void take_message(struct sampler *s, const struct source *src, const struct obs_record *h, const uint8_t *bytes)
{
	struct ibp_header n = ibp_header_get(bytes);
	bool response = wire_ib_shape(n.opcode)->flags & WIRE_F_RSP;

	if (h->out && !response)
		note_sent(s, src, n.dest_qpn, n.psn, h->time);
	else if (!h->out && response && is_positive(n.syndrome))
		note_answered(s, src, n.dest_qpn, n.src_qpn, n.psn, h->time);
	else if (!h->out && n.flags & IBP_HEADER_ACKS)
		note_answered(s, src, n.dest_qpn, n.src_qpn, (uint32_t)n.va & 0xffffff, h->time);
}

static void take_datagram(struct sampler *s, const struct source *src, const struct obs_record *h, const uint8_t *bytes)
{
	uint32_t dest = (uint32_t)wire_get_BTH_dest_qpn(bytes), psn = (uint32_t)wire_get_BTH_psn(bytes);
	bool response = wire_ib_shape(bytes[0])->flags & WIRE_F_RSP;

	if (h->out && !response)
		note_sent(s, src, dest, psn, h->time);
	else if (!h->out && response && h->have >= WIRE_BTH_LEN + WIRE_AETH_LEN &&
		 is_positive((uint8_t)wire_get_AETH_syndrome(bytes + WIRE_BTH_LEN)))
		note_answered(s, src, dest, s->peer_of((long)src->pid, dest, s->arg), psn, h->time);
}

static void read_source(struct source *src, void *arg)
{
	struct sampler *s = arg;
	uint64_t until = ut_now() + s->until;
	uint8_t bytes[HEADERS];
	struct obs_record h;
	int r = 1;

	/* The first look of a ring that has turned finds nothing, and goes to its end. */
	while (src->open && !src->broken && r >= 0 && ut_now() < until) {
		r = obs_reader_next(&src->reader, &h, bytes, sizeof(bytes));
		if (r == 1 && h.kind == OBS_MESSAGE && h.have >= OBS_HEADER)
			take_message(s, src, &h, bytes);
		else if (r == 1 && h.kind == OBS_DATAGRAM && h.have >= WIRE_BTH_LEN)
			take_datagram(s, src, &h, bytes);
	}
	src->broken |= r < 0;
}

/* --- sessions --- */

static void began(struct source *src, void *arg)
{
}

static void take_sessions(struct sampler *s)
{
	int fd;

	while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (!obs_place_is_ours(fd) || sources_add(s->sources, fd) < 0)
			close(fd);
	sources_serve(s->sources, began, s);
}

/* A child asks, since a process connects to us, and passes its rings, while it answers. */
static void ask_sessions(struct sampler *s)
{
	char request[OBS_PATH + 64];
	pid_t child = fork();

	if (child == 0) {
		snprintf(request, sizeof(request), "sample %s", s->path);
		ask_all(request);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, WNOHANG) == 0) {
		struct pollfd v[SOURCES_MAX + 1] = { { .fd = s->listener, .events = POLLIN } };

		poll(v, (nfds_t)(1 + sources_poll(s->sources, v + 1, SOURCES_MAX)), LOOK_MS);
		take_sessions(s);
	}
	take_sessions(s);
}

struct sampler *sampler_new(void)
{
	static const struct obs_config cfg = { .ring_bytes = RING_BYTES, .payload = 0, .out = 1, .in = 1 };
	struct sampler *s = calloc(1, sizeof(*s));
	char dir[OBS_PATH];
	int r = obs_place(dir, sizeof(dir));

	if (!s)
		abort();
	if (r == 0) {
		snprintf(s->path, sizeof(s->path), "%s/all-%d", dir, (int)getpid());
		s->listener = obs_place_listen(s->path);
		r = s->listener < 0 ? s->listener : 0;
	}
	if (r < 0) {
		run_say("the runtime directory: no socket can be made in it (%s): there are no latencies; see dapple doctor",
			strerror(-r));
		free(s);
		return NULL;
	}
	s->sources = sources_new(&cfg);
	ask_sessions(s);
	return s;
}

void sampler_free(struct sampler *s)
{
	close(s->listener);
	unlink(s->path);
	sources_end(s->sources);
	sources_free(s->sources);
	free(s);
}

void sampler_read(struct sampler *s, unsigned ms, uint32_t (*peer_of)(long pid, uint32_t qpn, void *arg),
		  void (*got)(long pid, uint32_t qpn, uint64_t ns, void *arg), void *arg)
{
	s->peer_of = peer_of;
	s->got = got;
	s->arg = arg;
	s->until = ms * UT_MS;
	take_sessions(s);
	sources_each(s->sources, read_source, s);
}
