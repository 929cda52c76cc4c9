/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Illegal handles: NULL, numbers, wild pointers, freed objects, objects of another provider. Every
 * call returns INVALID_HANDLE with its subtype, and none crashes.
 */
#include "registry_lib.h"

#include "support/check.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct registry r;

/* The first argument is checked before all others, which may be anything. */
typedef DAT_RETURN (*any_call)(DAT_HANDLE, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
			       uintptr_t);

static const struct {
	const char *name;
	DAT_RETURN_SUBTYPE subtype;
} calls[] = {
#define IA DAT_INVALID_HANDLE_IA
	{ "dat_ia_query", IA }, { "dat_ia_close", IA }, { "dat_cno_create", IA },
	{ "dat_evd_create", IA }, { "dat_ep_create", IA }, { "dat_lmr_create", IA },
	{ "dat_psp_create", IA }, { "dat_psp_create_any", IA }, { "dat_rsp_create", IA },
	{ "dat_pz_create", IA }, { "dat_lmr_sync_rdma_read", IA }, { "dat_lmr_sync_rdma_write", IA },
	{ "dat_ep_create_with_srq", IA }, { "dat_srq_create", IA }, { "dat_csp_create", IA },
	{ "dat_cno_fd_create", IA },
#define ANY DAT_INVALID_HANDLE1
	{ "dat_set_consumer_context", ANY }, { "dat_get_consumer_context", ANY },
	{ "dat_get_handle_type", ANY }, { "dat_extension_op", ANY },
#define CNO DAT_INVALID_HANDLE_CNO
	{ "dat_cno_modify_agent", CNO }, { "dat_cno_query", CNO }, { "dat_cno_free", CNO },
	{ "dat_cno_wait", CNO }, { "dat_cno_trigger", CNO },
#define CR DAT_INVALID_HANDLE_CR
	{ "dat_cr_query", CR }, { "dat_cr_accept", CR }, { "dat_cr_reject", CR },
	{ "dat_cr_handoff", CR },
#define EVD DAT_INVALID_HANDLE_EVD_REQUEST
	{ "dat_evd_query", EVD }, { "dat_evd_modify_cno", EVD }, { "dat_evd_enable", EVD },
	{ "dat_evd_disable", EVD }, { "dat_evd_wait", EVD }, { "dat_evd_resize", EVD },
	{ "dat_evd_post_se", EVD }, { "dat_evd_dequeue", EVD }, { "dat_evd_free", EVD },
	{ "dat_evd_set_unwaitable", EVD }, { "dat_evd_clear_unwaitable", EVD },
#define EP DAT_INVALID_HANDLE_EP
	{ "dat_ep_query", EP }, { "dat_ep_modify", EP }, { "dat_ep_connect", EP },
	{ "dat_ep_dup_connect", EP }, { "dat_ep_disconnect", EP }, { "dat_ep_post_send", EP },
	{ "dat_ep_post_recv", EP }, { "dat_ep_post_rdma_read", EP }, { "dat_ep_post_rdma_write", EP },
	{ "dat_ep_get_status", EP }, { "dat_ep_free", EP }, { "dat_ep_reset", EP },
	{ "dat_ep_recv_query", EP }, { "dat_ep_set_watermark", EP }, { "dat_ep_common_connect", EP },
	{ "dat_ep_post_send_with_invalidate", EP }, { "dat_ep_post_rdma_read_to_rmr", EP },
#define LMR DAT_INVALID_HANDLE_LMR
	{ "dat_lmr_query", LMR }, { "dat_lmr_free", LMR },
#define RMR DAT_INVALID_HANDLE_RMR
	{ "dat_rmr_query", RMR }, { "dat_rmr_bind", RMR }, { "dat_rmr_free", RMR },
#define PZ DAT_INVALID_HANDLE_PZ
	{ "dat_pz_query", PZ }, { "dat_pz_free", PZ }, { "dat_rmr_create", PZ },
	{ "dat_rmr_create_for_ep", PZ },
#define PSP DAT_INVALID_HANDLE_PSP
	{ "dat_psp_query", PSP }, { "dat_psp_free", PSP },
#define RSP DAT_INVALID_HANDLE_RSP
	{ "dat_rsp_query", RSP }, { "dat_rsp_free", RSP },
#define SRQ DAT_INVALID_HANDLE_SRQ
	{ "dat_srq_free", SRQ }, { "dat_srq_post_recv", SRQ }, { "dat_srq_query", SRQ },
	{ "dat_srq_resize", SRQ }, { "dat_srq_set_lw", SRQ },
#define CSP DAT_INVALID_HANDLE_CSP
	{ "dat_csp_query", CSP }, { "dat_csp_free", CSP },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static DAT_RETURN call(const char *name, DAT_HANDLE handle)
{
	any_call f;

	*(void **)&f = registry_sym(&r, name);
	return f(handle, 0, 0, 0, 0, 0, 0);
}

static void refused_by_all(DAT_HANDLE handle, const char *what)
{
	for (size_t i = 0; i < COUNT(calls); i++) {
		DAT_RETURN rc = call(calls[i].name, handle);

		CHECK_MSG(rc == DAT_ERROR(DAT_INVALID_HANDLE, calls[i].subtype), "%s of %s: %#x",
			  calls[i].name, what, rc);
	}
}

static DAT_IA_HANDLE open_ia(const char *name)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	CHECK(r.openv((DAT_NAME_PTR)name, 8, &evd, &ia, 2, 0, DAT_FALSE) == DAT_SUCCESS);
	return ia;
}

static void wild(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *none = mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *gone = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t text[4] = { 0, 1, (uintptr_t)&page, 0x4141414141414141 };

	CHECK(none != MAP_FAILED && gone != MAP_FAILED && !munmap(gone, (size_t)page));
	refused_by_all(NULL, "NULL");
	refused_by_all((DAT_HANDLE)77, "a number");
	refused_by_all((DAT_HANDLE)65535, "the last number");
	refused_by_all((DAT_HANDLE)65536, "a low address");
	refused_by_all((DAT_HANDLE)1001, "an odd number");
	refused_by_all(none, "a page without rights");
	refused_by_all(none + page - 1, "an unaligned pointer");
	refused_by_all(gone, "a page that is gone");
	refused_by_all((DAT_HANDLE)0xffffffffffffff00, "a kernel address");
	refused_by_all((DAT_HANDLE)0x8000000000000000, "an address that cannot be");
	for (int i = 0; i < 4; i++)
		refused_by_all(&text[i], "memory of something else");
	refused_by_all((DAT_HANDLE)(uintptr_t)wild, "code");
}

/* Objects of malloc, and objects whose page is unmapped with them. */
static void freed(const char *name)
{
	DAT_IA_HANDLE ia = open_ia(name);
	DAT_EVD_HANDLE evd;
	DAT_RETURN (*create)(DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS,
			     DAT_EVD_HANDLE *);

	*(void **)&create = registry_sym(&r, "dat_evd_create");
	for (int i = 0; i < 3; i++) {
		CHECK(create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) == DAT_SUCCESS);
		CHECK(call("dat_evd_dequeue", evd) == ERR(QUEUE_EMPTY, NO_SUBTYPE));
		CHECK(call("dat_evd_dequeue", evd) == ERR(QUEUE_EMPTY, NO_SUBTYPE));
		/* In the page of a good object, but not an object. */
		CHECK(call("dat_evd_dequeue", (char *)evd + 1) == ERR(INVALID_HANDLE,
								      INVALID_HANDLE_EVD_REQUEST));
		CHECK(call("dat_evd_free", evd) == DAT_SUCCESS);
		refused_by_all(evd, "a freed object");
	}
	CHECK(r.close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	refused_by_all(ia, "a closed IA");
	ia = open_ia(name);
	CHECK(r.close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

/* Handles that are not the first argument. */
static void others(void)
{
	DAT_IA_HANDLE a = open_ia("one"), b = open_ia("pages");
	DAT_RETURN (*ep_create)(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
				DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *);
	DAT_RETURN (*ep_modify)(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM *);
	DAT_RETURN (*lmr_create)(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
				 DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_LMR_HANDLE *,
				 DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);
	DAT_REGION_DESCRIPTION region = { .for_va = (DAT_PVOID)8 };
	DAT_PZ_HANDLE pz, foreign, wild_one = (DAT_PZ_HANDLE)0x70000000;
	DAT_EP_PARAM param = { .pz_handle = wild_one };
	DAT_EP_HANDLE ep;

	*(void **)&ep_create = registry_sym(&r, "dat_ep_create");
	*(void **)&ep_modify = registry_sym(&r, "dat_ep_modify");
	*(void **)&lmr_create = registry_sym(&r, "dat_lmr_create");
	CHECK(r.pz_create(a, &pz) == DAT_SUCCESS && r.pz_create(b, &foreign) == DAT_SUCCESS);
	CHECK(ep_create(a, pz, NULL, NULL, NULL, NULL, &ep) == DAT_SUCCESS);
	CHECK(ep_create(a, foreign, NULL, NULL, NULL, NULL, &ep) ==
	      ERR(INVALID_HANDLE, INVALID_HANDLE_PZ));
	CHECK(ep_create(a, wild_one, NULL, NULL, NULL, NULL, &ep) ==
	      ERR(INVALID_HANDLE, INVALID_HANDLE_PZ));
	CHECK(ep_create(a, pz, wild_one, NULL, NULL, NULL, &ep) ==
	      ERR(INVALID_HANDLE, INVALID_HANDLE_EVD_RECV));
	CHECK(ep_create(a, pz, NULL, wild_one, NULL, NULL, &ep) ==
	      ERR(INVALID_HANDLE, INVALID_HANDLE_EVD_REQUEST));
	CHECK(ep_create(a, pz, NULL, NULL, wild_one, NULL, &ep) ==
	      ERR(INVALID_HANDLE, INVALID_HANDLE_EVD_CONN));
	CHECK(ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param) == ERR(INVALID_HANDLE, INVALID_HANDLE_PZ));
	CHECK(ep_modify(ep, DAT_EP_FIELD_EP_STATE, &param) == DAT_SUCCESS);
	CHECK(lmr_create(a, DAT_MEM_TYPE_LMR, region, 1, pz, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA,
			 NULL, NULL, NULL, NULL, NULL) == ERR(INVALID_HANDLE, INVALID_HANDLE_LMR));
	/* An empty slot, and one that returns a bare type. */
	CHECK(call("dat_csp_create", a) == 0xBFFF0000);
	CHECK(call("dat_cno_fd_create", a) == ERR(MODEL_NOT_SUPPORTED, NO_SUBTYPE));
	CHECK(r.close(a, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	/* The provider is unloaded with it. */
	refused_by_all(ep, "an object of a closed provider");
	CHECK(r.close(b, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

static void ia_numbers(void)
{
	DAT_RETURN (*turn)(DAT_IA_HANDLE, DAT_IA_HANDLE *);
	DAT_RETURN (*set)(DAT_HANDLE, DAT_CONTEXT), (*get)(DAT_HANDLE, DAT_CONTEXT *);
	DAT_IA_HANDLE ia = open_ia("one"), object, back;
	DAT_CONTEXT c = { .as_64 = 99 }, d = { .as_64 = 0 };

	*(void **)&turn = registry_sym(&r, "dats_get_ia_handle");
	*(void **)&set = registry_sym(&r, "dat_set_consumer_context");
	*(void **)&get = registry_sym(&r, "dat_get_consumer_context");
	CHECK(turn(ia, &object) == DAT_SUCCESS && (uintptr_t)object >= 65536);
	CHECK(turn(object, &back) == DAT_SUCCESS && back == ia);
	CHECK(turn((DAT_IA_HANDLE)40000, &back) == ERR(INVALID_HANDLE, INVALID_HANDLE_IA));
	CHECK(turn(&object, &back) == ERR(INVALID_HANDLE, INVALID_HANDLE_IA));
	/* Providers hand out their own handles in events. */
	CHECK(set(object, c) == DAT_SUCCESS && get(ia, &d) == DAT_SUCCESS && d.as_64 == 99);
	CHECK(r.close(object, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	CHECK(turn(ia, &back) == ERR(INVALID_HANDLE, INVALID_HANDLE_IA));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/*
 * The cost of a call through the registry, beside the same one by the provider's table; the best of
 * many, since other processes use the machine, too. A system call in each would cost ten times the
 * limit.
 */
static void cost(void)
{
	DAT_IA_HANDLE ia = open_ia("one");
	DAT_RETURN (*dequeue)(DAT_EVD_HANDLE, DAT_EVENT *);
	double best[2] = { 1e9, 1e9 };
	DAT_EVD_HANDLE evd;
	enum { N = 20000 };

	CHECK(r.pz_create(ia, &evd) == DAT_SUCCESS);
	*(void **)&dequeue = registry_sym(&r, "dat_evd_dequeue");
	for (int round = 0; round < 60; round++) {
		double t = now();

		for (int i = 0; i < N; i++)
			CHECK(dequeue(evd, NULL) != DAT_SUCCESS);
		t = (now() - t) / N;
		best[0] = t < best[0] ? t : best[0];
		t = now();
		for (int i = 0; i < N; i++)
			CHECK(DAT_EVD_DEQUEUE(evd, NULL) != DAT_SUCCESS);
		t = (now() - t) / N;
		best[1] = t < best[1] ? t : best[1];
	}
	printf("a call costs %.1f ns, by the table %.1f ns\n", best[0], best[1]);
#ifndef __SANITIZE_THREAD__
	CHECK(best[0] - best[1] < 30);
#endif
	CHECK(r.close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

int main(int argc, char **argv)
{
	CHECK(argc > 2);
	registry_conf(argv[2], "one u2.0 nonthreadsafe default FAKE dapl.2.0 \"\" \"\"\n"
		      "pages u2.0 nonthreadsafe default FAKE dapl.2.0 pages \"\"\n");
	registry_open(&r, argv[1], true);
	wild();
	freed("one");
	freed("pages");
	others();
	ia_numbers();
	open_ia("one");
	wild();
	cost();
	return 0;
}
