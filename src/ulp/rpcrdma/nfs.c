/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/nfs.h"
#include "ulp/rpcrdma/nfs_ops.h"
#include "ulp/rpcrdma/rpc.h"
#include "ulp/rpcrdma/xdr.h"

#include <stdlib.h>

#define NFS_PROGRAM 100003
#define NFS_PROC_NULL 0
#define NFS4_COMPOUND 1
#define NFS4_ALWAYS_SETATTR 34  /* its results follow every status */

struct op {
	const char *args, *results;
};

static const struct op ops[] = {
#define O(nr, args, results) [nr] = { args, results },
	RPR_NFS4_OPS(O)
#undef O
};

static const struct {
	uint32_t op, status;
	const char *results;
} errors[] = {
#define O(nr, status, results) { nr, status, results },
	RPR_NFS4_ERRORS(O)
#undef O
};

static const struct {
	uint32_t version, procedure;
	const char *args, *results;
	bool small;
} procs[] = {
#define P(version, procedure, args, results, small) { version, procedure, args, results, small },
	RPR_NFS23_PROCS(P)
#undef P
};

/* The state of a walk. With `used`, data of items whose chunk is used is not in the message. */
struct walk {
	struct rpr_xdr x;
	struct rpr_items *items;
	struct rpr_nfs_call *call;     /* takes the counts of reads, or NULL */
	const uint32_t *used;
	unsigned nr_used;
};

static void data_item(struct walk *w)
{
	uint32_t len = rpr_xdr_u32(&w->x);
	unsigned nr = w->items->nr;
	bool absent = w->used && nr < w->nr_used && w->used[nr];
	size_t at = w->x.at;

	if (nr == RPR_ITEMS_MAX || (absent && w->used[nr] != len))
		w->x.bad = true;
	if (!absent)
		rpr_xdr_fixed(&w->x, len);
	if (!w->x.bad)
		w->items->item[w->items->nr++] = (struct rpr_item){ at, len };
}

static void read_count(struct walk *w, uint32_t count)
{
	if (!w->call)
		return;
	if (w->call->nr_reads == RPR_ITEMS_MAX)
		w->x.bad = true;
	else
		w->call->read_max[w->call->nr_reads++] = count;
}

/* The end of a group: the bracket that closes the one at g. */
static const char *group_end(const char *g)
{
	int depth = 0;

	do {
		if (*g == '(' || *g == '[' || *g == '{' || *g == '<')
			depth++;
		else if (*g == ')' || *g == ']' || *g == '}' || *g == '>')
			depth--;
		g++;
	} while (depth);
	return g - 1;
}

/* The end of a case: its bar, or the bracket of the union. */
static const char *case_end(const char *g)
{
	while (*g != '|' && *g != '>') {
		if (*g == '(' || *g == '[' || *g == '{' || *g == '<')
			g = group_end(g);
		g++;
	}
	return g;
}

static void follow(struct walk *w, const char *g, const char *end);

/* g is behind the bracket. */
static void union_by(struct walk *w, const char *g)
{
	uint32_t tag = rpr_xdr_u32(&w->x);
	const char *end;
	char *colon;
	bool match;

	for (;; g = end + 1) {
		match = *g == '*' || strtoul(g, &colon, 10) == tag;
		g = strchr(g, ':') + 1;
		end = case_end(g);
		if (match) {
			follow(w, g, end);
			return;
		}
		if (*end == '>')
			break;
	}
	w->x.bad = true;
}

static void array(struct walk *w, const char *g, const char *end)
{
	uint32_t nr = rpr_xdr_u32(&w->x);

	while (nr-- && !w->x.bad)
		follow(w, g, end);
}

static void list(struct walk *w, const char *g, const char *end)
{
	while (rpr_xdr_u32(&w->x) && !w->x.bad)
		follow(w, g, end);
}

static void group(struct walk *w, const char *g, const char *end)
{
	if (*g == '[')
		array(w, g + 1, end);
	else if (*g == '{')
		list(w, g + 1, end);
	else if (*g == '<')
		union_by(w, g + 1);
	else if (rpr_xdr_u32(&w->x))
		follow(w, g + 1, end);
}

static void plain(struct walk *w, char token)
{
	static const struct {
		char token;
		uint8_t len;
	} lengths[] = { { 'u', 4 }, { 'h', 8 }, { 's', 16 }, { 'f', 84 }, { 'g', 68 }, { 'F', 32 } };
	uint32_t len;

	if (token == 'o')
		rpr_xdr_opaque(&w->x, &len);
	else if (token == 'b')
		array(w, "u", NULL);
	else if (token == 'D')
		data_item(w);
	else if (token == 'N')
		read_count(w, rpr_xdr_u32(&w->x));
	else if (token == 'L')
		read_count(w, 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		if (lengths[i].token == token)
			rpr_xdr_skip(&w->x, lengths[i].len);
}

/* Walks over the grammar from g to end, or to its zero. Recursion is as deep as a grammar nests. */
static void follow(struct walk *w, const char *g, const char *end)
{
	const char *close;

	for (; g != end && *g && !w->x.bad; g++) {
		if (*g == '?')
			g++;
		if (*g == '(' || *g == '[' || *g == '{' || *g == '<') {
			close = group_end(g);
			group(w, g, close);
			g = close;
		} else {
			plain(w, *g);
		}
	}
}

static const struct op *op_get(uint32_t nr)
{
	return nr < sizeof(ops) / sizeof(ops[0]) && ops[nr].args ? &ops[nr] : NULL;
}

/* COMPOUND4args: tag, minor version, operations. */
static void compound_args(struct walk *w)
{
	const struct op *op;
	uint32_t nr;

	follow(w, "ou", NULL);
	nr = rpr_xdr_u32(&w->x);
	while (nr-- && !w->x.bad) {
		op = op_get(rpr_xdr_u32(&w->x));
		if (op)
			follow(w, op->args, NULL);
		else
			w->x.bad = true;
	}
}

static const char *error_results(uint32_t nr, uint32_t status)
{
	if (nr == NFS4_ALWAYS_SETATTR)
		return ops[nr].results;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].op == nr && errors[i].status == status)
			return errors[i].results;
	return "";
}

/* COMPOUND4res: status, tag, results. The last one alone has an error. */
static void compound_results(struct walk *w)
{
	uint32_t nr, number, status;

	follow(w, "uo", NULL);
	nr = rpr_xdr_u32(&w->x);
	while (nr-- && !w->x.bad) {
		number = rpr_xdr_u32(&w->x);
		status = rpr_xdr_u32(&w->x);
		if (!op_get(number))
			w->x.bad = number != 10044 || !status; /* RFC 7531: OP_ILLEGAL */
		else
			follow(w, status ? error_results(number, status) : ops[number].results, NULL);
	}
}

static void forget(struct rpr_nfs_call *ret)
{
	ret->args.nr = 0;
	ret->nr_reads = 0;
	ret->nfs = (struct rpr_nfs){ 0 };
	ret->small_reply = false;
}

static void call_23(struct walk *w, const struct rpr_rpc_call *rpc, struct rpr_nfs_call *ret)
{
	ret->small_reply = true;
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		if (procs[i].version != rpc->version || procs[i].procedure != rpc->procedure)
			continue;
		follow(w, procs[i].args, NULL);
		ret->nfs.results = procs[i].results;
		ret->small_reply = procs[i].small;
		return;
	}
}

void rpr_nfs_call(struct rpr_nfs_call *ret, const void *data, size_t len)
{
	struct walk w = { .x = { .data = data, .len = len }, .items = &ret->args, .call = ret };
	struct rpr_rpc_call rpc;

	forget(ret);
	if (!rpr_rpc_call_get(&rpc, data, len) || rpc.wrapped || rpc.program != NFS_PROGRAM)
		return;
	w.x.at = rpc.args;
	if (rpc.procedure == NFS_PROC_NULL) {
		ret->small_reply = true;
	} else if (rpc.version == 2 || rpc.version == 3) {
		call_23(&w, &rpc, ret);
	} else if (rpc.version == 4 && rpc.procedure == NFS4_COMPOUND) {
		compound_args(&w);
		ret->nfs.compound = true;
	}
	if (w.x.bad)
		forget(ret);
}

/* Returns false if the reply does not follow its grammar. A failed reply has no items and is right. */
static bool results(const struct rpr_nfs *nfs, struct walk *w)
{
	w->items->nr = 0;
	w->x.at = rpr_rpc_results(w->x.data, w->x.len);
	if (!w->x.at || (!nfs->compound && !nfs->results))
		return true;
	if (nfs->compound)
		compound_results(w);
	else
		follow(w, nfs->results, NULL);
	return !w->x.bad;
}

void rpr_nfs_reply(const struct rpr_nfs *nfs, const void *data, size_t len, struct rpr_items *ret)
{
	struct walk w = { .x = { .data = data, .len = len }, .items = ret };

	/* Items in front of what is not understood are right: chunks are used in their order. */
	results(nfs, &w);
}

bool rpr_nfs_reduced(const struct rpr_nfs *nfs, const void *data, size_t len, const uint32_t *used, unsigned nr,
		     struct rpr_items *ret)
{
	struct walk w = { .x = { .data = data, .len = len }, .items = ret, .used = used, .nr_used = nr };
	bool good = results(nfs, &w);

	for (unsigned i = 0; i < nr; i++)
		if (used[i] && i >= ret->nr)
			return false;
	/* An item behind the last used chunk may be what was not understood. */
	return good || ret->nr >= nr;
}
