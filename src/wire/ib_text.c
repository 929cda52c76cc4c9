/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* No stdio: this file allocates nothing and may be built into the kernel. */
#include "wire/ib_text.h"

#include <string.h>

#include "wire/ib_link.h"
#include "wire/ib_packet.h"

struct text {
	char *at, *end;		/* end keeps room for the 0 */
};

static void put(struct text *t, const char *s)
{
	while (*s && t->at < t->end)
		*t->at++ = *s++;
}

static void put_number(struct text *t, uint64_t v, unsigned base)
{
	char digits[21], *p = digits + sizeof(digits) - 1;

	*p = 0;
	do
		*--p = "0123456789abcdef"[v % base];
	while (v /= base);
	put(t, p);
}

static void put_named(struct text *t, const char *name, uint64_t v, unsigned base)
{
	put(t, " ");
	put(t, name);
	put(t, base == 16 ? " 0x" : " ");
	put_number(t, v, base);
}

/* An array, as a GID: each byte in two digits. */
static void put_bytes(struct text *t, const struct wire_field *f, const uint8_t *header)
{
	put(t, " ");
	put(t, f->name);
	put(t, " 0x");
	for (unsigned i = 0; i < f->width / 8u; i++) {
		put_number(t, header[f->pos / 8 + i] >> 4, 16);
		put_number(t, header[f->pos / 8 + i] & 15, 16);
	}
}

/* Flags and counts in decimal and only when set; keys, numbers and addresses always, in hex. */
static void put_field(struct text *t, const struct wire_field *f, const uint8_t *header)
{
	uint64_t v;

	if (!strncmp(f->name, "rsv", 3))
		return;
	if (f->width > 64) {
		put_bytes(t, f, header);
		return;
	}
	v = wire_get_bits(header, f->pos, f->width);
	if (f->width >= 8)
		put_named(t, f->name, v, 16);
	else if (v)
		put_named(t, f->name, v, 10);
}

static void put_header(struct text *t, enum wire_hdr hdr, const uint8_t *header)
{
	const struct wire_header *h = &wire_headers[hdr];

	put(t, ", ");
	put(t, h->name);
	for (unsigned i = 0; i < h->nr; i++)
		put_field(t, &wire_fields[h->first + i], header);
}

static void put_transport(struct text *t, const uint8_t *buf, const struct wire_ib_packet *p)
{
	const unsigned hdrs = p->shape->hdrs | WIRE_H_BTH;

	for (int i = 0; i < WIRE_NR_HDRS; i++) {
		if (!(hdrs & 1u << i))
			continue;
		put_header(t, (enum wire_hdr)i, buf);
		buf += wire_headers[i].length;
	}
	put(t, ", payload");
	put_named(t, "length", p->payload_len, 10);
	put_named(t, "icrc", wire_get_icrc(p->icrc), 16);
}

static void put_drop(struct text *t, int drop, size_t len)
{
	put(t, "dropped: ");
	put(t, wire_drop_text(drop));
	put_named(t, "length", len, 10);
}

static size_t end(struct text *t, char *out)
{
	*t->at = 0;
	return (size_t)(t->at - out);
}

size_t wire_ib_text(char *out, size_t size, const uint8_t *buf, size_t len)
{
	struct text t = { out, out + size - !!size };
	struct wire_ib_packet p;
	int drop;

	if (!size)
		return 0;
	drop = wire_ib_parse(buf, len, &p);
	if (drop) {
		put_drop(&t, drop, len);
		if (len)
			put_named(&t, "opcode", buf[0], 16);
	} else {
		put(&t, p.shape->name);
		put_transport(&t, buf, &p);
	}
	return end(&t, out);
}

size_t wire_link_text(char *out, size_t size, const uint8_t *buf, size_t len)
{
	struct text t = { out, out + size - !!size };
	struct wire_link_packet l;
	struct wire_ib_packet p;
	int drop;

	if (!size)
		return 0;
	drop = wire_link_parse(buf, len, &l);
	if (!drop)
		drop = wire_ib_parse(l.ib, l.ib_len, &p);
	if (drop) {
		put_drop(&t, drop, len);
	} else {
		put(&t, p.shape->name);
		put_header(&t, WIRE_HDR_LRH, buf);
		if (l.lrh.lnh == WIRE_LNH_GLOBAL)
			put_header(&t, WIRE_HDR_GRH, buf + WIRE_LRH_LEN);
		put_transport(&t, l.ib, &p);
	}
	return end(&t, out);
}
