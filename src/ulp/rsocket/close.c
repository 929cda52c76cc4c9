/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ends. A goodbye is a message behind the data, so that a peer gets all of it first; closing then
 * waits until the data have been acknowledged, within the time that lingering allows. A peer that
 * died in silence ends the wait by the transport's own timeouts.
 */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define DRAIN_US (120ull * 1000000)

static bool can_say(struct rs_sock *rs)
{
	return rs->state == RS_OVER || (rs->state == RS_OPEN && rs->ctrl_free);
}

static bool drained(struct rs_sock *rs)
{
	return rs->state == RS_OVER ? !rs->peer_done || rs_all_sent(rs) : rs_all_sent(rs);
}

/* lock held. The message for what is now closed, or nothing while the other half lives on. */
static int say(struct rs_sock *rs, int how)
{
	uint32_t what = RSP_DISCONNECT;

	if (how != SHUT_RD)
		rs->writable = false;
	if (how != SHUT_WR)
		rs->readable = false;
	if (how == SHUT_RD && rs->writable)
		return 0;
	if (how == SHUT_WR && rs->readable)
		what = RSP_SHUTDOWN;
	if (rs_wait(rs, can_say, rs_now_us() + DRAIN_US))
		return -1;
	if (rs->state != RS_OPEN)
		return 0;
	if (rs_post_ctrl(rs, what)) {
		rs_over(rs, ECONNRESET);
		return -1;
	}
	rs_kick(rs);
	return 0;
}

static int shut_stream(struct rs_sock *rs, int how)
{
	bool half_open = rs->writable || rs->readable;
	int rc;

	rs_look(rs, false);
	if (rs->state == RS_OVER)
		return half_open ? 0 : rs_fail(ENOTCONN);
	if (rs->state != RS_OPEN && rs->state != RS_ACCEPTING) {
		if (rs->state == RS_LISTENING || rs->state == RS_IDLE)
			return rs_fail(ENOTCONN);
		rs_over(rs, ECONNABORTED);
		return 0;
	}
	if ((how == SHUT_RD && !rs->readable) || (how == SHUT_WR && !rs->writable))
		return 0;
	rc = say(rs, how);
	if (!rc && !rs->readable && !rs->writable) {
		rs_wait(rs, drained, rs_now_us() + DRAIN_US);
		rs_over(rs, 0);
	}
	rs_kick(rs);
	return rc;
}

RS_EXPORT int rshutdown(int socket, int how)
{
	struct rs_sock *rs = rs_get(socket);
	int rc;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		rc = rs_fail(EINVAL);
	else if (rs->type == SOCK_DGRAM)
		rc = 0; /* nothing is said to anyone */
	else
		rc = shut_stream(rs, how);
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return rc;
}

/* lock held */
static void hang_up(struct rs_sock *rs)
{
	bool drain = !rs->linger_on || rs->linger_s;
	uint64_t limit = rs->linger_on ? (uint64_t)rs->linger_s * 1000000 : DRAIN_US;

	if (rs->state != RS_OPEN && rs->state != RS_ACCEPTING)
		return;
	if (!drain) {
		rs_over(rs, ECONNABORTED);
		return;
	}
	/* Both halves were shut already and the goodbye said? Then only the wait is left. */
	if (rs->readable || rs->writable)
		say(rs, SHUT_RDWR);
	rs_wait(rs, drained, rs_now_us() + limit);
}

RS_EXPORT int rclose(int socket)
{
	struct rs_sock *rs = rs_get(socket);

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (rs->closing) {
		pthread_mutex_unlock(&rs->lock);
		rs_put(rs);
		return rs_fail(EBADF);
	}
	rs->closing = true;
	rs_kick(rs);
	if (rs->type == SOCK_STREAM)
		hang_up(rs);
	pthread_mutex_unlock(&rs->lock);
	rs_unpublish(rs);
	rs_put(rs); /* the table's */
	rs_put(rs);
	return 0;
}

static void free_stream(struct rs_sock *rs)
{
	if (rs->request) {
		struct rdma_cm_id *id = rs->request->id;

		rdma_ack_cm_event(rs->request);
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
	}
	if (rs->qp)
		rdma_disconnect(rs->id);
	rs_iomap_free(rs);
	rs_ep_free(rs);
	if (rs->id)
		rdma_destroy_id(rs->id);
	if (rs->chan)
		rdma_destroy_event_channel(rs->chan);
}

void rs_free(struct rs_sock *rs)
{
	if (rs->type == SOCK_STREAM)
		free_stream(rs);
	else
		rs_dg_free(rs);
	if (rs->kick_fd >= 0)
		close(rs->kick_fd);
	close(rs->fd);
	pthread_mutex_destroy(&rs->lock);
	pthread_mutex_destroy(&rs->r_lock);
	pthread_mutex_destroy(&rs->s_lock);
	free(rs->route);
	free(rs);
}
