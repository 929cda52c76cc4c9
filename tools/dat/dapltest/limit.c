/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * -T L: creates objects of one kind until the provider refuses or -m is reached, and frees them
 * again. It passes if there was at least one, the refusal names a lack of resources, and every
 * object was freed.
 */

#define LMR_BYTES 4096
#define EVD_QLEN 8

/* The parents of objects of other kinds; -w of them, used in turn. */
struct set {
	struct dtl_ia ia;
	DAT_EVD_HANDLE dto, cr, conn;
	DAT_EP_HANDLE ep;
};

struct room {
	const struct dtt_options *o;
	struct set *sets;
	int n_sets;
	char *memory;		/* LMR_BYTES */
	DAT_CONN_QUAL next_qual;
};

struct kind {
	const char *name, *plural;
	DAT_RETURN (*make)(struct room *room, struct set *s, DAT_HANDLE *ret);
	DAT_RETURN (*drop)(struct set *s, DAT_HANDLE h);
};

/* --- kinds --- */

static DAT_RETURN make_ia(struct room *room, struct set *s, DAT_HANDLE *ret)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)(uintptr_t)room->o->ia, EVD_QLEN, &async,
			   (DAT_IA_HANDLE *)ret);
}

static DAT_RETURN drop_ia(struct set *s, DAT_HANDLE h)
{
	return dat_ia_close((DAT_IA_HANDLE)h, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN make_pz(struct room *room, struct set *s, DAT_HANDLE *ret)
{
	return dat_pz_create(s->ia.ia, ret);
}

static DAT_RETURN drop_pz(struct set *s, DAT_HANDLE h)
{
	return dat_pz_free(h);
}

#if DTL_CNOS
static DAT_RETURN make_cno(struct room *room, struct set *s, DAT_HANDLE *ret)
{
	return dat_cno_create(s->ia.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, ret);
}

static DAT_RETURN drop_cno(struct set *s, DAT_HANDLE h)
{
	return dat_cno_free(h);
}

#endif

static DAT_RETURN make_evd(struct room *room, struct set *s, DAT_HANDLE *ret)
{
	return dat_evd_create(s->ia.ia, EVD_QLEN, DAT_HANDLE_NULL,
			      DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, ret);
}

static DAT_RETURN drop_evd(struct set *s, DAT_HANDLE h)
{
	return dat_evd_free(h);
}

static DAT_RETURN make_ep(struct room *room, struct set *s, DAT_HANDLE *ret)
{
	return dat_ep_create(s->ia.ia, s->ia.pz, s->dto, s->dto, s->conn, NULL, ret);
}

static DAT_RETURN drop_ep(struct set *s, DAT_HANDLE h)
{
	return dat_ep_free(h);
}

/* A qualifier in use by another process is not a limit. */
static DAT_RETURN make_psp(struct room *room, struct set *s, DAT_HANDLE *ret)
{
	DAT_RETURN r;

	do
		r = dat_psp_create(s->ia.ia, room->next_qual++, s->cr, DAT_PSP_CONSUMER_FLAG, ret);
	while (DAT_GET_TYPE(r) == DAT_CONN_QUAL_IN_USE && room->next_qual < 65535);
	return r;
}

static DAT_RETURN drop_psp(struct set *s, DAT_HANDLE h)
{
	return dat_psp_free(h);
}

/* An endpoint may be reserved for one service point only: each gets its own. */
struct rsp {
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;
};

static DAT_RETURN make_rsp(struct room *room, struct set *s, DAT_HANDLE *ret)
{
	struct rsp *pair = malloc(sizeof(*pair));
	DAT_RETURN r;

	if (!pair)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	r = make_ep(room, s, &pair->ep);
	if (r != DAT_SUCCESS) {
		free(pair);
		return r;
	}
	do
		r = dat_rsp_create(s->ia.ia, room->next_qual++, pair->ep, s->cr, &pair->rsp);
	while (DAT_GET_TYPE(r) == DAT_CONN_QUAL_IN_USE && room->next_qual < 65535);
	*ret = pair;
	if (r != DAT_SUCCESS) {
		dat_ep_free(pair->ep);
		free(pair);
	}
	return r;
}

static DAT_RETURN drop_rsp(struct set *s, DAT_HANDLE h)
{
	struct rsp *pair = h;
	DAT_RETURN r = dat_rsp_free(pair->rsp), r2 = dat_ep_free(pair->ep);

	free(pair);
	return r != DAT_SUCCESS ? r : r2;
}

static DAT_RETURN make_lmr(struct room *room, struct set *s, DAT_HANDLE *ret)
{
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;

	return dtl_lmr_create(s->ia.ia, room->memory, LMR_BYTES, s->ia.pz, DAT_MEM_PRIV_ALL_FLAG,
			      ret, &context, &remote);
}

static DAT_RETURN drop_lmr(struct set *s, DAT_HANDLE h)
{
	return dat_lmr_free(h);
}

static const struct kind kinds[] = {
	{ "limit_ia", "IAs", make_ia, drop_ia },
	{ "limit_pz", "PZs", make_pz, drop_pz },
#if DTL_CNOS
	{ "limit_cno", "CNOs", make_cno, drop_cno },
#endif
	{ "limit_evd", "EVDs", make_evd, drop_evd },
	{ "limit_ep", "EPs", make_ep, drop_ep },
	{ "limit_rsp", "RSPs", make_rsp, drop_rsp },
	{ "limit_psp", "PSPs", make_psp, drop_psp },
	{ "limit_lmr", "LMRs", make_lmr, drop_lmr },
};

static bool is_limit(DAT_RETURN r)
{
	return DAT_GET_TYPE(r) == DAT_INSUFFICIENT_RESOURCES;
}

static int exhaust(struct room *room, const struct kind *k)
{
	DAT_HANDLE *all = calloc(room->o->most, sizeof(*all));
	DAT_RETURN r = DAT_SUCCESS, r2;
	int n = 0, i, bad = 0;

	if (!all)
		return -1;
	while (n < room->o->most) {
		r = k->make(room, &room->sets[n % room->n_sets], &all[n]);
		if (r != DAT_SUCCESS)
			break;
		n++;
	}
	if (r != DAT_SUCCESS && !is_limit(r)) {
		dtl_complain("%s: number %d ended with %s", k->name, n + 1, dtl_strerror(r));
		bad = -1;
	}
	for (i = 0; i < n; i++) {
		r2 = k->drop(&room->sets[i % room->n_sets], all[i]);
		if (r2 != DAT_SUCCESS && !bad)
			bad = dtl_check(r2, "freeing an object of the limit test");
	}
	free(all);
	printf("LimitTest: %s created: %d%s\n", k->plural, n, is_limit(r) ? " (then refused)" : "");
	return n ? bad : -1;
}

/* --- receives, and the size of a region --- */

static int exhaust_receives(struct room *room)
{
	struct dtl_ia *ia = &room->sets[0].ia;
	int asked = room->o->most < ia->attr.max_dto_per_ep ? room->o->most :
		    ia->attr.max_dto_per_ep, n = 0;
	struct dtl_end_wish wish = { .recvs = asked, .requests = 1, .iov = 1, .how = DTL_WAIT };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_LMR_TRIPLET seg;
	DAT_RETURN r = DAT_SUCCESS;
	struct dtl_end end;
	struct dtl_mem mem;
	int bad;

	if (dtl_mem_make(&mem, ia, LMR_BYTES, DAT_MEM_PRIV_ALL_FLAG) != 0)
		return -1;
	if (dtl_end_make(&end, ia, &wish) != 0) {
		dtl_mem_drop(&mem);
		return -1;
	}
	seg = dtl_segment(mem.context, mem.start, LMR_BYTES);
	while (r == DAT_SUCCESS && n < 2 * asked + 64) {
		r = dat_ep_post_recv(end.ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
		n += r == DAT_SUCCESS;
	}
	printf("LimitTest: recv buffers posted per EP: %d (asked for %d)\n", n, asked);
	bad = n < asked || (r != DAT_SUCCESS && !is_limit(r)) ? -1 : 0;
	if (bad)
		dtl_complain("a receive was refused with %s", dtl_strerror(r));
	bad |= dtl_end_drop(&end);
	return dtl_mem_drop(&mem) | bad;
}

static DAT_RETURN try_size(struct set *s, size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_RETURN r;

	if (p == MAP_FAILED)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	r = dtl_lmr_create(s->ia.ia, p, size, s->ia.pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &context,
			   &remote);
	if (r == DAT_SUCCESS)
		r = dat_lmr_free(lmr);
	munmap(p, size);
	return r;
}

static int grow_region(struct room *room)
{
	DAT_RETURN r = DAT_SUCCESS;
	size_t size = LMR_BYTES, good = 0;

	for (; size <= (size_t)1 << 30 && r == DAT_SUCCESS; size *= 2) {
		r = try_size(&room->sets[0], size);
		if (r == DAT_SUCCESS)
			good = size;
	}
	printf("LimitTest: LMR of 0x%zx bytes OK%s\n", good,
	       r == DAT_SUCCESS ? " - stopping now." : "");
	if (r == DAT_SUCCESS || is_limit(r) || DAT_GET_TYPE(r) == DAT_LENGTH_ERROR)
		return good ? 0 : -1;
	return dtl_check(r, "dat_lmr_create");
}

/* --- the run --- */

static int make_set(struct set *s, const char *name)
{
	memset(s, 0, sizeof(*s));
	if (dtl_ia_open(&s->ia, name) != 0)
		return -1;
	return dtl_check(make_evd(NULL, s, &s->dto), "dat_evd_create") ||
	       dtl_check(dat_evd_create(s->ia.ia, EVD_QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
					&s->cr), "dat_evd_create") ||
	       dtl_check(dat_evd_create(s->ia.ia, EVD_QLEN, DAT_HANDLE_NULL,
					DAT_EVD_CONNECTION_FLAG, &s->conn), "dat_evd_create") ||
	       dtl_check(make_ep(NULL, s, &s->ep), "dat_ep_create") ? -1 : 0;
}

static int drop_set(struct set *s)
{
	DAT_EVD_HANDLE evds[3] = { s->dto, s->cr, s->conn };
	int i, bad = 0;

	if (s->ep != DAT_HANDLE_NULL)
		bad |= dtl_check(dat_ep_free(s->ep), "dat_ep_free");
	for (i = 0; i < 3; i++)
		if (evds[i] != DAT_HANDLE_NULL)
			bad |= dtl_check(dat_evd_free(evds[i]), "dat_evd_free");
	return dtl_ia_close(&s->ia) | bad;
}

static bool wanted(const struct dtt_options *o, const char *name)
{
	int i;

	for (i = 0; i < o->n_names; i++)
		if (strcmp(o->names[i], name) == 0)
			return true;
	return o->n_names == 0;
}

static int test(struct room *room, const char *name, const struct kind *k)
{
	int bad;

	if (!wanted(room->o, name))
		return 0;
	printf("Limitation Test: %s\n", name);
	if (k)
		bad = exhaust(room, k);
	else
		bad = strcmp(name, "limit_rpost") == 0 ? exhaust_receives(room) : grow_region(room);
	printf("Result: %s\n", bad ? "FAIL" : "PASS");
	return bad;
}

static int check_names(const struct dtt_options *o)
{
	int i;
	size_t k;

	for (i = 0; i < o->n_names; i++) {
		bool known = !strcmp(o->names[i], "limit_rpost") ||
			     !strcmp(o->names[i], "limit_size_lmr");

		for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			known |= strcmp(kinds[k].name, o->names[i]) == 0;
		if (!known) {
			dtl_complain("%s: the limit test is unknown: no test ran; see the names with -T L -h", o->names[i]);
			return -1;
		}
	}
	return 0;
}

int dtt_limit(const struct dtt_options *o)
{
	struct room room = { .o = o, .sets = calloc(o->width, sizeof(struct set)),
			     .memory = malloc(LMR_BYTES), .next_qual = o->qual + 1 };
	int bad = check_names(o);
	size_t i;

	if (!room.sets || !room.memory)
		bad = -1;
	while (!bad && room.n_sets < o->width)
		bad = make_set(&room.sets[room.n_sets++], o->ia);
	if (!bad) {
		for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			bad |= test(&room, kinds[i].name, &kinds[i]);
		bad |= test(&room, "limit_rpost", NULL);
		bad |= test(&room, "limit_size_lmr", NULL);
	}
	while (room.n_sets)
		bad |= drop_set(&room.sets[--room.n_sets]);
	free(room.sets);
	free(room.memory);
	return bad;
}
