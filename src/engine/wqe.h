/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entries of work queues. A send entry stays in its slot until it completes, since it may be sent again. A
 * receive entry is copied out when a message takes it, so that a shared queue never waits for one of its
 * queue pairs.
 */
#ifndef ENGINE_WQE_H
#define ENGINE_WQE_H

#include "engine/ah.h"
#include "util/lock.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eng_mkey;
struct eng_pd;
struct eng_qp;

struct eng_swqe {
	uint64_t wr_id;
	uint64_t length; /* bytes of the message */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm;      /* imm_data (network order) or invalidate_rkey (host order) */
	uint8_t opcode;    /* enum ibv_wr_opcode */
	uint8_t flags;     /* enum ibv_send_flags: FENCE SIGNALED SOLICITED INLINE IP_CSUM */
	uint8_t num_sge;
	uint8_t verdict;   /* enum eng_verdict found while posting, reported in order */
	uint32_t srqn;     /* XRC: remote SRQ number */
	union {
		struct {
			uint64_t compare_add, swap;
		} atomic;
		struct {
			struct eng_av av;
			struct eng_pd *pd; /* of the AH */
			uint32_t qpn, qkey;
		} ud;
		struct {
			struct eng_mkey *mw, *mr; /* for posting only; mr NULL to unbind */
			struct ibv_mw_bind_info info;
			uint32_t key; /* the window's key afterwards */
			uint32_t mw_key, mr_key; /* the keys when posted; set by eng_wr_finish() */
		} bind;
	};
	/* Of the protocol; zeroed at post. */
	uint32_t first_psn, last_psn;
	uint32_t ssn;
	uint8_t started, done;
	uint16_t piece; /* of a READ: packets asked for at once */
	/* num_sge entries, or `length` inline bytes. */
	struct ibv_sge sge[];
};

_Static_assert(sizeof(struct eng_swqe) == 120, "a send queue has one per work request");

static inline uint8_t *eng_swqe_inline(struct eng_swqe *w)
{
	return (uint8_t *)w->sge;
}

struct eng_rwqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the entries */
	uint32_t num_sge;
	uint32_t pad;
	struct ibv_sge sge[];
};

#endif
