/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A hand-over is a small record from adopt() until its result is taken. The manager calls back once for
 * each, within its own time limits, so a record of a QP that is gone is freed by the next hand-over after
 * that at the latest.
 */
#include "device/kind/handover.h"

#include "cm/mpa/adopt.h"
#include "device/kind/iwarp.h"
#include "device/sys.h"
#include "engine/qp.h"
#include "util/alloc.h"
#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct handover {
	struct ut_list node;
	struct dev_adapter *a;
	struct eng_qp *qp; /* compared, never followed */
	uint32_t qpn;
	bool done;
	struct dev_handover_result result;
};

/* Guards the list and its records. Taken below dev.lock; a leaf. */
static struct ut_mutex lock = UT_MUTEX_INIT;
static struct ut_list all = UT_LIST_INIT(all);
static struct ut_cond changed = UT_COND_INIT;

_Static_assert((int)DEV_RTR_SEND == (int)PROTO_RTR_SEND, "one numbering");
_Static_assert((int)DEV_HANDOVER_AGREED == (int)MPA_ADOPT_NEGOTIATED, "one numbering");
_Static_assert(DEV_HANDOVER_PRIVATE == CM_PRIVATE_MAX, "one limit");

static void done(void *arg, int error, const struct cm_param *peer)
{
	struct handover *h = arg;

	ut_lock(&lock);
	h->result.error = error;
	if (peer) {
		h->result.ird = peer->initiator_depth;
		h->result.ord = peer->responder_resources;
		h->result.private_len = peer->private_len < DEV_HANDOVER_PRIVATE
						? peer->private_len
						: DEV_HANDOVER_PRIVATE;
		if (h->result.private_len)
			memcpy(h->result.private_data, peer->private_data, h->result.private_len);
	}
	h->done = true;
	ut_cond_broadcast(&changed);
	ut_unlock(&lock);
}

static void drop(struct handover *h)
{
	ut_list_del(&h->node);
	free(h);
}

/* Frees results of QPs that are gone, and what an earlier hand-over of this QP left; not those of other QPs. A
 * refused attempt takes no result away. */
static void sweep(struct dev_adapter *a, const struct eng_qp *qp, const struct handover *now)
	UT_REQUIRES(a->dev.lock)
{
	struct handover *h, *t;

	ut_lock(&lock);
	ut_list_each_safe(h, t, &all, node)
		if (h->a == a && h->done && h != now &&
		    (h->qp == qp || eng_qp_find(&a->dev, h->qpn) != h->qp))
			drop(h);
	ut_unlock(&lock);
}

static struct handover *find(const struct eng_qp *qp) UT_REQUIRES(lock)
{
	struct handover *h;

	ut_list_each(h, &all, node)
		if (h->qp == qp && h->qpn == qp->qpn)
			return h;
	return NULL;
}

static struct handover *record(struct dev_adapter *a, struct eng_qp *qp)
{
	struct handover *h = ut_zalloc(sizeof(*h));

	if (!h)
		return NULL;
	h->a = a;
	h->qp = qp;
	h->qpn = qp->qpn;
	ut_lock(&lock);
	/* The newest first: find() then sees it before what an earlier one left. */
	ut_list_add_tail(all.next, &h->node);
	ut_unlock(&lock);
	return h;
}

static void forget_one(struct handover *h)
{
	ut_lock(&lock);
	drop(h);
	ut_unlock(&lock);
}

static bool under_way(const struct eng_qp *qp)
{
	struct handover *h;
	bool r;

	ut_lock(&lock);
	h = find(qp);
	r = h && !h->done;
	ut_unlock(&lock);
	return r;
}

static int negotiate(struct dev_adapter *a, struct eng_qp *qp, struct link_stream *s,
		     const struct dev_handover_want *w, struct handover *h)
	UT_REQUIRES(a->dev.lock)
{
	bool agreed = w->role == DEV_HANDOVER_AGREED;
	struct proto_stream_params params = {
		.initiator = agreed ? w->sent_request : w->role == DEV_HANDOVER_INITIATOR,
		.crc = w->crc,
		.markers_rx = w->markers_in,
		.markers_tx = agreed && w->markers_out,
		.ird = w->ird,
		.ord = w->ord,
		.rtr = (enum proto_rtr)w->rtr,
	};
	struct cm_param param = { .private_data = w->private_data, .private_len = w->private_len,
				  .qp_type = IBV_QPT_RC, .qpn = qp->qpn };

	params.await_first = !params.initiator && params.rtr == PROTO_RTR_NONE;
	return mpa_adopt(&a->cm, qp, s, (enum mpa_adopt_role)w->role, &params, &param, done, h);
}

/* *ret_taken: fd belongs to a stream, or did and was closed with it. Returns 0 or -errno. */
static int start(struct dev_adapter *a, struct eng_qp *qp, int fd,
		 const struct dev_handover_want *w, bool *ret_taken) UT_REQUIRES(a->dev.lock)
{
	struct link_streams *streams = dev_iwarp_streams(a);
	struct link_stream *s;
	struct handover *h;
	int r;

	*ret_taken = false;
	if (under_way(qp))
		return -EISCONN;
	h = record(a, qp);
	if (!h)
		return -ENOMEM;
	r = streams->ops->adopt(streams, fd, &s);
	if (r == 0) {
		*ret_taken = true;
		r = negotiate(a, qp, s, w, h);
	}
	if (r < 0) {
		forget_one(h);
		return r;
	}
	sweep(a, qp, h);
	/* The first bytes go out without waiting for an event. */
	a->machine->transmit(&a->dev, ut_now(), ENG_ACKS_NOW);
	return 0;
}

/* Hands over a copy of the descriptor: a refusal resets and closes the copy, and the caller keeps its
 * connection. */
static int with_copy(struct dev_adapter *a, struct eng_qp *qp, int fd,
		     const struct dev_handover_want *w)
{
	int copy = (int)DEV_SYS(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0), r;
	struct linger keep = { 0 };
	socklen_t n = sizeof(keep);
	bool taken;

	if (copy < 0)
		return copy;
	if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &keep, &n) < 0)
		n = 0;
	ut_lock(&a->dev.lock);
	r = start(a, qp, copy, w, &taken);
	eng_dev_unlock(&a->dev);
	if (r == 0)
		ut_close(fd);
	else if (n)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &keep, n);
	if (!taken)
		ut_close(copy);
	return r;
}

int dev_handover(struct eng_qp *qp, int fd, const struct dev_handover_want *w)
{
	struct dev_adapter *a = dev_adapter_of(qp->dev);
	int keep = errno, r;

	if (a->kind != &dev_iwarp_row)
		return -EOPNOTSUPP;
	if (dev_is_foreign(&a->dev))
		return -EIO;
	if (w->private_len > DEV_HANDOVER_PRIVATE)
		return -EINVAL;
	r = with_copy(a, qp, fd, w);
	errno = keep;
	return r;
}

/* The handshake itself goes on in the background thread. */
int dev_handover_wait(struct eng_qp *qp, int timeout_ms, struct dev_handover_result *ret)
	UT_NO_TSA
{
	uint64_t until = timeout_ms < 0 ? UINT64_MAX : ut_now() + (uint64_t)timeout_ms * UT_MS;
	struct handover *h;
	int r = 0;

	ut_lock(&lock);
	while ((h = find(qp)) && !h->done && r == 0)
		r = ut_cond_wait_or_end(&changed, &lock, until);
	if (!h) {
		r = -ENOTCONN;
	} else if (h->done) {
		*ret = h->result;
		drop(h);
		r = 0;
	}
	ut_unlock(&lock);
	return r;
}

void dev_handover_forget(struct dev_adapter *a)
{
	struct handover *h, *t;

	ut_lock(&lock);
	ut_list_each_safe(h, t, &all, node)
		if (h->a == a)
			drop(h);
	ut_unlock(&lock);
}
