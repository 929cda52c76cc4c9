/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/header.h"
#include "ulp/rpcrdma/xdr.h"

const struct rpr_rule rpr_rules[RPR_NR_VERDICTS] = {
	[RPR_GOOD] = { 0, "no rule is broken" },
	[RPR_SHORT] = { 0, "a message has no transport header (RFC 8166, 4.2)" },
	[RPR_BAD_VERSION] = { RPR_ERR_VERS, "the version of a message is not 1 (RFC 8166, 4.2.2)" },
	[RPR_BAD_PROC] = { RPR_ERR_CHUNK, "the procedure of a message is none of RFC 8166, 4.2.4" },
	[RPR_CUT] = { RPR_ERR_CHUNK, "a transport header ends within a list (RFC 8166, 4.3)" },
	[RPR_BAD_WORD] = { RPR_ERR_CHUNK, "a list has a word that is neither 0 nor 1 (RFC 4506, 4.19)" },
	[RPR_MANY_READS] = { RPR_ERR_CHUNK, "a read list is longer than 128 segments" },
	[RPR_MANY_SEGMENTS] = { RPR_ERR_CHUNK, "chunks have more than 256 segments" },
	[RPR_MANY_WRITES] = { RPR_ERR_CHUNK, "a write list is longer than 16 chunks" },
	[RPR_BAD_SEGMENT] = { RPR_ERR_CHUNK, "a segment passes the end of the address space (RFC 8166, 3.4.3)" },
	[RPR_BAD_POSITION] = { RPR_ERR_CHUNK, "the position of a read chunk is not in the message (RFC 8166, 3.4.5)" },
	[RPR_BAD_ORDER] = { RPR_ERR_CHUNK, "the positions of a read list do not rise (RFC 8166, 3.4.5)" },
	[RPR_NO_BODY] = { RPR_ERR_CHUNK, "a call of procedure RDMA_NOMSG has no chunk at position zero (RFC 8166, 3.5.3)" },
	[RPR_TWO_BODIES] = { RPR_ERR_CHUNK, "a call of procedure RDMA_MSG has a chunk at position zero (RFC 8166, 3.5.3)" },
	[RPR_TOO_LONG] = { RPR_ERR_CHUNK, "a call is longer than the largest message" },
	[RPR_BAD_RPC] = { RPR_ERR_CHUNK, "the RPC message has no header (RFC 5531, 9)" },
	[RPR_OTHER_XID] = { RPR_ERR_CHUNK, "the xid of the RPC message differs from that of its transport header (RFC 8166, 4.2.1)" },
	[RPR_CREDITS] = { 0, "more calls are outstanding than credits are granted (RFC 8166, 3.3.1)" },
	[RPR_CHUNK_SHORT] = { RPR_ERR_CHUNK, "a write chunk is shorter than the data for it (RFC 8166, 3.4.6)" },
	[RPR_REPLY_SHORT] = { RPR_ERR_CHUNK, "a reply is longer than its reply chunk (RFC 8166, 3.5.3)" },
	[RPR_BAD_REPLY] = { 0, "a reply returns chunks that its call did not offer (RFC 8166, 4.4)" },
};

/* The word before an element of a list. */
static enum rpr_verdict more(struct rpr_xdr *x, bool *ret_more)
{
	uint32_t word = rpr_xdr_u32(x);

	*ret_more = word == 1;
	if (x->bad)
		return RPR_CUT;
	return word > 1 ? RPR_BAD_WORD : RPR_GOOD;
}

static enum rpr_verdict segment_check(const struct rpr_segment *s)
{
	return s->offset + s->length < s->offset ? RPR_BAD_SEGMENT : RPR_GOOD;
}

static enum rpr_verdict read_list(struct rpr_header *h, struct rpr_xdr *x)
{
	enum rpr_verdict v;
	struct rpr_read *r;
	const uint8_t *p;
	bool is_more;

	while (!(v = more(x, &is_more)) && is_more) {
		if (h->nr_reads == RPR_READS_MAX)
			return RPR_MANY_READS;
		p = rpr_xdr_skip(x, RPR_RpcRdmaRead_LEN);
		if (!p)
			return RPR_CUT;
		r = &h->reads[h->nr_reads];
		r->position = (uint32_t)wire_get_RpcRdmaRead_position(p);
		r->segment.handle = (uint32_t)wire_get_RpcRdmaRead_handle(p);
		r->segment.length = (uint32_t)wire_get_RpcRdmaRead_length(p);
		r->segment.offset = wire_get_RpcRdmaRead_offset(p);
		v = segment_check(&r->segment);
		if (!v && r->position % 4)
			v = RPR_BAD_POSITION;
		if (!v && h->nr_reads && r->position < r[-1].position)
			v = RPR_BAD_ORDER;
		if (v)
			return v;
		h->nr_reads++;
	}
	return v;
}

static enum rpr_verdict chunk(struct rpr_header *h, struct rpr_xdr *x, struct rpr_chunk *ret)
{
	uint32_t nr = rpr_xdr_u32(x);
	struct rpr_segment *s;
	enum rpr_verdict v;
	const uint8_t *p;

	if (x->bad)
		return RPR_CUT;
	if (nr > (uint32_t)(RPR_SEGMENTS_MAX - h->nr_segments))
		return RPR_MANY_SEGMENTS;
	*ret = (struct rpr_chunk){ h->nr_segments, (uint16_t)nr };
	while (nr--) {
		p = rpr_xdr_skip(x, RPR_RpcRdmaSegment_LEN);
		if (!p)
			return RPR_CUT;
		s = &h->segments[h->nr_segments++];
		s->handle = (uint32_t)wire_get_RpcRdmaSegment_handle(p);
		s->length = (uint32_t)wire_get_RpcRdmaSegment_length(p);
		s->offset = wire_get_RpcRdmaSegment_offset(p);
		v = segment_check(s);
		if (v)
			return v;
	}
	return RPR_GOOD;
}

static enum rpr_verdict write_list(struct rpr_header *h, struct rpr_xdr *x)
{
	enum rpr_verdict v;
	bool is_more;

	while (!(v = more(x, &is_more)) && is_more) {
		if (h->nr_writes == RPR_WRITES_MAX)
			return RPR_MANY_WRITES;
		v = chunk(h, x, &h->writes[h->nr_writes]);
		if (v)
			return v;
		h->nr_writes++;
	}
	return v;
}

static enum rpr_verdict lists(struct rpr_header *h, struct rpr_xdr *x)
{
	enum rpr_verdict v = read_list(h, x);

	if (!v)
		v = write_list(h, x);
	if (!v)
		v = more(x, &h->has_reply);
	if (!v && h->has_reply)
		v = chunk(h, x, &h->reply);
	return v;
}

static enum rpr_verdict error_body(struct rpr_header *h, struct rpr_xdr *x)
{
	h->error = rpr_xdr_u32(x);
	if (h->error == RPR_ERR_VERS) {
		h->low = rpr_xdr_u32(x);
		h->high = rpr_xdr_u32(x);
	}
	return x->bad ? RPR_CUT : RPR_GOOD;
}

enum rpr_verdict rpr_header_get(struct rpr_header *h, const void *data, size_t len, size_t *ret_len)
{
	struct rpr_xdr x = { .data = data, .len = len };
	const uint8_t *p = rpr_xdr_skip(&x, RPR_RpcRdma_LEN);
	enum rpr_verdict v;

	if (!p)
		return RPR_SHORT;
	rpr_header_init(h, (uint32_t)wire_get_RpcRdma_xid(p), (uint32_t)wire_get_RpcRdma_credit(p), RPR_MSG);
	h->vers = (uint32_t)wire_get_RpcRdma_vers(p);
	h->proc = (uint32_t)wire_get_RpcRdma_proc(p);
	if (h->vers != RPR_VERSION)
		return RPR_BAD_VERSION;
	if (h->proc == RPR_ERROR)
		v = error_body(h, &x);
	else if (h->proc == RPR_MSG || h->proc == RPR_NOMSG)
		v = lists(h, &x);
	else
		v = RPR_BAD_PROC;
	*ret_len = x.at;
	return v;
}

void rpr_header_init(struct rpr_header *h, uint32_t xid, uint32_t credits, enum rpr_proc proc)
{
	h->xid = xid;
	h->vers = RPR_VERSION;
	h->credits = credits;
	h->proc = proc;
	h->nr_reads = h->nr_writes = h->nr_segments = 0;
	h->has_reply = false;
	h->reply = (struct rpr_chunk){ 0 };
	h->error = h->low = h->high = 0;
}

static size_t chunk_size(struct rpr_chunk c)
{
	return 4 + (size_t)c.nr * RPR_RpcRdmaSegment_LEN;
}

size_t rpr_header_len(const struct rpr_header *h)
{
	size_t len = RPR_RpcRdma_LEN;

	if (h->proc == RPR_ERROR)
		return len + (h->error == RPR_ERR_VERS ? RPR_RpcRdmaVersions_LEN : 4);
	len += (size_t)h->nr_reads * (4 + RPR_RpcRdmaRead_LEN) + 4;
	for (unsigned i = 0; i < h->nr_writes; i++)
		len += 4 + chunk_size(h->writes[i]);
	len += 4 + 4;
	return h->has_reply ? len + chunk_size(h->reply) : len;
}

static uint8_t *put_word(uint8_t *p, uint32_t word)
{
	wire_put32(p, word);
	return p + 4;
}

static uint8_t *put_chunk(uint8_t *p, const struct rpr_header *h, struct rpr_chunk c)
{
	const struct rpr_segment *s = h->segments + c.first;

	p = put_word(p, c.nr);
	for (unsigned i = 0; i < c.nr; i++, s++, p += RPR_RpcRdmaSegment_LEN) {
		wire_set_RpcRdmaSegment_handle(p, s->handle);
		wire_set_RpcRdmaSegment_length(p, s->length);
		wire_set_RpcRdmaSegment_offset(p, s->offset);
	}
	return p;
}

static uint8_t *put_reads(uint8_t *p, const struct rpr_header *h)
{
	for (unsigned i = 0; i < h->nr_reads; i++, p += RPR_RpcRdmaRead_LEN) {
		const struct rpr_read *r = &h->reads[i];

		p = put_word(p, 1);
		wire_set_RpcRdmaRead_position(p, r->position);
		wire_set_RpcRdmaRead_handle(p, r->segment.handle);
		wire_set_RpcRdmaRead_length(p, r->segment.length);
		wire_set_RpcRdmaRead_offset(p, r->segment.offset);
	}
	return put_word(p, 0);
}

static void put_lists(uint8_t *p, const struct rpr_header *h)
{
	p = put_reads(p, h);
	for (unsigned i = 0; i < h->nr_writes; i++)
		p = put_chunk(put_word(p, 1), h, h->writes[i]);
	p = put_word(p, 0);
	p = put_word(p, h->has_reply);
	if (h->has_reply)
		put_chunk(p, h, h->reply);
}

static void put_error(uint8_t *p, const struct rpr_header *h)
{
	p = put_word(p, h->error);
	if (h->error == RPR_ERR_VERS)
		put_word(put_word(p, h->low), h->high);
}

size_t rpr_header_put(const struct rpr_header *h, void *out, size_t size)
{
	size_t len = rpr_header_len(h);
	uint8_t *p = out;

	if (len > size)
		return 0;
	wire_set_RpcRdma_xid(p, h->xid);
	wire_set_RpcRdma_vers(p, h->vers);
	wire_set_RpcRdma_credit(p, h->credits);
	wire_set_RpcRdma_proc(p, h->proc);
	if (h->proc == RPR_ERROR)
		put_error(p + RPR_RpcRdma_LEN, h);
	else
		put_lists(p + RPR_RpcRdma_LEN, h);
	return len;
}

uint64_t rpr_chunk_len(const struct rpr_header *h, struct rpr_chunk c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c.nr; i++)
		sum += h->segments[c.first + i].length;
	return sum;
}

static bool add_segment(struct rpr_header *h, struct rpr_segment s)
{
	if (h->nr_segments == RPR_SEGMENTS_MAX)
		return false;
	h->segments[h->nr_segments++] = s;
	return true;
}

bool rpr_header_add_reply(struct rpr_header *h, struct rpr_segment s)
{
	if (!h->has_reply)
		h->reply = (struct rpr_chunk){ h->nr_segments, 0 };
	if (!add_segment(h, s))
		return false;
	h->has_reply = true;
	h->reply.nr++;
	return true;
}

bool rpr_header_add_write(struct rpr_header *h, struct rpr_segment s, bool begins_chunk)
{
	if (begins_chunk && h->nr_writes == RPR_WRITES_MAX)
		return false;
	if (!add_segment(h, s))
		return false;
	if (begins_chunk)
		h->writes[h->nr_writes++] = (struct rpr_chunk){ (uint16_t)(h->nr_segments - 1), 0 };
	h->writes[h->nr_writes - 1].nr++;
	return true;
}

bool rpr_header_add_read(struct rpr_header *h, uint32_t position, struct rpr_segment s)
{
	if (h->nr_reads == RPR_READS_MAX)
		return false;
	h->reads[h->nr_reads++] = (struct rpr_read){ position, s };
	return true;
}

bool rpr_chunk_use(struct rpr_header *h, struct rpr_chunk c, uint64_t used)
{
	struct rpr_segment *s = h->segments + c.first;

	for (unsigned i = 0; i < c.nr; i++, s++) {
		if (used < s->length)
			s->length = (uint32_t)used;
		used -= s->length;
	}
	return used == 0;
}
