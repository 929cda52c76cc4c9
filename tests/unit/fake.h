/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An adapter without packets: the engine's rules can be tested alone. */
#ifndef TESTS_UNIT_FAKE_H
#define TESTS_UNIT_FAKE_H

#include "engine/event.h"
#include "engine/mcast.h"
#include "engine/mkey.h"
#include "engine/qp.h"
#include "support/check.h"

struct fake {
	struct eng_dev dev;
	struct eng_ctx *ctx;
	struct eng_pd *pd;
	struct eng_cq *cq;
	unsigned kicks, moves, attaches, joins;
	bool drain_at_once;
	struct eng_qp *answered;	/* its oldest request is, in so many rounds of progress */
	unsigned answer_in;
	struct eng_cq *fed; /* three completions in each round, numbered on */
	uint64_t feed;
	unsigned sends_now; /* so many posts more leave before they are in the queue */
};

void fake_open(struct fake *f);
void fake_close(struct fake *f);
/* A QP with 4 + 4 entries of 2 pieces, 64 bytes inline. */
struct eng_qp *fake_qp(struct fake *f, enum ibv_qp_type type);
/* Moves it there by the shortest way. */
void fake_move(struct eng_qp *qp, enum ibv_qp_state to);
/* A full and legal set of values. */
struct ibv_qp_attr fake_attr(void);
/* The next event's type, or -1. */
int fake_event(struct fake *f);
struct ibv_send_wr fake_send(uint64_t id);

#endif
