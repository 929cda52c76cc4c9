/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/program/serve.h"
#include "ulp/srp/mads.h"
#include "ulp/srp/program/id.h"
#include "ulp/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SESSIONS_MAX 64
#define BACKLOG 16
#define STOP_MS 5000

struct session {
	const struct srp_options *o;
	struct ulp_request q;
};

static struct srp_target target;
static struct scsi_unit units[SCSI_UNITS_MAX];
static atomic_uint sessions;

static int stop(const char *what, const char *why)
{
	fprintf(stderr, "dapple srp: %s: %s: no target is started; correct that, and start it again\n", what, why);
	return 1;
}

/*
 * A number that stays the same for a file of a target (FNV-1a). Memory ends with this process: another target's is another disk,
 * for which an initiator does not take it.
 */
static uint64_t unit_id(const uint8_t target_id[16], unsigned lun, bool memory)
{
	uint64_t h = 0xcbf29ce484222325, chance = 0;

	if (memory && getrandom(&chance, sizeof(chance), 0) == sizeof(chance))
		h ^= chance;

	for (unsigned i = 0; i < 16; i++)
		h = (h ^ target_id[i]) * 0x100000001b3;
	return (h ^ lun) * 0x100000001b3;
}

static int open_units(const struct srp_options *o)
{
	for (unsigned i = 0; i < o->nr_units; i++) {
		const struct srp_unit_conf *c = &o->units[i];
		struct scsi_unit *u = &units[i];
		int r = c->path ? srp_store_open(&u->store, c->path, o->read_only) : srp_store_memory(&u->store, c->len);

		u->store.read_only = o->read_only;
		if (r)
			return stop(c->path ? c->path : "--memory", r == -EWOULDBLOCK ? "another program has it locked" : strerror(-r));
		if (!scsi_unit_init(u, o->block, unit_id(o->target, i, !c->path)))
			return stop(c->path ? c->path : "--memory", "it is shorter than a block");
		target.units[target.nr_units++] = u;
	}
	return 0;
}

static void print_login(const struct srp_served *served, void *user)
{
	char from[ULP_ADDR_TEXT_MAX], text[SRP_ID_TEXT_MAX];
	struct session *s = user;

	printf("initiator %s from %s logs in\n", srp_id_text(text, served->initiator), ulp_addr_text(from, &s->q.from));
	fflush(stdout);
}

static void print_end(const struct session *s, const struct srp_served *served, const char *why)
{
	char from[ULP_ADDR_TEXT_MAX], text[SRP_ID_TEXT_MAX];

	printf("initiator %s from %s: %s", srp_id_text(text, served->initiator), ulp_addr_text(from, &s->q.from), why);
	if (s->o->counts)
		printf("; commands %llu, octets read %llu, written %llu, tasks aborted %llu", (unsigned long long)served->commands,
		       (unsigned long long)served->read, (unsigned long long)served->written,
		       (unsigned long long)served->tasks_aborted);
	putchar('\n');
	fflush(stdout);
}

static void *serve(void *arg)
{
	struct session *s = arg;
	struct srp_served served;
	char why[ULP_WHY_MAX] = "", from[ULP_ADDR_TEXT_MAX];
	int r = srp_target_serve(&target, s->q.id, s->q.data, s->q.len, &served, print_login, s, why);

	if (r)
		fprintf(stderr, "dapple srp: initiator at %s: %s: its session alone ends; correct that, and let it log in again "
			"(dapple why names failures of RDMA)\n", ulp_addr_text(from, &s->q.from), why);
	else
		print_end(s, &served, why);
	free(s);
	atomic_fetch_sub(&sessions, 1);
	return NULL;
}

static void refuse(struct session *s, const char *why, const char *remedy)
{
	char text[ULP_ADDR_TEXT_MAX];

	fprintf(stderr, "dapple srp: initiator at %s: %s: it is refused; %s\n", ulp_addr_text(text, &s->q.from), why, remedy);
	ulp_request_refuse(&s->q);
	free(s);
}

static void start(struct session *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (!ulp_may_connect(&s->o->from, &s->q.from)) {
		refuse(s, "its address is not permitted", "permit it by --from");
		return;
	}
	if (atomic_fetch_add(&sessions, 1) >= SESSIONS_MAX) {
		atomic_fetch_sub(&sessions, 1);
		refuse(s, "64 sessions stand", "end one of them");
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, serve, s);
	pthread_attr_destroy(&attr);
	if (!r)
		return;
	atomic_fetch_sub(&sessions, 1);
	refuse(s, "no thread can be started", "raise the limit on processes (ulimit -u)");
}

static void take_requests(const struct srp_options *o, struct ulp_listener *l)
{
	struct session *s;

	while ((s = calloc(1, sizeof(*s)))) {
		s->o = o;
		if (ulp_listener_next(l, &s->q)) {
			free(s);
			return;
		}
		start(s);
	}
}

/* Readable when the program is to end; blocked in all threads that are started later. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* --- device management, on InfiniBand links --- */

#define TCP_SERVICES 0x0000000001060000ull /* service IDs of the RDMA IP CM service, port space TCP (IBTA annex A11) */

static bool is_infiniband(const struct ulp_listener *l)
{
	struct ibv_context *verbs = ulp_listener_verbs(l);
	struct ibv_port_attr a;

	return verbs && !ibv_query_port(verbs, ulp_listener_port(l), &a) && a.link_layer == IBV_LINK_LAYER_INFINIBAND;
}

static struct srp_dm_unit describe(const struct srp_options *o, const struct sockaddr_storage *at)
{
	struct srp_dm_unit u = { .service_id = TCP_SERVICES | ntohs(((const struct sockaddr_in *)(const void *)at)->sin_port),
				 .send_size = target.it_length, .transfer_size = SCSI_TRANSFER_MAX, .depth = target.limit };
	char text[ULP_ADDR_TEXT_MAX];

	memcpy(u.target, o->target, 16);
	snprintf(u.id, sizeof(u.id), "Dapple SRP %.52s", ulp_addr_text(text, at));
	return u;
}

/* Becomes the agent of the listener's port. Without one the target cannot be discovered, and serves as well. */
static bool open_agent(struct srp_mads *m, const struct ulp_listener *l)
{
	if (!is_infiniband(l))
		return false;
	if (!srp_mads_open(m, ibv_get_device_name(ulp_listener_verbs(l)->device), ulp_listener_port(l)) && !srp_mads_serve(m))
		return true;
	fprintf(stderr, "dapple srp: device management: %s: the target serves, and cannot be discovered; end the other agent of this port\n",
		m->why);
	srp_mads_close(m);
	return false;
}

static int listen_and_serve(const struct srp_options *o, int signals)
{
	struct sockaddr_storage at = o->listen;
	struct ulp_listener *l = ulp_listen((struct sockaddr *)&at, RDMA_PS_TCP, -1, BACKLOG);
	char text[ULP_ADDR_TEXT_MAX], id[SRP_ID_TEXT_MAX];
	struct pollfd p[3] = { { signals, POLLIN, 0 }, { .events = POLLIN }, { -1, POLLIN, 0 } };
	struct srp_dm_unit unit;
	struct srp_mads mads;

	if (!l)
		return stop("--listen", errno == ENODEV ? "no RDMA adapter has this address (dapple doctor)" : strerror(errno));
	printf("listening at %s, target %s\n", ulp_addr_text(text, &at), srp_id_text(id, o->target));
	fflush(stdout);
	p[1].fd = ulp_listener_fd(l);
	unit = describe(o, &at);
	if (open_agent(&mads, l))
		p[2].fd = srp_mads_fd(&mads);
	while (!(p[0].revents & POLLIN)) {
		take_requests(o, l);
		if (p[2].fd >= 0)
			srp_mads_answer(&mads, &unit);
		poll(p, 3, -1);
	}
	if (p[2].fd >= 0)
		srp_mads_close(&mads);
	ulp_listener_close(l);
	srp_target_stop(&target, STOP_MS);
	return 0;
}

int srp_serve(const struct srp_options *o)
{
	int signals = open_signals(), r;

	srp_target_init(&target);
	memcpy(target.id, o->target, 16);
	memcpy(target.allowed, o->allowed, sizeof(target.allowed));
	target.nr_allowed = o->nr_allowed;
	target.limit = (uint16_t)o->limit;
	r = open_units(o);
	if (!r)
		r = listen_and_serve(o, signals);
	for (unsigned i = 0; i < target.nr_units; i++) {
		if (!o->read_only && srp_store_sync(&units[i].store) && !r)
			r = stop(o->units[i].path ? o->units[i].path : "--memory", "its octets cannot be written back");
	}
	return r;
}
