/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The upper-layer binding of NFS (RFC 8267): which data of a message may move in chunks. These are the
 * bytes of READ, READLINK, WRITE, SYMLINK, and of CREATE of a link, in versions 2, 3 and 4 with every
 * minor version. Messages are walked by grammars (nfs_ops.h); a message that does not follow its grammar
 * has no such data, and travels as a whole.
 */
#ifndef ULP_RPCRDMA_NFS_H
#define ULP_RPCRDMA_NFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPR_ITEMS_MAX 16

/* Bytes [at, at + len) of a message, behind their length word; padding follows them. */
struct rpr_item {
	size_t at;
	uint32_t len;
};

struct rpr_items {
	unsigned nr;
	struct rpr_item item[RPR_ITEMS_MAX];
};

/* What a transport must keep of a call to understand its reply. */
struct rpr_nfs {
	const char *results;   /* grammar of the results, or NULL: they have no eligible data */
	bool compound;
};

struct rpr_nfs_call {
	struct rpr_nfs nfs;
	struct rpr_items args;         /* eligible data of the arguments */
	unsigned nr_reads;             /* reads among the operations */
	uint32_t read_max[RPR_ITEMS_MAX]; /* most bytes that each of them returns; 0: of unknown length */
	bool small_reply;              /* the reply has less than 900 bytes */
};

/* Looks at a call. A call of another program, or one that is wrapped, has no eligible data. */
void rpr_nfs_call(struct rpr_nfs_call *ret, const void *data, size_t len);

/* Finds the eligible data in a whole reply. */
void rpr_nfs_reply(const struct rpr_nfs *nfs, const void *data, size_t len, struct rpr_items *ret);

/*
 * The same in a reply out of which data was taken: that of item i if chunk i (of nr) has `used[i]` bytes, not 0.
 * Returns false unless each used chunk is that of an item with as many bytes. Item i then begins at
 * byte `at` of this data, and is not in it.
 */
bool rpr_nfs_reduced(const struct rpr_nfs *nfs, const void *data, size_t len, const uint32_t *used, unsigned nr,
		     struct rpr_items *ret);

#endif
