/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/faults.h"

#include "device/adapter.h"
#include "device/process.h"
#include "device/why.h"
#include "engine/event.h"
#include "link/fault.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ENV "DAPPLE_FAULT"
#define TEXT 8192
#define TIMES_SAID 3

/* The rules of the process, as text; a leaf. */
static struct ut_mutex lock = UT_MUTEX_INIT;
static char *rules UT_GUARDED_BY(lock);
static _Atomic bool none; /* neither the environment nor a request has given any */
static bool read_env UT_GUARDED_BY(lock);

static void acted(const struct link_rule *r, const struct link_event *e)
{
	char text[LINK_RULE_TEXT + 200];

	/* The first ones, then ever fewer. */
	if (r->acted <= TIMES_SAID || !(r->acted & (r->acted - 1)) || r->act == LINK_ACT_DIE) {
		snprintf(text, sizeof(text), "%s: the rule \"%s\" of dapple fault has acted (%" PRIu64 " times): a failure "
			 "that follows may be its doing; take it away by dapple fault --off", e->adapter, r->text,
			 r->acted);
		ut_info("%s", text);
		dev_why_keep(UT_SAY_NOTICE, text);
	}
	if (r->act == LINK_ACT_DIE)
		kill(getpid(), SIGKILL);
}

/* --- the environment --- */

static char *read_file(const char *path)
{
	int fd = (int)UT_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	char *text = fd < 0 ? NULL : ut_zalloc(TEXT);
	long n = text ? UT_SYS(SYS_read, fd, text, TEXT - 1) : -1;

	if (n < 0) {
		ut_error(ENV ": %s cannot be read (%s): there are no faults; name a file with rules", path,
			 strerror(fd < 0 ? -fd : n < 0 ? (int)-n : 0));
		free(text);
		text = NULL;
	}
	ut_close(fd);
	return text;
}

static void take_env(void) UT_REQUIRES(lock)
{
	const char *v = ut_env(ENV);
	struct link_rules *check;
	char word[100];

	if (read_env)
		return;
	read_env = true;
	/* Rates are for the kinds, which read them themselves. */
	if (!v || !*v || link_fault_is_rates(v))
		return;
	rules = *v == '@' ? read_file(v + 1) : strdup(v);
	check = rules ? ut_zalloc(sizeof(*check)) : NULL;
	if (check && link_rules_read(rules, check, word, sizeof(word)) < 0) {
		ut_error(ENV ": the word \"%s\" is none of a rule: there are no faults; see dapple fault --help", word);
		free(rules);
		rules = NULL;
	}
	free(check);
}

/* --- adapters --- */

/* A rule of another kind of adapters does nothing here, which a user should not have to guess. */
static void say_foreign(const struct dev_adapter *a, const struct link_rules *r)
{
	char text[LINK_RULE_TEXT + 200];

	for (unsigned i = 0; i < r->n; i++) {
		const struct link_rule *rule = &r->rule[i];

		if (a->kind->fault_acts & 1u << rule->act || (*rule->adapter && !strstr(a->info.name, rule->adapter)))
			continue;
		snprintf(text, sizeof(text), "%s: the rule \"%s\" of dapple fault is for another kind of adapters: it does "
			 "nothing here; choose an act of this kind (dapple fault --help)", a->info.name, rule->text);
		ut_info("%s", text);
		dev_why_keep(UT_SAY_NOTICE, text);
	}
}

/* Returns how many connected queue pairs stay out of reach of rules on packets. */
static unsigned give(struct dev_adapter *a)
{
	unsigned without_packets;

	say_foreign(a, a->rules);
	without_packets = a->kind->faults(a, a->rules);
	a->cm.rules = a->rules->acts & a->kind->fault_acts & LINK_ACTS_CONNECTION ? a->rules : NULL;
	return without_packets;
}

/* link_rules.port. */
static void port_changed(void *arg, bool up)
{
	struct dev_adapter *a = arg;

	eng_dev_held(&a->dev);
	atomic_store(&a->dev.port_faulted, !up);
	eng_async_port(&a->dev, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

/* Returns as give(). */
static unsigned put(struct dev_adapter *a, const char *text)
{
	struct link_rules *r = ut_zalloc(sizeof(*r)), *before = a->rules;
	unsigned without_packets = 0;
	char word[100];

	if (!r)
		return 0;
	if (link_rules_read(text, r, word, sizeof(word)) < 0) {
		free(r);
		return 0;
	}
	r->acted = acted;
	r->port = port_changed;
	r->arg = a;
	a->rules = r;
	if (a->wired)
		without_packets = give(a);
	free(before);
	return without_packets;
}

void dev_faults_attached(struct dev_adapter *a)
{
	char *text = NULL;

	eng_dev_held(&a->dev);
	if (a->rules) {
		/* They came before the link. */
		if (a->wired)
			give(a);
		return;
	}
	ut_lock(&lock);
	take_env();
	if (rules)
		text = strdup(rules);
	atomic_store(&none, !rules);
	ut_unlock(&lock);
	if (text)
		put(a, text);
	free(text);
}

void dev_faults_end(struct dev_adapter *a)
{
	eng_dev_held(&a->dev);
	a->cm.rules = NULL;
	free(a->rules);
	a->rules = NULL;
}

/* --- requests --- */

void dev_faults_set(const char *text, FILE *out)
{
	struct link_rules *check = ut_zalloc(sizeof(*check));
	struct dev_adapter *a;
	unsigned without_packets = 0;
	char word[100];
	int n = 0;

	if (!check || link_rules_read(text, check, word, sizeof(word)) < 0) {
		fprintf(out, "error: the word \"%s\" is none of a rule\n", check ? word : "");
		free(check);
		return;
	}
	free(check);
	ut_lock(&lock);
	free(rules);
	rules = strdup(text);
	read_env = true;
	atomic_store(&none, false);
	ut_unlock(&lock);
	ut_list_each(a, &dev_process_adapters, node) {
		ut_lock(&a->dev.lock);
		if (a->wired && a->dev.qpn_mask) {
			without_packets += put(a, text);
			n++;
		}
		eng_dev_unlock(&a->dev);
	}
	fprintf(out, "ok\n%d adapters\n", n);
	fprintf(out, "%u without packets\n", without_packets);
}

void dev_faults_show(FILE *out)
{
	struct dev_adapter *a;

	fprintf(out, "ok\n");
	ut_list_each(a, &dev_process_adapters, node) {
		ut_lock(&a->dev.lock);
		for (unsigned i = 0; a->rules && i < a->rules->n; i++)
			fprintf(out, "%s: %s: %" PRIu64 " of %" PRIu64 "\n", a->info.name, a->rules->rule[i].text,
				a->rules->rule[i].acted, a->rules->rule[i].seen);
		eng_dev_unlock(&a->dev);
	}
}

int dev_faults_call(struct eng_dev *dev, const char *function)
{
	struct link_event e = { .out = true, .op = LINK_OP_OTHER, .adapter = dev->name, .function = function, .now = ut_now() };
	struct dev_adapter *a = dev_adapter_of(dev);
	struct link_rule *r = NULL;

	if (atomic_load_explicit(&none, memory_order_relaxed))
		return 0;
	/* Also before the adapter has its link. */
	ut_lock(&dev->lock);
	dev_faults_attached(a);
	if (a->rules)
		r = link_rules_find(a->rules, 1u << LINK_ACT_FAIL, &e);
	eng_dev_unlock(dev);
	return r ? -(int)r->value : 0;
}
