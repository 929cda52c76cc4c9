/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pcap.h"

#include <stdlib.h>
#include <string.h>

/* Section numbers of the draft. */
enum { SECTION = 0x0a0d0d0a, INTERFACE = 1, PACKET = 6 }; /* 4.1, 4.2, 4.3 */
#define MAGIC 0x1a2b3c4du
#define LINKTYPE_ETHERNET 1u
#define LINKTYPE_RAW 101u
#define OPT_RESOLUTION 9u /* 4.2: if_tsresol */
#define INTERFACES 1024
#define BLOCK_MAX (1u << 20)
#define ETHERNET_BYTES 14u

struct reader {
	FILE *f;
	unsigned n;
	struct {
		uint32_t link;
		double ns; /* of a unit of time */
	} interface[INTERFACES];
	uint8_t block[BLOCK_MAX];
};

static uint32_t word(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, 4);
	return v;
}

static uint16_t half(const uint8_t *at)
{
	uint16_t v;

	memcpy(&v, at, 2);
	return v;
}

/* A power of 10, or with the highest bit of 2, both negative. Default: microseconds. */
static double resolution(const uint8_t *options, uint32_t n)
{
	double ns = 1000;

	for (uint32_t at = 0; at + 4 <= n;) {
		uint16_t code = half(options + at), len = half(options + at + 2);

		if (code == OPT_RESOLUTION && len >= 1 && at + 5 <= n) {
			uint8_t v = options[at + 4];

			ns = 1e9;
			for (unsigned i = 0; i < (v & 0x7fu) && i < 64; i++)
				ns /= v & 0x80 ? 2 : 10;
		}
		at += 4 + ((len + 3u) & ~3u);
	}
	return ns;
}

static void take_interface(struct reader *r, uint32_t body)
{
	if (body < 8 || r->n == INTERFACES)
		return;
	r->interface[r->n].link = half(r->block);
	r->interface[r->n++].ns = resolution(r->block + 8, body - 8);
}

static void take_packet(struct reader *r, uint32_t body, void (*each)(const struct pcap_packet *p, void *arg), void *arg)
{
	struct pcap_packet p;
	uint32_t i, skip;

	if (body < 20)
		return;
	i = word(r->block);
	if (i >= r->n || (r->interface[i].link != LINKTYPE_RAW && r->interface[i].link != LINKTYPE_ETHERNET))
		return;
	p.time = (uint64_t)((double)((uint64_t)word(r->block + 4) << 32 | word(r->block + 8)) * r->interface[i].ns);
	if (r->interface[i].ns == 1.0)
		p.time = (uint64_t)word(r->block + 4) << 32 | word(r->block + 8);
	p.have = word(r->block + 12);
	p.len = word(r->block + 16);
	skip = r->interface[i].link == LINKTYPE_ETHERNET ? ETHERNET_BYTES : 0;
	if (p.have > body - 20 || p.have < skip || p.len < p.have)
		return;
	p.data = r->block + 20 + skip;
	p.have -= skip;
	p.len -= skip;
	if (p.have && (p.data[0] >> 4 == 4 || p.data[0] >> 4 == 6))
		each(&p, arg);
}

/* Returns the type of the block with its body in r->block, 0 at the end of the file, or -1. */
static int64_t next_block(struct reader *r, uint32_t *ret_body)
{
	uint8_t head[8], tail[4];
	uint32_t total;

	if (fread(head, 1, sizeof(head), r->f) != sizeof(head))
		return 0;
	total = word(head + 4);
	if (total < 12 || total % 4 || total - 12 > BLOCK_MAX)
		return -1;
	*ret_body = total - 12;
	if (fread(r->block, 1, *ret_body, r->f) != *ret_body || fread(tail, 1, 4, r->f) != 4)
		return 0; /* the capture was cut off here */
	return word(head);
}

int pcap_read(FILE *f, void (*each)(const struct pcap_packet *p, void *arg), void *arg, char why[100])
{
	struct reader *r = calloc(1, sizeof(*r));
	bool begun = false;
	int64_t type;
	uint32_t body = 0;

	if (!r)
		abort();
	r->f = f;
	while ((type = next_block(r, &body)) > 0) {
		if (type == SECTION) {
			if (body < 4 || word(r->block) != MAGIC)
				break;
			begun = true;
			r->n = 0;
		} else if (!begun) {
			break;
		} else if (type == INTERFACE) {
			take_interface(r, body);
		} else if (type == PACKET) {
			take_packet(r, body, each, arg);
		}
	}
	free(r);
	if (type == 0 && begun)
		return 0;
	snprintf(why, 100, begun ? "a block has an impossible length" : "it is no pcapng file of this machine's byte order");
	return -1;
}
