/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What of an NFS message may move in chunks, and the form of replies with them. */
#include "ulp/rpcrdma/nfs.h"
#include "ulp/rpcrdma/reply.h"
#include "ulp/rpcrdma/rpc.h"
#include "wire/field.h"

#include "support/cases.h"
#include "support/check.h"

static uint8_t msg[4096];
static size_t len;
static struct rpr_nfs_call call;
static struct rpr_items items;

static void u(uint32_t v)
{
	wire_put32(msg + len, v);
	len += 4;
}

static void words(unsigned n)
{
	while (n--)
		u(0xabcdef00 + n);
}

static void opaque(uint32_t n)
{
	u(n);
	for (uint32_t i = 0; i < (n + 3) / 4 * 4; i++)
		msg[len++] = i < n ? (uint8_t)(0x40 + i) : 0;
}

static void begin_call(uint32_t version, uint32_t procedure)
{
	len = 0;
	u(77), u(0), u(2), u(100003), u(version), u(procedure);
	u(1), opaque(24); /* AUTH_SYS */
	u(0), u(0);
}

static void begin_reply(void)
{
	len = 0;
	u(77), u(1), u(0), u(0), u(0), u(0);
}

static void look(void)
{
	rpr_nfs_call(&call, msg, len);
}

static void compound(uint32_t nr)
{
	begin_call(4, 1);
	opaque(5), u(1), u(nr);
}

static void sequence(void)
{
	u(53), words(4 + 4);
}

static void putfh(void)
{
	u(22), opaque(27);
}

static void v3(void)
{
	size_t at;

	begin_call(3, 7); /* WRITE */
	opaque(32), words(2), u(10), u(2);
	at = len + 4;
	opaque(10);
	look();
	CHECK(call.args.nr == 1 && call.args.item[0].at == at && call.args.item[0].len == 10 && call.small_reply);
	begin_call(3, 6); /* READ */
	opaque(32), words(2), u(65536);
	look();
	CHECK(!call.args.nr && call.nr_reads == 1 && call.read_max[0] == 65536 && !call.small_reply);
	begin_reply();
	u(0), u(1), words(21), u(7), u(1);
	at = len + 4;
	opaque(7);
	rpr_nfs_reply(&call.nfs, msg, len, &items);
	CHECK(items.nr == 1 && items.item[0].at == at && items.item[0].len == 7);
	begin_reply();
	u(70), u(0); /* stale, no attributes */
	rpr_nfs_reply(&call.nfs, msg, len, &items);
	CHECK(!items.nr);
	begin_call(3, 10); /* SYMLINK */
	opaque(32), opaque(3), u(1), u(0777), u(0), u(0), u(1), words(2), u(2), words(2), u(1);
	at = len + 4;
	opaque(9);
	look();
	CHECK(call.args.nr == 1 && call.args.item[0].at == at);
	begin_call(3, 1); /* GETATTR */
	opaque(32);
	look();
	CHECK(!call.args.nr && call.small_reply && !call.nfs.results);
	begin_call(3, 17); /* READDIRPLUS */
	opaque(32), words(6);
	look();
	CHECK(!call.small_reply);
}

/* SEQUENCE, PUTFH, OPEN, SETATTR, WRITE, READ, GETATTR. */
static void v4_call(void)
{
	size_t at;

	compound(7);
	sequence();
	putfh();
	u(18), words(3), words(2), opaque(12), u(1), u(3), words(2), u(2), words(2), opaque(20), u(0), opaque(8);
	u(34), words(4), u(1), u(2), opaque(4);
	u(38), words(4 + 2), u(2);
	at = len + 4;
	opaque(13);
	u(25), words(4 + 2), u(5000);
	u(9), u(2), words(2);
	look();
	CHECK(call.args.nr == 1 && call.args.item[0].at == at && call.args.item[0].len == 13);
	CHECK(call.nr_reads == 1 && call.read_max[0] == 5000 && call.nfs.compound);
	for (size_t n = len - 1; n > len - 40; n -= 4) {
		rpr_nfs_call(&call, msg, n);
		CHECK(!call.args.nr && !call.nfs.compound);
	}
	compound(2);
	sequence();
	u(27); /* READLINK: of unknown length */
	look();
	CHECK(call.nr_reads == 1 && !call.read_max[0]);
}

/* SEQUENCE, OPEN with a delegation, READ, READ, GETATTR. Returns where the data of the reads is. */
static void v4_reply(size_t at[2], uint32_t first, bool without)
{
	begin_reply();
	u(0), opaque(0), u(5);
	u(53), u(0), words(4 + 5);
	u(18), u(0), words(4 + 5), u(6), u(2), words(2);
	u(2), words(4), u(0), u(1), words(2), words(3), opaque(6); /* OPEN_DELEGATE_WRITE */
	u(25), u(0), u(0);
	at[0] = len + 4;
	if (without)
		u(first);
	else
		opaque(first);
	u(25), u(0), u(1);
	at[1] = len + 4;
	opaque(3);
	u(9), u(0), u(1), u(0x18), opaque(16);
}

static void v4_results(void)
{
	static const struct rpr_nfs nfs = { .compound = true };
	uint32_t used = 50;
	size_t at[2];

	v4_reply(at, 50, false);
	rpr_nfs_reply(&nfs, msg, len, &items);
	CHECK(items.nr == 2 && items.item[0].at == at[0] && items.item[0].len == 50);
	CHECK(items.item[1].at == at[1] && items.item[1].len == 3);
	v4_reply(at, 50, true);
	CHECK(rpr_nfs_reduced(&nfs, msg, len, &used, 1, &items));
	CHECK(items.item[0].at == at[0] && items.item[0].len == 50 && items.item[1].at == at[1]);
	used = 49;
	CHECK(!rpr_nfs_reduced(&nfs, msg, len, &used, 1, &items));
	/* An error of SETATTR has results, one of LOCK has more than others. */
	begin_reply();
	u(1), opaque(0), u(2), u(34), u(13), u(1), u(0), u(12), u(10010), words(7), opaque(9);
	rpr_nfs_reply(&nfs, msg, len, &items);
	CHECK(!items.nr);
}

/* RPCSEC_GSS: with integrity or privacy nothing may move. */
static void wrapped(void)
{
	for (uint32_t service = 1; service <= 3; service++) {
		len = 0;
		u(77), u(0), u(2), u(100003), u(3), u(6);
		u(6), u(20), u(1), u(0), u(9), u(service), u(0);
		u(0), u(0);
		opaque(32), words(2), u(4096);
		look();
		CHECK(call.nr_reads == (service == 1));
	}
	begin_call(3, 6);
	wire_put32(msg + 12, 100005); /* MOUNT */
	look();
	CHECK(!call.nr_reads && !call.small_reply);
}

/* A server's reply: data into the chunk, the rest inline. */
static void form(void)
{
	static const struct rpr_nfs nfs = { .compound = true };
	static struct rpr_header h;
	static struct rpr_reply f;
	size_t at[2];
	uint32_t key;

	v4_reply(at, 50, false);
	rpr_header_init(&h, 77, 1, RPR_MSG);
	CHECK(!rpr_reply_key(&h, &key));
	CHECK(rpr_header_add_write(&h, (struct rpr_segment){ 5, 20, 0x1000 }, true));
	CHECK(rpr_header_add_write(&h, (struct rpr_segment){ 6, 100, 0x2000 }, false));
	CHECK(rpr_reply_key(&h, &key) && key == 5);
	CHECK(!rpr_reply_form(&f, &h, &nfs, msg, len, 32, 1024));
	CHECK(f.item[0].from == at[0] && f.item[0].len == 50 && h.segments[0].length == 20 && h.segments[1].length == 30);
	CHECK(f.nr_rest == 2 && f.rest[0].len == at[0] && f.rest[1].from == at[0] + 52 && !f.in_chunk);
	CHECK(f.rest_len == len - 52 && h.proc == RPR_MSG && h.credits == 32 && !h.has_reply);
	rpr_header_init(&h, 77, 1, RPR_MSG);
	CHECK(rpr_header_add_write(&h, (struct rpr_segment){ 5, 49, 0x1000 }, true));
	CHECK(rpr_reply_form(&f, &h, &nfs, msg, len, 32, 1024) == RPR_CHUNK_SHORT);
	/* Too long for a Send: the reply chunk, or an error without one. */
	rpr_header_init(&h, 77, 1, RPR_MSG);
	CHECK(rpr_reply_form(&f, &h, &nfs, msg, len, 32, 100) == RPR_REPLY_SHORT);
	CHECK(rpr_header_add_reply(&h, (struct rpr_segment){ 7, (uint32_t)len, 0x3000 }));
	CHECK(!rpr_reply_form(&f, &h, &nfs, msg, len, 32, 100) && f.in_chunk && h.proc == RPR_NOMSG);
	CHECK(rpr_chunk_len(&h, h.reply) == len);
	rpr_header_init(&h, 77, 1, RPR_MSG);
	CHECK(rpr_header_add_reply(&h, (struct rpr_segment){ 7, (uint32_t)len - 1, 0x3000 }));
	CHECK(rpr_reply_form(&f, &h, &nfs, msg, len, 32, 100) == RPR_REPLY_SHORT);
}

static void failed(void)
{
	uint8_t out[RPR_RPC_FAILED_LEN];

	rpr_rpc_failed(out, 0x01020304);
	CHECK(rpr_rpc_direction(out, sizeof(out)) == RPR_REPLY && rpr_rpc_xid(out) == 0x01020304);
	CHECK(!rpr_rpc_results(out, sizeof(out)) && out[23] == 5);
	begin_reply();
	CHECK(rpr_rpc_results(msg, len) == 24);
	CHECK(rpr_rpc_direction(msg, 7) == -1);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "RFC8267-3", "version 3", v3 },
		{ "RFC8267-4", "calls of version 4", v4_call },
		{ "RFC8267-4", "replies of version 4", v4_results },
		{ "RFC8166-6.1", "calls that are wrapped, and other programs", wrapped },
		{ "RFC8166-3.4.6", "the form of a reply", form },
		{ "RFC5531-9", "failed replies", failed },
	};

	return RUN_CASES(cases, argc, argv);
}
