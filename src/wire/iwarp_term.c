/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/iwarp_term.h"

static size_t ddp_len(const uint8_t *ddp)
{
	return wire_get_DDPTagged_tagged(ddp) ? WIRE_DDPTagged_LEN : WIRE_DDPUntagged_LEN;
}

size_t wire_term_build(uint8_t to[WIRE_TERM_MAX], const struct wire_term *t)
{
	size_t n = WIRE_Terminate_LEN;

	memset(to, 0, WIRE_Terminate_LEN);
	wire_set_Terminate_layer(to, t->layer);
	wire_set_Terminate_etype(to, t->etype);
	wire_set_Terminate_code(to, t->code);
	if (t->ddp) {
		wire_set_Terminate_m(to, 1);
		wire_set_Terminate_d(to, 1);
		memcpy(to + n, t->ddp, ddp_len(t->ddp));
		n += ddp_len(t->ddp);
	}
	if (t->ddp && t->read) {
		wire_set_Terminate_r(to, 1);
		memcpy(to + n, t->read, WIRE_ReadRequest_LEN);
		n += WIRE_ReadRequest_LEN;
	}
	return n;
}

/*
 * Without flag bits 0x02 and 0x20 occur in both orders. Codes 05..07 are MPA's while a connection is
 * set up and RDMAP's afterwards; 01..04 exist at MPA only, 08 and up at RDMAP only.
 */
static bool swapped(const uint8_t *p, bool setup)
{
	uint8_t kinds = p[0], code = p[1];

	if (p[2] & 0xe0)
		return false;
	if (p[2] & 0x07)
		return true;
	switch (kinds) {
	case 0x20:
		return code >= 8 || (!setup && (code == 5 || code == 6));
	case 0x02:
		return code < 5 || (setup && code <= 7);
	case 0x21: /* MPA has one type only */
		return true;
	default:
		return false;
	}
}

static bool take(const uint8_t **p, size_t *len, size_t n, const uint8_t **ret)
{
	if (*len < n)
		return false;
	*ret = *p;
	*p += n;
	*len -= n;
	return true;
}

bool wire_term_parse(struct wire_term *ret, const uint8_t *p, size_t len, bool setup)
{
	struct wire_term t = { 0 };
	uint8_t flags;
	const uint8_t *skip;

	if (len < WIRE_Terminate_LEN)
		return false;
	t.swapped = swapped(p, setup);
	t.layer = t.swapped ? p[0] & 15 : p[0] >> 4;
	t.etype = t.swapped ? p[0] >> 4 : p[0] & 15;
	t.code = p[1];
	/* As bits M 1, D 2, R 4. */
	flags = t.swapped ? p[2] & 7
			  : (uint8_t)(p[2] >> 7 | (p[2] >> 6 & 1) << 1 | (p[2] >> 5 & 1) << 2);
	p += WIRE_Terminate_LEN;
	len -= WIRE_Terminate_LEN;
	if (flags & 2) {
		if (len < 3 || !take(&p, &len, p[2] & 0x80 ? WIRE_DDPTagged_LEN
							   : WIRE_DDPUntagged_LEN, &t.ddp))
			return false;
	} else if ((flags & 1) && !take(&p, &len, 2, &skip)) {
		return false;
	}
	if ((flags & 4) && !take(&p, &len, WIRE_ReadRequest_LEN, &t.read))
		return false;
	*ret = t;
	return true;
}
