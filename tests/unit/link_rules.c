/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules of faults: what is a rule, and which one acts. */
#include "link/rules.h"

#include "support/check.h"

#include <errno.h>
#include <string.h>

#define MS 1000000ull

static struct link_rules rules;
static unsigned told;

static void acted(const struct link_rule *r, const struct link_event *e)
{
	told++;
}

static int read_text(const char *text, char word[100])
{
	int r = link_rules_read(text, &rules, word, 100);

	rules.acted = acted;
	return r;
}

static void test_texts(void)
{
	static const char *const good[] = {
		"", "# a comment", "lose", " lose in op=send|write nth=3 ; delay=5ms out\nrnr first=2", "corrupt=12:0x80 p=0.5 seed=3",
		"nak=access op=write peer=127.0.0.1 qp=0x12 adapter=roce after=1s until=1.5s", "fail=reg_mr:ENOMEM", "short=7",
		"port-down=300ms in nth=3; overrun op=send; slow=5ms; window=1; reject; reject=stale; silence first=2; timewait=2s",
	};
	static const struct {
		const char *text, *word;
	} bad[] = { { "loose", "loose" }, { "lose nth", "nth" }, { "lose nth=0", "nth=0" }, { "lose op=sent", "op=sent" },
		    { "delay", "delay" }, { "delay=5", "delay=5" }, { "nak=good", "nak=good" }, { "lose p=2", "p=2" },
		    { "lose peer=localhost", "peer=localhost" }, { "fail=reg_mr", "fail=reg_mr" }, { "rnr=1", "rnr=1" },
		    { "lose; lose x=1", "x=1" }, { "corrupt=1:256", "corrupt=1:256" }, { "short=0", "short=0" },
		    { "port-down", "port-down" }, { "port-down=0s", "port-down=0s" }, { "window=0", "window=0" }, { "window", "window" },
		    { "reject=me", "reject=me" }, { "silence=1", "silence=1" }, { "timewait", "timewait" }, { "overrun=1", "overrun=1" } };
	char word[100];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(read_text(good[i], word) == 0);
	CHECK(read_text(good[3], word) == 0 && rules.n == 3 && rules.rule[1].value == 5 * MS && rules.rule[0].nth == 3);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(read_text(bad[i].text, word) == -EINVAL);
		CHECK(strcmp(word, bad[i].word) == 0);
	}
}

static unsigned acts_of(const char *text, struct link_event e, unsigned n)
{
	char word[100];
	unsigned acts = 0;

	CHECK(read_text(text, word) == 0);
	for (unsigned i = 0; i < n; i++)
		acts += link_rules_find(&rules, LINK_ACTS_PACKET, &e) != NULL;
	return acts;
}

static void test_terms(void)
{
	static const uint8_t peer[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 };
	struct link_event e = { .out = true, .op = LINK_OP_WRITE, .qpns = { 5, 9 }, .peer = peer, .adapter = "dpl_roce_lo", .now = MS };

	CHECK(acts_of("lose", e, 10) == 10);
	CHECK(acts_of("lose out", e, 10) == 10 && acts_of("lose in", e, 10) == 0);
	CHECK(acts_of("lose op=write|send", e, 10) == 10 && acts_of("lose op=send", e, 10) == 0);
	CHECK(acts_of("lose qp=9", e, 10) == 10 && acts_of("lose qp=8", e, 10) == 0);
	CHECK(acts_of("lose peer=10.0.0.1", e, 10) == 10 && acts_of("lose peer=10.0.0.2", e, 10) == 0);
	CHECK(acts_of("lose adapter=roce", e, 10) == 10 && acts_of("lose adapter=iw", e, 10) == 0);
	CHECK(acts_of("lose nth=3", e, 10) == 1 && rules.rule[0].acted == 1 && rules.rule[0].seen == 10);
	CHECK(acts_of("lose first=4", e, 10) == 4 && acts_of("lose every=3", e, 10) == 3);
	CHECK(acts_of("rnr", e, 10) == 0); /* no act on packets */
	/* The first rule that acts is the only one that does. */
	CHECK(acts_of("lose nth=1; delay=1ms", e, 3) == 3 && rules.rule[0].acted == 1 && rules.rule[1].acted == 2);
}

static void test_time(void)
{
	struct link_event e = { .now = 10 * MS };
	char word[100];

	CHECK(read_text("lose after=5ms until=8ms", word) == 0);
	for (int i = 0; i <= 12; i++, e.now += MS)
		CHECK(!!link_rules_find(&rules, LINK_ACTS_PACKET, &e) == (i >= 5 && i <= 8));
}

/* The same seed makes the same choices, another one others; the number is near the chance. */
static void test_chance(void)
{
	struct link_event e = { .now = 1 };
	uint64_t seen[3] = { 0 };
	char word[100];

	for (int k = 0; k < 3; k++) {
		unsigned n = 0;

		CHECK(read_text(k == 2 ? "lose p=0.25 seed=8" : "lose p=0.25 seed=7", word) == 0);
		for (int i = 0; i < 4000; i++) {
			bool acts = link_rules_find(&rules, LINK_ACTS_PACKET, &e);

			n += acts;
			seen[k] = seen[k] * 3 + acts;
		}
		CHECK(n > 850 && n < 1150);
	}
	CHECK(seen[0] == seen[1] && seen[0] != seen[2]);
}

int main(void)
{
	test_texts();
	test_terms();
	test_time();
	test_chance();
	CHECK(told);
	return 0;
}
