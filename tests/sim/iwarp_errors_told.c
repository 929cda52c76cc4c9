/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Errors that the peer's Terminate or the own host reports: the request that each ends, and its
 * status. And the numbers that must be kept so that there are none.
 */
#include "engine/post.h"
#include "engine/why.h"
#include "iwarp_peer.h"

#include <sys/mman.h>

/* A Terminate names a read by its sink tag, else by its number. */
static void terminate_names(void)
{
	static const struct {
		const char *bits; /* layer, type, code, flags */
		bool read_header;
		enum ibv_wc_status want;
	} rows[] = {
		{ "0100 e000", true, IBV_WC_REM_ACCESS_ERR },
		{ "0102 e000", true, IBV_WC_REM_ACCESS_ERR },
		{ "0206 c000", false, IBV_WC_REM_INV_REQ_ERR },
		{ "0207 c000", false, IBV_WC_REM_OP_ERR },
		{ "1203 c000", false, IBV_WC_REM_OP_ERR },
		{ "1007 0700", true, IBV_WC_REM_ACCESS_ERR }, /* as siw writes it */
	};
	struct iw_options o = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int which = 0; which < 3; which++) {
			bool siw = rows[i].bits[0] == '1' && rows[i].bits[5] == '0';
			uint32_t stag[3];
			char hex[400], why[500];
			int n;

			begin(&o);
			for (int k = 0; k < 3; k++)
				stag[k] = start_read((uint64_t)k + 1);
			n = sprintf(hex, "4147 00000000 00000002 00000001 00000000 %s 002e 4141"
				    "00000000 00000001 %08x 00000000", rows[i].bits,
				    siw ? 8 : which + 1);
			if (rows[i].read_header)
				sprintf(hex + n, "%08x 0000000000000000 00000008 00000100"
					"0000000000001000", stag[which]);
			iw_put(peer, hex);
			for (int k = 0; k < 3; k++)
				iw_wc(&a, a.scq, (uint64_t)k + 1,
				      k == which ? rows[i].want : IBV_WC_WR_FLUSH_ERR);
			iw_event(a.h, FATAL);
			iw_got_hex(peer, "");
			iw_ended(&a, ECONNABORTED);
			CHECK(eng_why_last(&a.h->dev, 0, why, sizeof(why)) == 0);
			CHECK_MSG(!strncmp(why, "the peer answered: ", 19) &&
				  strstr(why, "10.0.0.3"), "%s", why);
			end();
		}
}

/* The first message of a siw initiator that gives up the set-up is MPA's, not RDMAP's. */
static void terminate_first(void)
{
	struct iw_options o = { .initiator_b = true };
	uint32_t stag;

	begin(&o);
	stag = start_read(1);
	(void)stag;
	iw_put(peer, "4147 00000000 00000002 00000001 00000000 02060000 00000000");
	iw_wc(&a, a.scq, 1, IBV_WC_WR_FLUSH_ERR);
	iw_event(a.h, FATAL);
	end();
}

static void terminate_bare(void)
{
	struct iw_options o = { 0 };

	begin(&o);
	iw_put(peer, "c140 00000001 0000000000000000");
	start_read(1);
	CHECK(iw_recv(&a, 9, 0, 8) == 0);
	iw_put_hex(peer, "0016414700000000000000020000000100000000200600006540fb1b"); /* siw: 0/2/06 */
	iw_wc(&a, a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	iw_wc(&a, a.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	end();
	begin(&o);
	iw_put_hex(peer, "0026414700000000000000020000000100000000110003000004c140001234000000000000000000b3659bdc");
	iw_run(w);
	CHECK(iw_state(&a) == IBV_QPS_ERR);
	end();
}

/* --- local faults --- */

static void local_faults(void)
{
	struct iw_options o = { 0 };

	begin(&o); /* a bad key of a Send behind a good one */
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 1, .len = 1 }) == 0);
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 2, .len = 1, .lkey = 77 }) == 0);
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	iw_wc(&a, a.scq, 2, IBV_WC_LOC_PROT_ERR);
	iw_event(a.h, FATAL);
	iw_run(w);
	CHECK(peer->in_len == 28 + 28 && peer->in[28 + 20] == 0 && peer->in[28 + 22] == 0);
	iw_ended(&a, ECONNABORTED);
	end();

	begin(&o); /* ... and behind a read, whose turn comes first */
	{
		uint32_t stag = start_read(1);

		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 2, .len = 1,
						   .lkey = 77 }) == 0);
		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 3, .len = 1 }) == 0);
		iw_no_wc(&a, a.scq);
		answer(stag, 0, 8, true);
		/* A second error right behind does not change the status of the first. */
		iw_put(peer, "414f 00000000 00000000 00000001 00000000");
		iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
		iw_wc(&a, a.scq, 2, IBV_WC_LOC_PROT_ERR);
		iw_wc(&a, a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	}
	end();

	begin(&o); /* the sink of a read */
	post(&(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = 1, .len = 8, .lkey = 77, .rkey = 1 });
	answer(get32(peer->in + 20), 0, 8, true);
	iw_wc(&a, a.scq, 1, IBV_WC_LOC_PROT_ERR);
	end();

	begin(&o); /* the buffer of a receive */
	{
		struct ibv_sge sge = { iw_at(&a, 0), 8, 77 };
		struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;

		CHECK(eng_post_recv(a.qp, &wr, &bad) == 0);
	}
	iw_put(peer, "4143 00000000 00000000 00000001 00000000 01");
	iw_wc(&a, a.rcq, 5, IBV_WC_LOC_PROT_ERR);
	CHECK(peer->in[20] == 0 && peer->in[22] == 0);
	end();

	begin(&o); /* pages that are gone */
	CHECK(munmap(a.mem + 8192, 4096) == 0);
	post(&(struct iw_op){ .code = IBV_WR_RDMA_WRITE, .id = 1, .at = 4096, .len = 8192 });
	iw_wc(&a, a.scq, 1, IBV_WC_LOC_PROT_ERR);
	end();
}

/* A read that was half answered when its memory went: the Terminate names the rest. */
static void read_cut_off(void)
{
	struct iw_options o = { .initiator_b = true };
	uint8_t req[64];
	char hex[200];
	size_t n;

	begin(&o);
	CHECK(munmap(a.mem + 8192, 4096) == 0);
	sprintf(hex, "4141 00000000 00000001 00000001 00000000 00005501 0000000000002000 00003000"
		"%08x %016llx", a.mr->key, (long long)iw_at(&a, 0));
	n = iw_hex(hex, req, sizeof(req));
	iw_put_bytes(peer, req, n);
	iw_run(w);
	/* Five whole segments of 1428 octets, the sixth touches the hole. */
	CHECK(peer->in_len == 5 * 1448 + 20 + 4 + 2 + 18 + 28 + 4);
	peer->in += 5 * 1448;
	peer->in_len -= 5 * 1448;
	sprintf(hex, "4147 00000000 00000002 00000001 00000000 0100 e000 002e 4141 00000000 00000001"
		"00000001 00000000 00005501 %016x %08x %08x %016llx", 0x2000 + 5 * 1428,
		0x3000 - 5 * 1428, a.mr->key, (long long)iw_at(&a, 5 * 1428));
	iw_got(peer, hex);
	end();
}

static void ord_kept(void)
{
	struct iw_options o = { .ord = 2 };
	uint32_t stag;

	begin(&o);
	for (uint64_t i = 1; i <= 5; i++)
		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = i, .len = 1,
						   .rkey = 1 }) == 0);
	for (uint64_t i = 1; i <= 5; i++) {
		iw_run(w);
		CHECK(peer->in_len == (i < 5 ? 104 : 52));
		stag = get32(peer->in + 20);
		peer->in += 52;
		peer->in_len -= 52;
		answer(stag, 0, 1, true);
		iw_wc(&a, a.scq, i, IBV_WC_SUCCESS);
	}
	end();
}

/* Numbers go round. */
static void numbers_wrap(void)
{
	struct iw_options o = { 0 };
	uint32_t msn = 1;

	begin(&o);
	for (int i = 0; i < 3; i++) {
		char hex[100];

		CHECK(iw_recv(&a, 1, 0, 8) == 0);
		sprintf(hex, "4143 00000000 00000000 %08x 00000000 01", msn++);
		iw_put(peer, hex);
		iw_wc(&a, a.rcq, 1, IBV_WC_SUCCESS);
	}
	end();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "a Terminate names a read", terminate_names },
		{ "-", "a Terminate as first message", terminate_first },
		{ "-", "Terminates of siw", terminate_bare },
		{ "-", "local faults", local_faults },
		{ "-", "a read cut off", read_cut_off },
		{ "-", "no more reads than agreed", ord_kept },
		{ "-", "numbers", numbers_wrap },
	};

	return RUN_CASES(cases, argc, argv);
}
