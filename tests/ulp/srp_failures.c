/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The n-th call fails, for n = 1, 2, ..., at the initiator and at the target: each command succeeds or says why not, what was
 * written is there, nothing is left, and the next session is sound.
 */
#include "srp_ends.h"

#include "nth.h"

#include <stdio.h>
#include <stdlib.h>

#define LEN (600u * 1024) /* three commands */
#define SESSIONS_MAX 2000

/* --- one life of a disk --- */

/* The outcome of a call; a failure needs a cause. Returns whether it has succeeded. */
static bool did(int r, bool may_fail, const char *what)
{
	CHECK_MSG(!r || may_fail, "%s: %s", what, srp_disk_why());
	CHECK_MSG(!r || *srp_disk_why(), "%s fails without a sentence", what);
	return !r;
}

/* What the disk has to have at the end: octets of one of these seeds, the last one that was written and perhaps the one before. */
struct kept {
	unsigned seed;
	bool sure;
};

/* Uses the disk. Calls after a failure go on if `goes_on`. Returns whether all have succeeded. */
static bool use(struct srp_disk *d, uint8_t *at, struct kept *k, unsigned seed, bool may_fail, bool goes_on)
{
	bool ok;

	fill(at, LEN, 0, seed);
	k->sure = did(srp_disk_write(d, at, LEN, 0, false), may_fail, "WRITE");
	k->seed = seed;
	ok = k->sure;
	if (ok || goes_on) {
		memset(at, 0, LEN);
		if (did(srp_disk_read(d, at, LEN, 0), may_fail, "READ")) {
			if (k->sure)
				expect_bytes(at, LEN, 0, seed);
		} else {
			ok = false;
		}
	}
	if (ok || goes_on)
		ok &= did(srp_disk_zero(d, 65536, 1u << 20, true, false), may_fail, "WRITE SAME");
	if (ok || goes_on)
		ok &= did(srp_disk_flush(d), may_fail, "SYNCHRONIZE CACHE");
	return ok;
}

static void see_kept(const struct srp_disk_conf *c, uint8_t *at, const struct kept *k)
{
	char why[SRP_DISK_WHY_MAX];
	struct srp_disk_conf again = *c;
	struct srp_disk *d;

	/* A login that has been given up may come behind this one, and end its session. */
	again.reconnect_ms = SRP_ENDS_MS;
	d = srp_disk_open(&again, why);
	CHECK_MSG(d, "%s", why);
	memset(at, 0, LEN);
	CHECK_MSG(!srp_disk_read(d, at, LEN, 0), "%s", srp_disk_why());
	if (k->sure)
		expect_bytes(at, LEN, 0, k->seed);
	srp_disk_close(d);
}

/* --- the initiator fails --- */

static void *serve_in_thread(void *arg)
{
	struct srp_service *s = arg;

	s->result = srp_target_serve(&target, s->q.id, s->q.data, s->q.len, &s->served, NULL, NULL, s->why);
	return NULL;
}

/* Serves until the client says that it was the last one. */
static void many_server(struct ends *e)
{
	struct srp_service *s = calloc(SESSIONS_MAX, sizeof(*s));
	struct ulp_listener *l;
	unsigned n = 0;

	srp_ends_make_target();
	l = ends_listen(e, RDMA_PS_TCP);
	for (;;) {
		struct pollfd p[2] = { { ulp_listener_fd(l), POLLIN, 0 }, { e->in, POLLIN, 0 } };

		while (n < SESSIONS_MAX && !ulp_listener_next(l, &s[n].q)) {
			CHECK(!pthread_create(&s[n].thread, NULL, serve_in_thread, &s[n]));
			n++;
		}
		CHECK(n < SESSIONS_MAX && poll(p, 2, SRP_ENDS_MS) > 0);
		if (p[1].revents)
			break;
	}
	await(e);
	srp_target_stop(&target, SRP_ENDS_MS);
	for (unsigned i = 0; i < n; i++)
		CHECK(!pthread_join(s[i].thread, NULL));
	ulp_listener_close(l);
	free(s);
}

/* One life in which the n-th call fails. Returns whether there was an n-th one. */
static bool fail_initiator(const struct srp_disk_conf *c, uint8_t *at, unsigned long n, struct kept *k)
{
	char why[SRP_DISK_WHY_MAX] = "";
	struct srp_disk *d;
	bool ok = false, fired;

	nth_arm(n);
	d = srp_disk_open(c, why);
	CHECK(d || *why);
	if (d) {
		ok = use(d, at, k, (unsigned)n, true, true);
		srp_disk_close(d);
	}
	fired = nth_disarm();
	CHECK_MSG(ok || fired, "%s", d ? srp_disk_why() : why);
	CHECK_MSG(!nth_left(), "%ld objects are left after %s", nth_left(), nth_name());
	return fired;
}

static void initiator_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	uint8_t *at = malloc(LEN);
	struct kept k = { 0 };

	for (unsigned back = 0; back < 2; back++) {
		c.reconnect_ms = back ? SRP_ENDS_MS : 0;
		unsigned long n = 1;

		for (; fail_initiator(&c, at, n, &k); n++)
			see_kept(&c, at, &k);
		CHECK(k.sure && n > 20);
		printf("  %lu lives\n", n);
	}
	free(at);
	mark(e);
}

/* --- the target fails --- */

/* Serves a login, and each that follows - a session that ended between two commands is made again - until the client says that it is through. */
static void serve_phase(struct ends *e, struct ulp_listener *l, struct srp_service *first, unsigned long n, bool *ret_fired)
{
	struct pollfd p[2] = { { ulp_listener_fd(l), POLLIN, 0 }, { e->in, POLLIN, 0 } };
	struct srp_service s = { 0 };

	ends_next_request(l, &first->q);
	nth_arm(n);
	first->result = srp_target_serve(&target, first->q.id, first->q.data, first->q.len, &first->served, NULL, NULL, first->why);
	*ret_fired = nth_disarm();
	for (;;) {
		while (!ulp_listener_next(l, &s.q))
			CHECK_MSG(!srp_target_serve(&target, s.q.id, s.q.data, s.q.len, &s.served, NULL, NULL, s.why), "%s", s.why);
		CHECK(poll(p, 2, SRP_ENDS_MS) > 0);
		if (p[1].revents)
			break;
	}
	await(e);
	CHECK(write(e->out, ret_fired, 1) == 1);
}

/* Each session has its n; the last one has no failure. */
static void target_server(struct ends *e)
{
	struct ulp_listener *l;
	unsigned long n = 1;
	bool fired = true, none;

	srp_ends_make_target();
	l = ends_listen(e, RDMA_PS_TCP);
	for (; fired; n++) {
		struct srp_service s = { 0 };

		serve_phase(e, l, &s, n, &fired);
		CHECK_MSG(!s.result || (fired && *s.why), "%s", s.why);
		CHECK_MSG(nth_left() == -1, "%ld objects are left after %s", nth_left() + 1, nth_name()); /* the identifier was there */
		/* A session that is sound, between two that are not. */
		if (fired) {
			s = (struct srp_service){ 0 };
			serve_phase(e, l, &s, 0, &none);
			CHECK_MSG(!s.result, "%s", s.why);
		}
	}
	printf("  %lu lives\n", n - 1);
	fflush(stdout);
	CHECK(n > 20);
	ulp_listener_close(l);
}

static void target_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	uint8_t *at = malloc(LEN);
	bool fired = true, ok, none;

	for (unsigned n = 1; fired; n++) {
		char why[SRP_DISK_WHY_MAX] = "";
		struct srp_disk *d = srp_disk_open(&c, why);
		struct kept k = { 0 };

		CHECK(d || *why);
		ok = d && use(d, at, &k, n, true, false);
		if (d)
			srp_disk_close(d);
		mark(e);
		CHECK(read(e->in, &fired, 1) == 1);
		CHECK_MSG(ok || fired, "%s", d ? srp_disk_why() : why);
		if (fired) {
			see_kept(&c, at, &k);
			mark(e);
			CHECK(read(e->in, &none, 1) == 1);
		}
	}
	free(at);
}

int main(void)
{
	ends_run("the n-th call of the initiator fails", AF_INET, many_server, initiator_client);
	ends_run("the n-th call of the target fails", AF_INET, target_server, target_client);
	return 0;
}
