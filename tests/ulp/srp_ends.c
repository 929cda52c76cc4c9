/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "srp_ends.h"

#include "ulp/srp/serving.h"

#include <stddef.h>


const uint8_t srp_ends_target[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
const uint8_t srp_ends_initiator[16] = { 0xaa, 1 };
struct srp_target target;
struct scsi_unit unit, fixed;

void srp_ends_make_target(void)
{
	srp_target_init(&target);
	memcpy(target.id, srp_ends_target, 16);
	memcpy(target.allowed[0], srp_ends_initiator, 16);
	target.nr_allowed = 1;
	CHECK(!srp_store_memory(&unit.store, SRP_ENDS_UNIT) && scsi_unit_init(&unit, 512, 0x1234));
	CHECK(!srp_store_memory(&fixed.store, SRP_ENDS_UNIT / 8) && scsi_unit_init(&fixed, 4096, 0x5678));
	fixed.store.read_only = true;
	target.units[0] = &unit;
	target.units[1] = &fixed;
	target.nr_units = 2;
}

static void logged_in(const struct srp_served *served, void *user)
{
	struct srp_service *s = user;
	struct srp_serving *serving = (struct srp_serving *)((char *)(uintptr_t)served - offsetof(struct srp_serving, served));

	CHECK(!memcmp(served->initiator, srp_ends_initiator, 16));
	if (s->logged_in)
		s->logged_in(&serving->ch.rdma, s->user);
}

static void *serve(void *arg)
{
	struct srp_service *s = arg;

	s->result = srp_target_serve(&target, s->q.id, s->q.data, s->q.len, &s->served, logged_in, s, s->why);
	return NULL;
}

void srp_ends_begin(struct srp_service *s)
{
	CHECK(!pthread_create(&s->thread, NULL, serve, s));
}

void srp_ends_serve(struct ulp_listener *l, struct srp_service *s, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		ends_next_request(l, &s[i].q);
		srp_ends_begin(&s[i]);
	}
	for (unsigned i = 0; i < nr; i++)
		CHECK(!pthread_join(s[i].thread, NULL));
}

struct srp_disk_conf srp_ends_conf(struct ends *e)
{
	struct srp_disk_conf c = { .session = srp_conf_default, .timeout_ms = SRP_ENDS_MS };

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	c.to = e->addr;
	memcpy(c.session.target, srp_ends_target, 16);
	memcpy(c.session.initiator, srp_ends_initiator, 16);
	return c;
}

struct srp_session *srp_ends_log_in(const struct srp_disk_conf *c)
{
	char why[ULP_WHY_MAX];
	int err;
	struct srp_session *s = srp_login((const struct sockaddr *)&c->to, &c->session, SRP_ENDS_MS, &err, why);

	CHECK_MSG(s, "%s", why);
	return s;
}

int srp_ends_refused(const struct srp_disk_conf *c, const char *words)
{
	char why[ULP_WHY_MAX];
	int err;

	CHECK(!srp_login((const struct sockaddr *)&c->to, &c->session, SRP_ENDS_MS, &err, why));
	CHECK_MSG(strstr(why, words), "%s", why);
	return err;
}
