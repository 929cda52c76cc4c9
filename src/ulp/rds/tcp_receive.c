/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/tcp_receive.h"

#include "ulp/rds/exchange.h"
#include "ulp/rds/keep.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define READ_SIZE 65536

/* A header is whole. Returns RDS_GOOD if the message can be taken. */
static enum rds_verdict take_header(struct rds_tcp *t)
{
	enum rds_verdict v = rds_header_get(&t->header, t->in_head);

	if (v != RDS_GOOD)
		return v;
	t->in = rds_message_new(t->header.len);
	if (!t->in)
		return RDS_NO_ROOM;
	t->in->sport = t->header.sport;
	t->in->dport = t->header.dport;
	return RDS_GOOD;
}

static void take_message(struct rds_tcp *t)
{
	struct rds_message *m = t->in;

	t->in = NULL;
	t->got = 0;
	if (t->held)
		rds_timer_stop(&t->retry);
	t->held = false;
	rds_in_done(&t->c, &t->header, m);
}

static size_t copy(uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	size_t n = room < len ? room : len;

	memcpy(to, from, n);
	return n;
}

/*
 * Takes octets of the stream. Without memory for a message the last octet of its header is not taken: it stays in the socket, which is readable
 * again.
 */
static enum rds_verdict take_octets(struct rds_tcp *t, const uint8_t *at, size_t len)
{
	enum rds_verdict v;
	size_t n, in_payload;

	do {
		if (t->got < sizeof(t->in_head)) {
			n = copy(t->in_head + t->got, sizeof(t->in_head) - t->got, at, len);
			t->got += n;
			t->stream += n;
			at += n;
			len -= n;
			v = t->got == sizeof(t->in_head) ? take_header(t) : RDS_GOOD;
			if (v == RDS_NO_ROOM) {
				t->got--;
				t->stream--;
			}
			if (v != RDS_GOOD || !t->in)
				return v;
		}
		in_payload = t->got - sizeof(t->in_head);
		n = copy(t->in->data + in_payload, t->in->len - in_payload, at, len);
		t->got += n;
		t->stream += n;
		at += n;
		len -= n;
		if (t->got == sizeof(t->in_head) + t->in->len)
			take_message(t);
	} while (len);
	return RDS_GOOD;
}

/* Removes what has been taken from the socket; what cannot be removed now is skipped later. */
static void drop(struct rds_tcp *t, uint8_t *buf, size_t len)
{
	while (len) {
		ssize_t n = recv(t->watch.fd, buf, len, MSG_DONTWAIT | MSG_TRUNC);

		if (n <= 0 && errno != EINTR)
			break;
		len -= n > 0 ? (size_t)n : 0;
	}
	t->skip += len;
}

int rds_tcp_receive(struct rds_tcp *t, unsigned most, enum rds_verdict *ret_v)
{
	static uint8_t buf[READ_SIZE];
	uint64_t before;
	ssize_t n;

	for (*ret_v = RDS_GOOD; most && *ret_v == RDS_GOOD; most--) {
		n = recv(t->watch.fd, buf, t->skip && t->skip < sizeof(buf) ? t->skip : sizeof(buf), MSG_DONTWAIT | MSG_PEEK);
		if (n <= 0)
			return n ? -errno : -ECONNRESET;
		if (t->skip) {
			t->skip -= (uint64_t)n;
		} else {
			before = t->stream;
			*ret_v = take_octets(t, buf, (size_t)n);
			rds_keep_conn(&t->c);
			n = *ret_v == RDS_NO_ROOM ? (ssize_t)(t->stream - before) : n;
		}
		drop(t, buf, (size_t)n);
		if (t->c.paused)
			return 0;
	}
	return 0;
}

int rds_tcp_drain(struct rds_tcp *t, enum rds_verdict *ret_v)
{
	int r;

	do {
		t->c.paused = false;
		r = rds_tcp_receive(t, RDS_TCP_READS, ret_v);
	} while (!r && *ret_v == RDS_GOOD);
	return r;
}
