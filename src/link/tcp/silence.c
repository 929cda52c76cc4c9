/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/tcp/silence.h"

#include "link/tcp/poll.h"
#include "link/tcp/sock.h"
#include "util/clock.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define QUESTIONS 3 /* as keepalive asks: repetitions, or probes of a closed window, without any answer */

static uint64_t interval(const struct tcp_place *p)
{
	return p->base.keepalive * UT_S;
}

/* Those that sent first are first in the list: all wait the same time. */
static void look_again(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);

	s->look_at = p->now + interval(p);
	ut_list_add_tail(&p->in_flight, &s->flight_node);
}

void tcp_silence_sent(struct tcp_stream *s)
{
	s->sent_at = tcp_place_of(s)->now;
	look_again(s);
}

/* Returns true if nothing waits for an acknowledgement. *ret_dead: the peer's host gives none any more. */
static bool is_settled(const struct tcp_stream *s, bool *ret_dead)
{
	const struct tcp_place *p = tcp_place_of(s);
	uint64_t limit = TCP_SILENCE * interval(p), waits = p->now - s->sent_at;
	struct tcp_info i = { 0 };
	socklen_t n = sizeof(i);

	*ret_dead = false;
	if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &i, &n) < 0)
		return true;
	*ret_dead = waits >= limit && i.tcpi_last_ack_recv * UT_MS >= limit &&
		    (i.tcpi_retransmits >= QUESTIONS || i.tcpi_probes >= QUESTIONS);
	return !tcp_sock_unacked(s->fd);
}

static void end(struct tcp_stream *s)
{
	s->rx_over = s->news = true;
	s->error = ETIMEDOUT;
	tcp_poll_remove(s);
	tcp_todo(s);
	tcp_watch_stream(s);
}

void tcp_silence_look(struct tcp_place *p)
{
	struct tcp_stream *s;
	bool dead;

	while ((s = ut_list_first(&p->in_flight, struct tcp_stream, flight_node)) && s->look_at <= p->now) {
		ut_list_del(&s->flight_node);
		if (s->state != TCP_S_OPEN || is_settled(s, &dead))
			continue;
		if (dead && !s->rx_over)
			end(s);
		else
			look_again(s);
	}
}
