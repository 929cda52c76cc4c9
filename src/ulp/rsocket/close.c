/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rshutdown() and rclose(). Sent data is acknowledged before the disconnect, unless the program set
 * SO_LINGER to less or the peer's program reads nothing for a minute.
 */
#include "ulp/rsocket/close.h"
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/post.h"
#include "ulp/rsocket/wait.h"

#define DRAIN_MS 60000

static int drain_time(const struct rs_sock *s)
{
	if (!s->o.linger)
		return DRAIN_MS;
	return s->o.linger_s < 1000000 ? s->o.linger_s * 1000 : 1000000000;
}

/* Returns the control message to send, or -1 for none. Called with s and c held. */
static int closing(struct rs_sock *s, int how)
{
	bool wrote = s->wr_open;

	if (how != SHUT_WR) {
		s->shut_rd = true;
		rs_sleepers_wake(s->sleepers, -1);
	}
	if (how != SHUT_RD)
		s->wr_open = false;
	if (!s->wr_open && (s->shut_rd || !s->rd_open))
		return RS_CTRL_DISCONNECT;
	return wrote && !s->wr_open ? RS_CTRL_SHUTDOWN : -1;
}

/* Takes s, so that no thread is between the Write of a piece and its message. */
static int send_ctrl(struct rs_sock *s, int ctrl, int wait_ms)
{
	int r;

	for (;;) {
		pthread_mutex_lock(&s->s);
		pthread_mutex_lock(&s->c);
		if (s->state != RS_CONNECTED)
			r = 0;
		else if (rs_flow_ctrl_take(&s->flow, 1))
			r = rs_post_message(s, rs_msg(RS_OP_CTRL, (uint32_t)ctrl), RS_WR_CTRL);
		else
			r = -EAGAIN;
		pthread_mutex_unlock(&s->c);
		pthread_mutex_unlock(&s->s);
		if (r != -EAGAIN)
			return r;
		r = rs_wait(s, rs_test_ctrl, false, wait_ms);
		if (r)
			return r;
	}
}

static void go_down(struct rs_sock *s)
{
	int state = rs_cancel_off();

	pthread_mutex_lock(&s->c);
	rs_end(s, RS_GONE, 0);
	pthread_mutex_unlock(&s->c);
	pthread_mutex_lock(&s->m);
	rs_conn_down(s);
	pthread_mutex_unlock(&s->m);
	rs_cancel_back(state);
}

static int shutdown_stream(struct rs_sock *s, int how)
{
	int ms = drain_time(s), ctrl, r;

	pthread_mutex_lock(&s->s);
	pthread_mutex_lock(&s->c);
	rs_cq_drive(s);
	ctrl = closing(s, how);
	pthread_mutex_unlock(&s->c);
	pthread_mutex_unlock(&s->s);
	if (ctrl < 0)
		return 0;
	r = send_ctrl(s, ctrl, ms);
	if (!r)
		r = rs_wait(s, rs_test_idle, false, ms);
	if (ctrl == RS_CTRL_DISCONNECT || rs_ended(s->state))
		go_down(s);
	return r == -EINTR ? r : 0;
}

int rs_shutdown(struct rs_sock *s, int how)
{
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	if (s->type == SOCK_DGRAM)
		return rs_dgram_shutdown(s, how);
	if (s->state == RS_LISTENING && how != SHUT_WR)
		return 0;
	if (s->state == RS_CONNECTED)
		return shutdown_stream(s, how);
	return rs_ended(s->state) ? 0 : -ENOTCONN;
}

static void end_stream(struct rs_sock *s)
{
	if (s->state == RS_ACCEPTING)
		rs_conn_step(s);
	if (s->state == RS_CONNECTED && !(s->o.linger && !s->o.linger_s)) {
		/* A signal does not end the wait for acknowledgements: rclose() cannot be repeated. */
		while (shutdown_stream(s, SHUT_RDWR) == -EINTR)
			;
	}
	pthread_mutex_lock(&s->c);
	if (s->state == RS_LISTENING)
		s->state = RS_GONE;
	pthread_mutex_unlock(&s->c);
	go_down(s);
}

void rs_close(struct rs_sock *s)
{
	if (s->type == SOCK_DGRAM)
		rs_dgram_close(s);
	else
		end_stream(s);
}
