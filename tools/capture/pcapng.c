/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pcapng.h"

#include <errno.h>
#include <string.h>

/* Section numbers of the draft. */
enum { SECTION = 0x0a0d0d0a, INTERFACE = 1, STATISTICS = 5, PACKET = 6 };          /* 4.1, 4.2, 4.5, 4.3 */
enum { OPT_END = 0, OPT_COMMENT = 1, SHB_APPLICATION = 4, IF_NAME = 2, IF_DESCRIPTION = 3, IF_RESOLUTION = 9,
       EPB_FLAGS = 2, ISB_RECEIVED = 4, ISB_DROPPED = 5 };                         /* 3.5, 4.1 .. 4.5 */
#define MAGIC 0x1a2b3c4du
#define NANOSECONDS 9
#define ERF_BYTES 16u
#define ERF_INFINIBAND 21 /* type */
#define ERF_VARYING 4     /* flag: records have their own length */
#define INBOUND 1u
#define OUTBOUND 2u

#define BLOCK_OPTIONS 2048 /* of all options of a block */
#define FIXED_MOST 64

/* Options of a block, and their bytes. */
struct options {
	uint8_t bytes[BLOCK_OPTIONS];
	uint32_t n;
};

/* The room stays as it is: most of it is not used. */
static void no_options(struct options *o)
{
	o->n = 0;
}

static void option(struct options *o, uint16_t code, const void *value, size_t len)
{
	uint16_t head[2] = { code, (uint16_t)len };
	size_t padded = (len + 3) & ~(size_t)3;

	if (o->n + 4 + padded + 4 > sizeof(o->bytes))
		return;
	memcpy(o->bytes + o->n, head, 4);
	memset(o->bytes + o->n + 4, 0, padded);
	memcpy(o->bytes + o->n + 4, value, len);
	o->n += 4 + (uint32_t)padded;
}

static void option_text(struct options *o, uint16_t code, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len)
		option(o, code, text, len < 1500 ? len : 1500);
}

static void end_options(struct options *o)
{
	memset(o->bytes + o->n, 0, 4);
	o->n += o->n ? 4 : 0;
}

static void put(struct pcapng *p, const void *data, size_t n)
{
	if (!p->error && n && fwrite_unlocked(data, 1, n, p->file) != n)
		p->error = errno ? errno : EIO;
}

static uint8_t *add(uint8_t *at, const void *data, size_t n)
{
	memcpy(at, data, n);
	return at + n;
}

/* A block of a fixed part, data that are padded, and options. */
static void block(struct pcapng *p, uint32_t type, const void *fixed, uint32_t n_fixed, const void *data, uint32_t n,
		  struct options *o)
{
	uint32_t padded = (n + 3) & ~3u, total, zero = 0;
	uint8_t head[8 + FIXED_MOST], tail[3 + BLOCK_OPTIONS + 4], *at = head, *end = tail;

	end_options(o);
	total = 12 + n_fixed + padded + o->n;
	at = add(at, &type, 4);
	at = add(at, &total, 4);
	at = add(at, fixed, n_fixed);
	put(p, head, (size_t)(at - head));
	put(p, data, n);
	end = add(end, &zero, padded - n);
	end = add(end, o->bytes, o->n);
	end = add(end, &total, 4);
	put(p, tail, (size_t)(end - tail));
}

void pcapng_begin(struct pcapng *p, FILE *file, const char *application)
{
	struct {
		uint32_t magic;
		uint16_t major, minor;
		int64_t length;
	} s = { MAGIC, 1, 0, -1 };
	struct options o;

	no_options(&o);
	*p = (struct pcapng){ .file = file };
	option_text(&o, SHB_APPLICATION, application);
	block(p, SECTION, &s, sizeof(s), NULL, 0, &o);
}

uint32_t pcapng_interface(struct pcapng *p, enum pcapng_link link, const char *name, const char *description)
{
	struct {
		uint16_t linktype, reserved;
		uint32_t snaplen;
	} s = { (uint16_t)link, 0, 0 };
	uint8_t resolution = NANOSECONDS;
	struct options o;

	no_options(&o);
	option_text(&o, IF_NAME, name);
	option_text(&o, IF_DESCRIPTION, description);
	option(&o, IF_RESOLUTION, &resolution, 1);
	block(p, INTERFACE, &s, sizeof(s), NULL, 0, &o);
	return p->interfaces++;
}

/* The header of ERF (www.endace.com/erf-extensible-record-format-types): little-endian time, big-endian lengths. */
static void put_erf(uint8_t at[ERF_BYTES], uint64_t time, uint32_t have, uint32_t len)
{
	uint64_t stamp = time / 1000000000u << 32 | (time % 1000000000u << 32) / 1000000000u;

	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t)(stamp >> (8 * i));
	at[8] = ERF_INFINIBAND;
	at[9] = ERF_VARYING;
	at[10] = (uint8_t)((have + ERF_BYTES) >> 8);
	at[11] = (uint8_t)(have + ERF_BYTES);
	at[12] = at[13] = 0;
	at[14] = (uint8_t)(len >> 8);
	at[15] = (uint8_t)len;
}

void pcapng_packet(struct pcapng *p, uint32_t interface, enum pcapng_link link, uint64_t time, bool out, const uint8_t *data, uint32_t have,
		   uint32_t len, const char *comment)
{
	uint32_t more = link == PCAPNG_ERF ? ERF_BYTES : 0;
	struct {
		uint32_t s[5];
		uint8_t erf[ERF_BYTES];
	} fixed = { { interface, (uint32_t)(time >> 32), (uint32_t)time, have + more, len + more }, { 0 } };
	uint32_t flags = out ? OUTBOUND : INBOUND;
	struct options o;

	no_options(&o);
	option(&o, EPB_FLAGS, &flags, sizeof(flags));
	option_text(&o, OPT_COMMENT, comment);
	if (more)
		put_erf(fixed.erf, time, have, len);
	block(p, PACKET, &fixed, sizeof(fixed.s) + more, data, have, &o);
}

void pcapng_statistics(struct pcapng *p, uint32_t interface, uint64_t time, uint64_t received, uint64_t lost)
{
	uint32_t s[3] = { interface, (uint32_t)(time >> 32), (uint32_t)time };
	struct options o;

	no_options(&o);
	option(&o, ISB_RECEIVED, &received, sizeof(received));
	option(&o, ISB_DROPPED, &lost, sizeof(lost));
	block(p, STATISTICS, s, sizeof(s), NULL, 0, &o);
}

void pcapng_flush(struct pcapng *p)
{
	if (!p->error && fflush(p->file) != 0)
		p->error = errno;
}
