/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a peer of RPC over RDMA, or a program behind it, may send: transport headers, calls and replies of NFS, records of TCP in
 * pieces of any length. The first byte says which, the second one of a header how long the message may be. A header that is read is written
 * the same; pieces of a call lie side by side in it; parts of a reply make up the whole of it; items lie inside.
 */
#include "support/check.h"
#include "ulp/rpcrdma/gateway/record.h"
#include "ulp/rpcrdma/layout.h"
#include "ulp/rpcrdma/nfs.h"
#include "ulp/rpcrdma/private.h"
#include "ulp/rpcrdma/reply.h"
#include "ulp/rpcrdma/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rpr_header h;
static struct rpr_layout l;
static struct rpr_reply f;
static struct rpr_nfs_call call;
static uint8_t out[1 << 16];
static uint8_t reply[600];

static void pieces(size_t inline_len, size_t max)
{
	uint32_t at = 0;
	unsigned reads = 0;

	for (unsigned i = 0; i < l.nr; i++) {
		const struct rpr_piece *p = &l.piece[i];

		CHECK(p->at == at && p->len && p->at + p->len > p->at);
		CHECK(p->kind != RPR_PIECE_INLINE || p->from + (uint64_t)p->len <= inline_len);
		CHECK(p->kind != RPR_PIECE_READ || p->remote + p->len >= p->remote);
		reads += p->kind == RPR_PIECE_READ;
		at += p->len;
	}
	CHECK(at == l.len && l.len <= max && reads == l.nr_reads);
}

static void parts(size_t len, const struct rpr_nfs *nfs)
{
	size_t sum = 0;
	uint64_t room = h.has_reply ? rpr_chunk_len(&h, h.reply) : 0;

	if (rpr_reply_form(&f, &h, nfs, reply, len, 7, 512))
		return;
	for (unsigned i = 0; i < f.nr_rest; i++) {
		CHECK(f.rest[i].from + f.rest[i].len <= len);
		sum += f.rest[i].len;
	}
	CHECK(sum == f.rest_len && (f.in_chunk ? sum <= room : sum + rpr_header_len(&h) <= 512));
	for (unsigned i = 0; i < f.nr_items; i++) {
		CHECK(f.item[i].from + f.item[i].len <= len && rpr_chunk_len(&h, h.writes[i]) == f.item[i].len);
		sum += (f.item[i].len + 3) & ~(size_t)3;
	}
	CHECK(sum == len);
}

static void header(const uint8_t *data, size_t size)
{
	static const struct rpr_nfs nfs = { .compound = true };
	struct rpr_private p;
	size_t len, max = data[0] * 4096u, written;
	uint32_t key;

	rpr_private_get(&p, data, size);
	CHECK(p.send_size >= 1024 && p.receive_size >= 1024 && p.send_size <= RPR_INLINE_MAX);
	data++;
	size--;
	if (rpr_header_get(&h, data, size, &len))
		return;
	CHECK(len <= size);
	written = rpr_header_put(&h, out, sizeof(out));
	CHECK(written == len && (h.proc == RPR_ERROR ? !memcmp(out, data, 16) : !memcmp(out, data, len)));
	if (h.proc == RPR_ERROR)
		return;
	if (!rpr_layout_call(&l, &h, size - len, max))
		pieces(size - len, max);
	rpr_reply_key(&h, &key);
	parts(size - len < sizeof(reply) ? size - len : sizeof(reply), &nfs);
}

static void inside(const struct rpr_items *items, size_t size)
{
	size_t at = 0;

	for (unsigned i = 0; i < items->nr; i++) {
		CHECK(items->item[i].at >= at + 4 && items->item[i].at + items->item[i].len <= size);
		at = items->item[i].at + items->item[i].len;
	}
}

static void nfs_reply(const uint8_t *data, size_t size)
{
	static const struct rpr_nfs kinds[] = { { .compound = true }, { "<0:?(f)uuD|*:>", false }, { NULL, false } };
	const struct rpr_nfs *nfs = &kinds[data[0] % 3];
	struct rpr_items items;
	uint32_t used = data[0] / 3;

	data++;
	size--;
	rpr_nfs_reply(nfs, data, size, &items);
	inside(&items, size);
	if (rpr_nfs_reduced(nfs, data, size, &used, 1, &items) && used)
		CHECK(items.nr && items.item[0].at <= size && items.item[0].len == used);
}

/* Each piece has its place in the mark or in the room of the longest record. */
static void records(const uint8_t *data, size_t size)
{
	static uint8_t room[300];
	size_t most = 1 + data[0] % 64, want, to;
	struct rpg_record r;
	bool in_mark;

	rpg_record_init(&r, sizeof(room));
	for (size_t at = 1; at < size; at += want) {
		want = rpg_record_want(&r, &in_mark, &to);
		CHECK(want && to + want <= (in_mark ? sizeof(r.mark) : sizeof(room)));
		if (want > most)
			want = most;
		if (want > size - at)
			want = size - at;
		memcpy((in_mark ? r.mark : room) + to, data + at, want);
		if (rpg_record_take(&r, want) < 0)
			return;
		CHECK(r.len <= sizeof(room));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	if (data[0] >= 240) {
		records(data + 1, size - 1);
		return 0;
	}
	switch (data[0] % 3) {
	case 0:
		header(data + 1, size - 1);
		break;
	case 1:
		rpr_nfs_call(&call, data + 1, size - 1);
		inside(&call.args, size - 1);
		CHECK(call.nr_reads <= RPR_ITEMS_MAX);
		break;
	default:
		nfs_reply(data + 1, size - 1);
	}
	return 0;
}
