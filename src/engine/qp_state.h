/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state machine of a queue pair (IBTA 10.3.1): transitions that a program asks for, those of the
 * protocol, and failure. qp_attr.h says which transitions and values are legal.
 */
#ifndef ENGINE_QP_STATE_H
#define ENGINE_QP_STATE_H

#include "engine/qp.h"
#include "engine/verdict.h"

/* --- for programs --- */

/*
 * Checks everything, then changes everything. Returns 0, -EINVAL, -EOPNOTSUPP (unknown bits) or -EPERM (a
 * privileged Q_Key). A mask of 0 succeeds. CUR_STATE must name the present state. RTS to SQD starts
 * draining: the protocol calls eng_qp_drained(), in its qp_moved already if no message is in flight.
 */
int eng_qp_modify(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask);
/* The same with dev->lock held, for attributes of a QP that stays in its state. */
int eng_qp_modify_held(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask);
/* Moves the queue pair of this number to ERR. Returns 0, also if it is gone already, or as
 * eng_qp_modify() does. */
int eng_qp_end(struct eng_dev *dev, uint32_t qpn) UT_EXCLUDES(dev->lock);
/* Where the protocol has streams, RESET is reported as INIT. Returns 0 or -EOPNOTSUPP (unknown bits in the
 * mask). */
int eng_qp_query(struct eng_qp *qp, struct ibv_qp_attr *attr, int mask);

/* --- for protocols; dev->lock held --- */

/*
 * The queue pair fails: `next` is the verdict row's, or SQE, which the protocol chooses for UC and UD. The
 * row's event is raised if `raise`; the sentence is kept. Does nothing in ERR. Entries that are still
 * queued are not flushed here: the protocol completes the one in error, then calls eng_qp_flush().
 */
void eng_qp_fail(struct eng_qp *qp, enum eng_verdict v, enum ibv_qp_state next, bool raise);
/* The same on a stream transport: state ERR, the row's `stream` event. */
void eng_qp_fail_stream(struct eng_qp *qp, enum eng_verdict v);
/* A transition that the protocol itself makes (INIT or RTR to RTS on a stream, RTS to SQD or ERR): not
 * checked, without qp_moved. Entries that wait are served in the next round of progress. */
void eng_qp_move(struct eng_qp *qp, enum ibv_qp_state to);
/* Raises COMM_EST once. */
void eng_qp_comm_est(struct eng_qp *qp);
/* All messages that had started before SQD are complete. */
void eng_qp_drained(struct eng_qp *qp);

/* --- for the engine; dev->lock held --- */

/* Sets the state and the attributes that show it. ERR and RESET first revoke direct access to the queue
 * pair. */
void eng_qp_set_state(struct eng_qp *qp, enum ibv_qp_state to);
/* Attributes and queues become as after creation; completions stay in their queues. */
void eng_qp_clear(struct eng_qp *qp);
/* Raises the event for every handle of the queue pair; an XRC target may outlive the handle it was made
 * with. */
void eng_qp_tell(struct eng_qp *qp, enum ibv_event_type type);

#endif
