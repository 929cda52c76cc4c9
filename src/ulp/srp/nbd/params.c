/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/nbd/params.h"
#include "ulp/place.h"
#include "ulp/srp/program/id.h"

#include <netinet/in.h>
#include <string.h>

#define TIMEOUT_S 30
#define RECONNECT_S 60

void srp_params_init(struct srp_params *p)
{
	*p = (struct srp_params){ .disk = { .session = srp_conf_default, .timeout_ms = TIMEOUT_S * 1000,
					    .reconnect_ms = RECONNECT_S * 1000 } };
}

static const char *set_place(struct srp_params *p, const char *text)
{
	socklen_t len;
	const char *why = ulp_addr_read(&p->disk.to, &len, text, "0");

	if (!why && !((const struct sockaddr_in *)(const void *)&p->disk.to)->sin_port)
		why = "the port is missing, like 10.0.0.1:5555";
	p->has_to = !why;
	return why;
}

static const char *set_id(uint8_t id[16], const char *text)
{
	return srp_id_read(id, text) ? NULL : "it is no identifier of 32 hexadecimal digits";
}

/* The numbers, and where they go. */
static const struct number {
	const char *key;
	uint64_t min, max;
	const char *range;
} numbers[] = {
	{ "lun", 0, 16383, "it is no number from 0 to 16383" },
	{ "timeout", 1, 86400, "it is no number from 1 to 86400" },
	{ "reconnect", 0, 86400, "it is no number from 0 to 86400" },
	{ "depth", 1, 1024, "it is no number from 1 to 1024" },
};

static const char *set_number(struct srp_params *p, const char *key, const char *text)
{
	const struct number *k = numbers;
	uint64_t n;

	while (k < numbers + sizeof(numbers) / sizeof(numbers[0]) && strcmp(k->key, key))
		k++;
	if (k == numbers + sizeof(numbers) / sizeof(numbers[0]))
		return "there is no such parameter";
	if (!srp_size_read(&n, text) || n < k->min || n > k->max)
		return k->range;
	switch (k - numbers) {
	case 0: p->disk.lun = srp_lun_on_wire((unsigned)n); break;
	case 1: p->disk.timeout_ms = (int)n * 1000; break;
	case 2: p->disk.reconnect_ms = (int)n * 1000; break;
	default: p->disk.session.depth = (uint16_t)n; break;
	}
	return NULL;
}

const char *srp_params_set(struct srp_params *p, const char *key, const char *value)
{
	if (!strcmp(key, "to"))
		return set_place(p, value);
	if (!strcmp(key, "initiator"))
		return set_id(p->disk.session.initiator, value);
	if (strcmp(key, "target"))
		return set_number(p, key, value);
	p->has_target = true;
	return set_id(p->disk.session.target, value);
}

const char *srp_params_missing(const struct srp_params *p)
{
	return !p->has_to ? "to" : !p->has_target ? "target" : NULL;
}
