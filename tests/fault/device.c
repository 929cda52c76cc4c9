/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The n-th allocation fails under the real device room: list, open, the first
 * QP (which binds the port and starts the thread), an address handle, close.
 * The thread allocates when it likes, so only this is demanded: every call
 * succeeds or says that something could not be had; in a "once" life the call
 * after the failed one succeeds; nothing is left; the next life is sound.
 */
#include "blocks.h"
#include "engine/pd.h"

#include "device/devices.h"
#include "engine/cq.h"
#include "engine/event.h"
#include "engine/gid.h"
#include "engine/mkey.h"
#include "engine/qp.h"
#include "util/alloc.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

struct life {
	bool armed, sticky;
	int failed;
	struct eng_ctx *ctx;
	struct eng_pd *pd;
	struct eng_cq *cq;
	struct eng_qp *qp;
	struct eng_ah *ah;
};

/* The result; a refused call of a "once" life is made again, and one refusal is all it may see. */
static int judge(struct life *x, int r, const char *what)
{
	if (r >= 0)
		return r;
	CHECK_MSG(x->armed && (r == -ENOMEM || r == -EMFILE), "%s: %d", what, r);
	x->failed++;
	CHECK_MSG(x->sticky || x->failed == 1, "%s failed again: %d", what, r);
	return r;
}

#define TRY(x, call)                                                 \
	do {                                                         \
		int try_ = judge(x, call, #call);                    \
                                                                     \
		if (try_ < 0 && !(x)->sticky)                        \
			try_ = judge(x, call, #call);                \
		if (try_ < 0)                                        \
			return;                                      \
	} while (0)

static int open_first(struct eng_ctx **ret)
{
	struct dev_info *v = NULL;
	int n = dev_list(&v), r;

	if (n < 0)
		return n;
	CHECK_MSG(n > 0, "no adapter");
	r = dev_open(&v[0], ret);
	free(v);
	return r;
}

static void live(struct life *x)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } };
	struct eng_qp_spec spec = { .type = IBV_QPT_UD, .cap = { 4, 4, 1, 1, 0 } };
	struct eng_gid g;

	TRY(x, open_first(&x->ctx));
	TRY(x, eng_pd_alloc(x->ctx->dev, &x->pd));
	TRY(x, eng_cq_create(x->ctx, 16, NULL, false, &x->cq));
	spec.pd = x->pd;
	spec.send_cq = spec.recv_cq = x->cq;
	TRY(x, eng_qp_create(x->ctx, &spec, &x->qp));
	CHECK(eng_gid_get(x->ctx->dev, 0, &g) == 0);
	a.grh.dgid = g.gid;
	TRY(x, eng_ah_create(x->pd, &a, &x->ah));
}

static void end(struct life *x)
{
	if (x->ah)
		eng_ah_destroy(x->ah);
	CHECK(!x->qp || eng_qp_destroy(x->qp) == 0);
	CHECK(!x->cq || eng_cq_destroy(x->cq) == 0);
	CHECK(!x->pd || eng_pd_dealloc(x->pd) == 0);
	if (x->ctx)
		dev_close(x->ctx);
}

static bool fired(unsigned n, bool sticky)
{
	if (sticky)
		return ut_fault();
	for (unsigned i = 0; i < n; i++)
		if (ut_fault())
			return false;
	return true;
}

static bool one(unsigned n, bool sticky)
{
	struct life x = { .armed = n != 0, .sticky = sticky };
	long before = blocks;
	int fds = open_fds();
	bool came;

	ut_fault_arm(n, sticky);
	live(&x);
	end(&x);
	came = n && fired(n, sticky);
	ut_fault_arm(0, 0);
	CHECK_MSG(!x.failed || came, "a refusal without trouble");
	CHECK_MSG(blocks == before, "%ld blocks leaked", blocks - before);
	CHECK_MSG(open_fds() == fds, "%d descriptors leaked", open_fds() - fds);
	return came;
}

static void choose_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[8];

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	close(fd);
	snprintf(text, sizeof(text), "%u", ntohs(a.sin_port));
	setenv("DAPPLE_PORT", text, 1);
}

int main(void)
{
	choose_port();
	one(0, false); /* objects that are kept for good are made now */
	for (int sticky = 0; sticky < 2; sticky++) {
		unsigned n = 1;

		for (; fprintf(stderr, "%s allocation %u\n", sticky ? "from" : "only", n),
		       one(n, sticky); n++)
			one(0, false);
		CHECK_MSG(n > 15, "only %u allocations", n);
		printf("%u allocations, %s\n", n - 1, sticky ? "sticky" : "once");
	}
	return 0;
}
