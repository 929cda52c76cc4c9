/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trains that stay with the kernel for a second look: taken into the right places, or not wanted
 * after all, or taken into a page that is gone; none is lost, doubled or mixed up with the next.
 */
#include "link_udp_util.h"

#include "host/host.h"

#include <errno.h>
#include <sys/mman.h>

#define SEG 1064u
#define HEAD 40u /* bytes of a packet that belong into no buffer */
#define PACKETS 20u

static uint8_t out[SEG * PACKETS], mine[SEG * PACKETS];
static uint16_t port;

static struct link *open_here(void)
{
	struct link *l;

	CHECK(udp_open(port, &l) == 0 && l->ops->add_addr(l, LO4, 0) == 0);
	return l;
}

static void send_train(struct link *a, struct link *b, unsigned salt)
{
	struct ut_flow f = flow_to(LO4, LO4, 0);

	for (unsigned i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(i * 7 + i / 251 + salt * 13);
	for (unsigned i = 0; i < PACKETS; i++)
		put_bth(out + (size_t)i * SEG, b->qpn_fixed | 0x1234);
	CHECK(a->ops->send(a, &f, 0, out, sizeof(out), SEG) == 0);
}

/* All of one train; with room for `max` a call. Returns where it was in the stage. */
static size_t receive(struct link *b, int max)
{
	struct link_rx v[PACKETS];
	size_t off = 0;

	for (unsigned got = 0; got < PACKETS;) {
		int k = recv_wait(b, v, max, 5 * UT_S);

		CHECK(k > 0);
		off = got ? off : v[0].off;
		for (int i = 0; i < k; i++, got++)
			CHECK(v[i].len == SEG && !memcmp(v[i].data, out + (size_t)got * SEG, SEG));
	}
	return off;
}

/* The payload of each packet in the order of the train, the heads dropped. */
static int pieces(struct iovec *iov, uint8_t *to)
{
	static uint8_t sink[HEAD];
	int n = 0;

	for (unsigned i = 0; i < PACKETS; i++) {
		iov[n++] = (struct iovec){ sink, HEAD };
		iov[n++] = (struct iovec){ to + (size_t)i * (SEG - HEAD), SEG - HEAD };
	}
	return n;
}

static void taken(struct link *a, struct link *b, unsigned salt)
{
	struct iovec iov[2 * PACKETS];
	size_t off;

	send_train(a, b, salt);
	b->keep = true;
	off = receive(b, PACKETS);
	CHECK(b->kept_len == sizeof(out) && b->kept_off == off);
	memset(mine, 0, sizeof(mine));
	CHECK(b->ops->take(b, iov, pieces(iov, mine)) == 0);
	CHECK(!b->kept_len && b->ops->take(b, iov, 1) < 0);
	for (unsigned i = 0; i < PACKETS; i++)
		CHECK(!memcmp(mine + (size_t)i * (SEG - HEAD), out + (size_t)i * SEG + HEAD,
			      SEG - HEAD));
}

/* Not wanted: by a caller with room for all, and by one with room for a few. */
static void left(struct link *a, struct link *b, int max)
{
	struct link_rx v[PACKETS];

	b->keep = true;
	send_train(a, b, 77);
	receive(b, max);
	CHECK(b->ops->recv(b, v, PACKETS) == 0 && !b->kept_len);
	taken(a, b, 78);
	/* And two in the queue at once: the second is not taken for the first. */
	send_train(a, b, 79);
	send_train(a, b, 79);
	receive(b, max);
	receive(b, max);
	CHECK(b->ops->recv(b, v, PACKETS) == 0);
}

static void gone(struct link *a, struct link *b)
{
	uint8_t *mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov[2 * PACKETS];
	struct link_rx v[PACKETS];
	size_t off;
	int n = pieces(iov, mem);

	CHECK(mem != MAP_FAILED && munmap(mem + 8192, 4096) == 0);
	b->keep = true;
	send_train(a, b, 80);
	off = receive(b, PACKETS);
	CHECK(b->ops->take(b, iov, n) == -EFAULT && !b->kept_len);
	/* The stage has it still, and nothing comes twice. */
	CHECK(!memcmp(b->rx_stage->base + off, out, sizeof(out)));
	CHECK(b->ops->recv(b, v, PACKETS) == 0);
	munmap(mem, 65536);
}

/* A datagram without a receiver is looked at once, too, however often the link asks in one call. */
static void not_ours(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct link *b = open_here();
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct udp_stats st = { 0 };
	struct link_rx v[PACKETS];
	uint64_t end = ut_now() + 10 * UT_S;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	b->keep = true;
	put_bth(out, 200u << HOST_SLOT_SHIFT | 1);
	for (int i = 0; i < 200; i++)
		CHECK(sendto(fd, out, SEG, 0, (struct sockaddr *)&to, sizeof(to)) == SEG);
	while (st.dropped < 200 && ut_now() < end) {
		CHECK(b->ops->recv(b, v, PACKETS) == 0);
		udp_stats(b, &st);
	}
	for (int i = 0; i < 100; i++)
		CHECK(b->ops->recv(b, v, PACKETS) == 0);
	udp_stats(b, &st);
	CHECK(st.dropped == 200);
	close(fd);
	b->ops->close(b);
}

/* The address goes while a train is kept. */
static void address_gone(struct link *a, struct link *b)
{
	struct iovec iov[2 * PACKETS];
	struct link_rx v[PACKETS];

	b->keep = true;
	send_train(a, b, 81);
	receive(b, PACKETS);
	b->ops->del_addr(b, LO4);
	CHECK(b->ops->take(b, iov, pieces(iov, mine)) < 0);
	CHECK(b->ops->recv(b, v, PACKETS) == 0);
}

int main(void)
{
	struct link *a, *b;

	port = free_port();
	a = open_here();
	b = open_here();
	if (a->train_packets == 1) {
		fprintf(stderr, "no segmentation offload here, so no trains\n");
		return 77;
	}
	for (unsigned i = 0; i < 50; i++)
		taken(a, b, i);
	left(a, b, PACKETS);
	left(a, b, 3);
	gone(a, b);
	b->keep = false;
	send_train(a, b, 82);
	receive(b, PACKETS);
	CHECK(!b->kept_len);
	address_gone(a, b);
	a->ops->close(a);
	b->ops->close(b);
	not_ours();
	return 0;
}
