/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/rules.h"

#include "wire/ib_opcode.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const acts[LINK_ACTS] = {
	"lose", "duplicate", "reorder", "delay", "corrupt", "rnr", "nak", "terminate", "die", "short", "fail", "port-down",
	"overrun", "slow", "window", "reject", "silence", "timewait",
};

static const char *const ops[LINK_OPS] = { "send", "write", "read", "atomic", "ack", "nak", "cm", "other" };

/* AETH syndromes (IBTA table 45). */
static const struct {
	const char *name;
	uint8_t syndrome;
} naks[] = { { "sequence", 0x60 }, { "request", 0x61 }, { "access", 0x62 }, { "operation", 0x63 } };

/* Reasons of a REJ (IBTA table 107). */
static const struct {
	const char *name;
	uint8_t reason;
} reasons[] = { { "consumer", 28 }, { "stale", 10 }, { "resources", 3 }, { "no-qp", 1 }, { "unsupported", 5 } };

static const struct {
	const char *name;
	int error;
} errors[] = { { "ENOMEM", ENOMEM }, { "EINVAL", EINVAL }, { "EAGAIN", EAGAIN }, { "EIO", EIO }, { "EPERM", EPERM },
	       { "ENOBUFS", ENOBUFS }, { "EBUSY", EBUSY }, { "ENODEV", ENODEV }, { "EFAULT", EFAULT },
	       { "ECONNREFUSED", ECONNREFUSED }, { "ETIMEDOUT", ETIMEDOUT }, { "EADDRINUSE", EADDRINUSE },
	       { "EMFILE", EMFILE }, { "EOPNOTSUPP", EOPNOTSUPP } };

static bool number(const char *text, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end;
}

static bool duration(const char *text, uint64_t *ret)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || v < 0 || v > 1e6)
		return false;
	if (!strcmp(end, "us"))
		v *= 1e3;
	else if (!strcmp(end, "ms"))
		v *= 1e6;
	else if (!strcmp(end, "s"))
		v *= 1e9;
	else
		return false;
	*ret = (uint64_t)v;
	return true;
}

static bool chance(const char *text, uint32_t *ret)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || v <= 0 || v > 1)
		return false;
	*ret = v * 4294967296.0 > 4294967295.0 ? UINT32_MAX : (uint32_t)(v * 4294967296.0);
	*ret += *ret == 0;
	return true;
}

static bool read_ops(char *text, uint32_t *ret)
{
	char *save = NULL;

	for (char *w = strtok_r(text, "|", &save); w; w = strtok_r(NULL, "|", &save)) {
		int i = 0;

		while (i < LINK_OPS && strcmp(ops[i], w))
			i++;
		if (i == LINK_OPS)
			return false;
		*ret |= 1u << i;
	}
	return *ret;
}

static bool address(const char *text, uint8_t ret[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(ret, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, ret + 12) == 1 || inet_pton(AF_INET6, text, ret) == 1;
}

static bool read_fail(char *text, struct link_rule *r)
{
	char *colon = strchr(text, ':');

	if (!colon || (size_t)(colon - text) >= sizeof(r->function))
		return false;
	*colon = 0;
	strcpy(r->function, text);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(errors[i].name, colon + 1)) {
			r->value = (uint64_t)errors[i].error;
			return *text;
		}
	return false;
}

static bool read_corrupt(char *text, struct link_rule *r)
{
	char *colon = strchr(text, ':');
	uint64_t at, bits;

	if (!colon)
		return false;
	*colon = 0;
	if (!number(text, &at) || !number(colon + 1, &bits) || at > 65535 || !bits || bits > 255)
		return false;
	r->chosen_bits = true;
	r->value = at << 8 | bits;
	return true;
}

static bool read_nak(const char *text, struct link_rule *r)
{
	for (size_t i = 0; i < sizeof(naks) / sizeof(naks[0]); i++)
		if (!strcmp(naks[i].name, text)) {
			r->value = naks[i].syndrome;
			return true;
		}
	return false;
}

static bool read_reject(const char *text, struct link_rule *r)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!text || !strcmp(reasons[i].name, text)) {
			r->value = reasons[i].reason;
			return true;
		}
	return false;
}

static bool read_act(char *word, struct link_rule *r)
{
	char *v = strchr(word, '=');
	int i = 0;

	if (v)
		*v++ = 0;
	while (i < LINK_ACTS && strcmp(acts[i], word))
		i++;
	if (i == LINK_ACTS)
		return false;
	r->act = (enum link_act)i;
	switch (r->act) {
	case LINK_ACT_DELAY:
	case LINK_ACT_PORT_DOWN:
	case LINK_ACT_SLOW:
	case LINK_ACT_TIMEWAIT: return v && duration(v, &r->value) && r->value;
	case LINK_ACT_REJECT: return read_reject(v, r);
	case LINK_ACT_CORRUPT: return !v || read_corrupt(v, r);
	case LINK_ACT_NAK: return v && read_nak(v, r);
	case LINK_ACT_WINDOW:
	case LINK_ACT_SHORT: return v && number(v, &r->value) && r->value;
	case LINK_ACT_FAIL: return v && read_fail(v, r);
	default: return !v;
	}
}

static bool read_term(char *word, struct link_rule *r)
{
	char *v = strchr(word, '=');
	uint64_t n;

	if (!v) {
		r->out = !strcmp(word, "out");
		return r->out || !strcmp(word, "in");
	}
	*v++ = 0;
	if (!strcmp(word, "op"))
		return read_ops(v, &r->ops);
	if (!strcmp(word, "p"))
		return chance(v, &r->chance);
	if (!strcmp(word, "after"))
		return duration(v, &r->after);
	if (!strcmp(word, "until"))
		return duration(v, &r->until);
	if (!strcmp(word, "peer"))
		return r->has_peer = address(v, r->peer);
	if (!strcmp(word, "adapter"))
		return *v && (size_t)snprintf(r->adapter, sizeof(r->adapter), "%s", v) < sizeof(r->adapter);
	if (!number(v, &n))
		return false;
	if (!strcmp(word, "seed")) {
		r->rng.state = n;
		return true;
	}
	if (!strcmp(word, "qp")) {
		r->qp = (uint32_t)n;
		return r->has_qp = n < 1u << 24;
	}
	if (!n)
		return false;
	if (!strcmp(word, "nth"))
		r->nth = n;
	else if (!strcmp(word, "first"))
		r->first = n;
	else if (!strcmp(word, "every"))
		r->every = n;
	else
		return false;
	return true;
}

static int read_rule(const char *line, struct link_rules *ret, char *why, size_t size)
{
	char copy[LINK_RULE_TEXT], given[LINK_RULE_TEXT], *save = NULL, *word;
	struct link_rule *r = &ret->rule[ret->n];
	bool first = true;

	if (strlen(line) >= sizeof(copy)) {
		snprintf(why, size, "%.40s...", line);
		return -EINVAL;
	}
	strcpy(copy, line);
	copy[strcspn(copy, "#")] = 0;
	*r = (struct link_rule){ .out = -1, .rng = { .state = ret->n + 1 } };
	snprintf(r->text, sizeof(r->text), "%s", copy);
	for (word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		snprintf(given, sizeof(given), "%s", word);
		if (!(first ? read_act(word, r) : read_term(word, r)) || ret->n >= LINK_RULES_MAX - 1) {
			snprintf(why, size, "%s", given);
			return -EINVAL;
		}
		first = false;
	}
	if (first)
		return 0;
	ret->acts |= 1u << r->act;
	ret->n++;
	return 0;
}

static void nothing(const struct link_rule *r, const struct link_event *e)
{
}

static void no_port(void *arg, bool up)
{
}

int link_rules_read(const char *text, struct link_rules *ret, char *why, size_t size)
{
	char *copy = strdup(text), *save = NULL;
	int r = copy ? 0 : -ENOMEM;

	*ret = (struct link_rules){ .acted = nothing, .port = no_port };
	for (char *line = copy ? strtok_r(copy, ";\n", &save) : NULL; line && r == 0; line = strtok_r(NULL, ";\n", &save)) {
		line += strspn(line, " \t");
		r = read_rule(line, ret, why, size);
	}
	free(copy);
	return r;
}

enum link_op link_rules_op(const uint8_t *packet, size_t len)
{
	uint16_t f;

	if (len < WIRE_BTH_LEN)
		return LINK_OP_OTHER;
	if (wire_get_BTH_dest_qpn(packet) == 1)
		return LINK_OP_CM;
	f = wire_ib_shape(packet[0])->flags;
	if (f & WIRE_F_SEND)
		return LINK_OP_SEND;
	if (f & WIRE_F_WRITE)
		return LINK_OP_WRITE;
	if (f & WIRE_F_READ)
		return LINK_OP_READ;
	if (f & WIRE_F_ATOMIC)
		return LINK_OP_ATOMIC;
	if (!(f & WIRE_F_ACK) || len < WIRE_BTH_LEN + WIRE_AETH_LEN)
		return LINK_OP_OTHER;
	return wire_get_AETH_syndrome(packet + WIRE_BTH_LEN) >> 5 ? LINK_OP_NAK : LINK_OP_ACK;
}

static bool holds(const struct link_rule *r, const struct link_event *e, uint64_t begun)
{
	uint64_t age = e->now > begun ? e->now - begun : 0;

	return (r->out < 0 || r->out == e->out) && (!r->ops || r->ops & 1u << e->op) &&
	       (!r->has_qp || r->qp == e->qpns[0] || r->qp == e->qpns[1]) &&
	       (!r->has_peer || (e->peer && !memcmp(r->peer, e->peer, 16))) &&
	       (!*r->adapter || (e->adapter && strstr(e->adapter, r->adapter))) &&
	       (!*r->function || (e->function && !strcmp(r->function, e->function))) && age >= r->after && (!r->until || age <= r->until);
}

static bool counts(struct link_rule *r)
{
	uint64_t n = ++r->seen;

	return (!r->nth || n == r->nth) && (!r->first || n <= r->first) && (!r->every || n % r->every == 0) &&
	       (!r->chance || (uint32_t)(ut_rng_u64(&r->rng) >> 32) < r->chance);
}

struct link_rule *link_rules_find(struct link_rules *r, uint32_t set, const struct link_event *e)
{
	if (!(r->acts & set))
		return NULL;
	if (!r->begun)
		r->begun = e->now;
	for (unsigned i = 0; i < r->n; i++) {
		struct link_rule *rule = &r->rule[i];

		if (!(set & 1u << rule->act) || !holds(rule, e, r->begun) || !counts(rule))
			continue;
		rule->acted++;
		r->acted(rule, e);
		return rule;
	}
	return NULL;
}
