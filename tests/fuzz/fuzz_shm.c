/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shm channel against a peer process of the same user: the handshake, the rings, the process page
 * with its exported tables, and passed descriptors. The peer's segments are the input: the target
 * writes them as the input says, and calls the channel in between. Whatever they say, the channel
 * reads and writes inside its mappings, answers each call, and leaves no descriptor and no mapping.
 *
 * The input: a byte of settings, then operations of one byte (enum op) and their arguments. Fields
 * that must fit to get on (tokens, magics, lengths) are true unless a bit asks for another value.
 */
#include "ground.h"
#include "input.h"

#include "host/layout.h"
#include "host/mailbox.h"
#include "host/shm/access.h"
#include "host/shm/area.h"
#include "host/shm/channel.h"
#include "host/shm/handshake.h"
#include "host/shm/inlet.h"
#include "host/shm/lane.h"
#include "host/shm/peer.h"
#include "host/shm/segment.h"
#include "host/slot.h"
#include "host/survivor.h"
#include "util/heap.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { QPN_LOW = 0x55, BUF = 4096, POLL_MAX = 8, OPS_MAX = 200 };
enum settings { NO_DIRECT = 2, NO_MESSAGES = 4, NO_PIDFD = 8, NO_NUMBER = 16 };

enum op {
	HELLO, READY, OPEN, EXPORT, ANY_MESSAGE, RECORD, RING_WORDS, CONSUMER_WORDS, PAGE_WORDS, TABLE_WORDS,
	POLL, RECEIVE, SEND, DATAGRAMS, ACCESS, QUIESCE, TIME, DEATH, FORGET, SLEEP, REACH, OPS
};

/* As in host/shm/handshake.c. */
struct hello {
	uint64_t token;
	uint8_t src[16], dst[16];
	uint64_t probe;
	uint32_t can, pad;
};

static struct input in;
static unsigned settings;
static struct host victim, peer;
static struct host_addr victim_at, peer_at;
static struct shm_channel *chan;
static struct shm_lane lane;
static struct shm_inlets inlets;
static uint8_t *own_area; /* of the victim */
static uint32_t own_area_id;
static uint8_t plain[BUF], other[BUF];
static unsigned waits_left;

/* What the peer has: its segments of the last handshake, writable. */
static struct {
	uint64_t hello_token; /* of its own HELLO */
	uint64_t asked_token; /* of the victim's */
	uint64_t ready_token; /* of a READY that it got */
	uint64_t word;        /* where the victim finds the token in the peer's memory */
	struct shm_ring *ring;
	struct shm_consumer *consumer;
	struct shm_page *page;
	int page_fd, life[2], memory;
	uint64_t tail;
} x;

/* --- host_user --- */

static unsigned members(struct host_addr *a, uint16_t ret[HOST_SLOTS])
{
	(void)a;
	ret[0] = (uint16_t)peer.slot;
	return 1;
}

static void nothing_addr(struct host_addr *a)
{
	(void)a;
}

static void nothing_host(struct host *h)
{
	(void)h;
}

static const struct host_user user = {
	.members = members, .member_died = nothing_addr, .moved = nothing_addr, .deadline = nothing_host,
	.socket = host_socket_here,
};

/* --- system calls --- */

/* The peer leaves its access after some waits, or dies. */
static void slept(void)
{
	if (waits_left && --waits_left)
		return;
	atomic_store(&x.page->access, 0);
}

static int instead(long nr, const long a[6], long *ret)
{
	(void)a;
	if (nr == SYS_pidfd_open && (settings & NO_PIDFD)) {
		*ret = -ENOSYS;
		return 1;
	}
	if ((nr == SYS_process_vm_readv || nr == SYS_process_vm_writev) && (settings & NO_NUMBER)) {
		*ret = -EPERM;
		return 1;
	}
	return 0;
}

/* --- both hosts --- */

static void join(struct host *h, struct host_addr *a, unsigned last)
{
	uint8_t addr[16];

	ground_address(last, addr);
	REQUIRE(host_init(h, &user, ground_port()) == 0);
	host_addr_init(a, addr, 0);
	/* In another place than the other host's, whose QPNs would be ours else. */
	h->slot = last;
	REQUIRE(host_slot_take(h, a, true) == 0);
	ut_list_add_tail(&h->addrs, &a->node);
}

static void leave(struct host *h, struct host_addr *a)
{
	host_unwatch(h, &a->mail);
	ut_list_del(&a->node);
	host_fini(h);
}

static void unmap_peer(void)
{
	shm_seg_unmap(x.ring, SHM_RING_SEG);
	shm_seg_unmap(x.consumer, sizeof(*x.consumer));
	shm_seg_unmap(x.page, sizeof(*x.page));
}

static void setup(void)
{
	void *area = NULL, *page = NULL;
	struct shm_area_view v;

	memset(&x, 0, sizeof(x));
	join(&victim, &victim_at, 1);
	join(&peer, &peer_at, 2);
	REQUIRE(host_watch(&victim, &victim_at.mail) == 0);
	REQUIRE(shm_channel_open(&victim, &chan) == 0);
	lane = (struct shm_lane){ 0 };
	inlets = (struct shm_inlets){ 0 };
	if (!(settings & NO_MESSAGES))
		shm_channel_messages(chan, !(settings & NO_DIRECT));
	x.page_fd = shm_seg_make("page", sizeof(*x.page), &page);
	x.page = page;
	x.page->magic = SHM_SLEEP_MAGIC;
	x.page->layout = host_layout;
	x.page->id = 77;
	x.hello_token = 0x1122334455667788;
	REQUIRE(pipe2(x.life, O_CLOEXEC | O_NONBLOCK) == 0);
	x.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	REQUIRE(shm_area_make(8192, &area) == 0);
	own_area = area;
	REQUIRE(shm_area_find((uintptr_t)area, 8192, &v));
	own_area_id = v.id;
}

static void teardown(void)
{
	slept();
	host_records_settle(&victim, &victim_at, UT_NEVER - 1);
	host_peer_watches_drop(&victim, NULL);
	shm_channel_close(chan);
	leave(&victim, &victim_at);
	leave(&peer, &peer_at);
	unmap_peer();
	for (int i = 0; i < 2; i++)
		if (x.life[i] >= 0)
			close(x.life[i]);
	close(x.page_fd);
	close(x.memory);
	REQUIRE(shm_area_free(own_area) == 0);
}

static struct ut_flow flow(void)
{
	struct ut_flow f = { .sport = 0xd123, .ttl = 64 };

	memcpy(f.src, victim_at.addr, 16);
	memcpy(f.dst, peer_at.addr, 16);
	return f;
}

static uint32_t peer_qpn(void)
{
	return (uint32_t)peer.slot << HOST_SLOT_SHIFT | QPN_LOW;
}

/* --- the peer's mailbox: it learns tokens --- */

static void peer_reads(void)
{
	struct host_message m;
	uint8_t body[4096];
	struct hello h;
	size_t len;

	while (host_receive(&peer, peer_at.mail.fd, &m, body, sizeof(body), &len)) {
		if (len != sizeof(h))
			continue;
		memcpy(&h, body, sizeof(h));
		if (m.type == HOST_MSG_SHM_HELLO)
			x.asked_token = h.token;
		else if (m.type == HOST_MSG_SHM_READY)
			x.ready_token = h.token;
	}
	host_fds_close(&peer);
}

static void victim_reads(void)
{
	struct host_message m;
	uint8_t body[4096];
	size_t len;

	host_look(&victim);
	while (host_receive(&victim, victim_at.mail.fd, &m, body, sizeof(body), &len))
		host_dispatch(&victim, &victim_at, &m, body, len);
	host_fds_close(&victim);
	peer_reads();
}

/* --- messages of the peer --- */

/* A descriptor that is none of a segment: by number. */
static int odd_descriptor(unsigned which)
{
	void *base = NULL;
	int fd, ends[2];

	switch (which % 7) {
	case 6: /* a write to it is SIGPIPE */
		REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
		close(ends[0]);
		return ends[1];
	case 0: return eventfd(0, EFD_CLOEXEC);
	case 1: return open("/dev/zero", O_RDWR | O_CLOEXEC);
	case 2:
		fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		REQUIRE(ftruncate(fd, SHM_RING_SEG) == 0);
		return fd;
	case 3: /* sealed, and of another length */
		fd = shm_seg_make("short", 4096, &base);
		shm_seg_unmap(base, 4096);
		return fd;
	case 4: /* longer by pages, which a segment may be */
		fd = shm_seg_make("long", sizeof(struct shm_page) + 40000, &base);
		((uint32_t *)base)[0] = SHM_SLEEP_MAGIC;
		((uint32_t *)base)[1] = host_layout;
		shm_seg_unmap(base, sizeof(struct shm_page) + 40000);
		return fd;
	default:
		fd = shm_seg_make("longer consumer", 20000, &base);
		((uint32_t *)base)[0] = SHM_CONSUMER_MAGIC;
		((uint32_t *)base)[1] = host_layout;
		shm_seg_unmap(base, 20000);
		return fd;
	}
}

static int segment(void **seg, size_t size, const char *name)
{
	shm_seg_unmap(*seg, size);
	*seg = NULL;
	return shm_seg_make(name, size, seg);
}

static void tell(enum host_message_type type, const void *body, size_t len, int *fds, int n)
{
	struct host_dest to = { .slot = (uint16_t)victim.slot, .addr = victim_at.addr };
	struct host_message m = { .type = (uint8_t)type };

	if (n)
		host_send_fds(&peer, &peer_at, to, &m, body, len, fds, n);
	else
		host_send(&peer, &peer_at, to, &m, body, len);
}

/* A message of the handshake. how: bit i = descriptor i is an odd one, 0x20 = one less, 0x40 = another token, 0x80 =
 * other fields follow. */
static void shake(enum host_message_type type, uint64_t token, uint64_t probe, int *fds, int n)
{
	unsigned how = in8(&in), odd = how & 31 ? in8(&in) : 0;
	struct hello h = { .token = token, .probe = probe, .can = 3 };
	int ours[HOST_FDS];

	memcpy(h.src, peer_at.addr, 16);
	memcpy(h.dst, victim_at.addr, 16);
	if (how & 0x40)
		h.token ^= in8(&in);
	if (how & 0x80)
		in_fill(&in, &h.src, sizeof(h) - offsetof(struct hello, src));
	x.word = h.token;
	memcpy(ours, fds, sizeof(ours));
	for (int i = 0; i < n; i++)
		if (how >> i & 1)
			ours[i] = odd_descriptor(odd + (unsigned)i);
	tell(type, &h, sizeof(h), ours, n - (how & 0x20 && n ? 1 : 0));
	for (int i = 0; i < n; i++)
		if (how >> i & 1)
			close(ours[i]);
}

static void hello(void)
{
	int none[HOST_FDS] = { x.page_fd };

	shake(HOST_MSG_SHM_HELLO, x.hello_token, (uintptr_t)&x.word, none, in8(&in) == 9);
	victim_reads();
}

static void ready(void)
{
	int fds[HOST_FDS], wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	fds[0] = segment((void **)&x.consumer, sizeof(*x.consumer), "consumer");
	x.consumer->magic = SHM_CONSUMER_MAGIC;
	x.consumer->layout = host_layout;
	fds[1] = x.page_fd;
	fds[2] = wake;
	fds[3] = x.life[0];
	fds[4] = x.memory;
	shake(HOST_MSG_SHM_READY, x.asked_token, (uintptr_t)&x.word, fds, in8(&in) == 9 ? 0 : HOST_FDS);
	close(fds[0]);
	close(wake);
	victim_reads();
}

static void open_ring(void)
{
	int fds[HOST_FDS];

	fds[0] = segment((void **)&x.ring, SHM_RING_SEG, "ring");
	shm_ring_init(x.ring);
	x.tail = 0;
	fds[1] = x.life[0];
	fds[2] = x.page_fd;
	shake(HOST_MSG_SHM_OPEN, x.ready_token, 0, fds, 3);
	close(fds[0]);
	victim_reads();
}

static void export_area(void)
{
	uint32_t id = in8(&in);
	int fd = shm_area_fd(own_area_id), fds[HOST_FDS] = { fd };

	shake(HOST_MSG_SHM_EXPORT, x.asked_token, id, fds, 1);
	close(fd);
	victim_reads();
}

static void any_message(void)
{
	uint8_t body[256] = { 0 };
	unsigned type = in8(&in), n = in8(&in) % (HOST_FDS + 1);
	int fds[HOST_FDS];
	size_t len = in8(&in);

	in_fill(&in, body, len);
	for (unsigned i = 0; i < n; i++)
		fds[i] = odd_descriptor(in8(&in));
	tell((enum host_message_type)type, body, len, fds, (int)n);
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
	victim_reads();
}

/* --- the peer's memory --- */

/* A number that a position may have: of the ring, a little beside it, or any. */
static uint64_t position(uint64_t about)
{
	unsigned how = in8(&in);

	switch (how & 3) {
	case 0: return about + SHM_LINE * (how >> 2);
	case 1: return about + (uint64_t)(int64_t)(int8_t)in8(&in);
	case 2: return about + SHM_RING_BYTES - SHM_LINE * (how >> 2);
	default: return in64(&in);
	}
}

/* Room of a record's payload: how long it is when its bytes are few. */
static uint32_t record_length(void)
{
	static const uint32_t long_ones[] = { 4000, 65535, 65536, 65537, 200000, 262144, 262145, SHM_WRAP };
	unsigned n = in8(&in);

	return n < 248 ? n : long_ones[n - 248];
}

/* Written by the rules, but for what the input says. */
static void record(void)
{
	unsigned how = in8(&in);
	struct shm_record h = { .bytes = record_length() };
	uint64_t mask = SHM_RING_BYTES - 1, end, need;
	uint8_t *at;

	if (!x.ring)
		return;
	x.tail &= ~(uint64_t)(SHM_LINE - 1);
	end = SHM_RING_BYTES - (x.tail & mask);
	if (how & 1)
		h.seg = in16(&in);
	if (how & 2)
		in_fill(&in, h.header, sizeof(h.header));
	need = (sizeof(h) + (h.bytes > SHM_MESSAGE_MAX ? 0 : h.bytes) + SHM_LINE - 1) & ~(uint64_t)(SHM_LINE - 1);
	if (need > end && !(how & 4)) {
		*(uint32_t *)(x.ring->data + (x.tail & mask)) = SHM_WRAP;
		x.tail += end;
	}
	at = x.ring->data + (x.tail & mask);
	memcpy(at, &h, sizeof(h));
	x.tail += need;
	atomic_store(&x.ring->tail, x.tail);
	if (!(how & 8) || h.bytes > SHM_INLINE_DATA)
		return;
	atomic_store(&x.ring->newest, (uint32_t)(x.tail / SHM_LINE));
	atomic_store(&x.ring->extra, how & 16 ? in32(&in) : h.bytes);
	for (unsigned i = 0; i < SHM_INLINE_WORDS; i++)
		atomic_store(&x.ring->inline_slot[i], i);
}

static void ring_words(void)
{
	unsigned how = in8(&in);

	if (!x.ring)
		return;
	if (how & 1)
		atomic_store(&x.ring->tail, x.tail = position(x.tail));
	if (how & 2)
		atomic_store(&x.ring->newest, (uint32_t)position(x.tail) / SHM_LINE);
	if (how & 4)
		atomic_store(&x.ring->extra, in32(&in));
	if (how & 8) {
		uint32_t at = in32(&in) % (SHM_RING_BYTES - 64);

		in_fill(&in, x.ring->data + at, in8(&in) & 63);
	}
	if (how & 16)
		x.ring->magic = in32(&in);
}

static void consumer_words(void)
{
	unsigned how = in8(&in);

	if (!x.consumer)
		return;
	if (how & 1)
		atomic_store(&x.consumer->head, position(how & 8 ? 0 : atomic_load(&x.consumer->head)));
	if (how & 2)
		atomic_store(&x.consumer->gone, how & 4);
}

static void page_words(void)
{
	unsigned how = in8(&in);

	if (how & 1)
		atomic_store(&x.page->on, in8(&in));
	if (how & 2)
		atomic_store(&x.page->access, in64(&in));
	if (how & 8)
		atomic_store(&x.page->life.owner, how & 16 ? FUTEX_OWNER_DIED : in32(&in));
	if (how & 32) /* in the middle of an access to the victim */
		atomic_store(&x.page->access, (uint64_t)shm_chan_of(chan)->page->id << 32 | 1);
	if (how & 64)
		x.page->magic = how & 128 ? SHM_SLEEP_MAGIC : in32(&in);
}

/* The tables are read through access_begin(): proto/ib has a target of its own for what they say. */
static void table_words(void)
{
	unsigned i = in16(&in) % SHM_EXPORTS;

	if (in8(&in) & 1)
		in_fill(&in, &x.page->export.keys[i], sizeof(x.page->export.keys[i]));
	else
		in_fill(&in, &x.page->export.qps[i], sizeof(x.page->export.qps[i]));
}

/* --- the victim --- */

static volatile uint8_t sink;

static void touch(const uint8_t *p, size_t n)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum ^= p[i];
	sink = sum;
}

static void one_message(const struct shm_message *m)
{
	unsigned how = in8(&in);
	const struct shm_channel_ops *ops = chan->ops;

	REQUIRE(m->len >= SHM_CHANNEL_HEADER_BYTES && m->len <= SHM_CHANNEL_HEADER_BYTES + SHM_CHANNEL_MAX);
	touch(m->data, m->len);
	if (how & 32)
		ops->export_area(chan, m, how & 64 ? own_area_id : in8(&in));
}

/* As the fast path of a protocol does. hold: the messages are left to release(). */
static void read_inlets(bool hold)
{
	uint32_t bytes;
	int n = 0;

	if (!shm_inlets_are_open(chan) || (!shm_inlets_lead(chan, &inlets) && !chan->ops->inlets(chan, &inlets)))
		return;
	for (unsigned i = shm_inlets_next(&inlets, 0); i < inlets.n; i = shm_inlets_next(&inlets, i + 1)) {
		const struct shm_inlet *v = &inlets.v[i];
		const uint8_t *at;

		while (n < POLL_MAX && shm_waiting(v->ring) && (at = shm_inlet_take(v, &bytes))) {
			struct shm_message m = shm_inlet_message(v, at, bytes);

			one_message(&m);
			n++;
		}
		if (!hold)
			shm_inlet_release(v);
	}
	if (hold && n)
		shm_inlets_hold(chan);
	shm_inlets_end(chan, n);
}

static void poll_messages(void)
{
	unsigned how = in8(&in);
	struct shm_message v[POLL_MAX];
	int n;

	if (how & 1) {
		read_inlets(how & 4);
	} else {
		n = chan->ops->poll(chan, v, how & 2 ? 1 : POLL_MAX);
		REQUIRE(n <= POLL_MAX);
		for (int i = 0; i < n; i++)
			one_message(&v[i]);
		if (!(how & 4))
			chan->ops->release(chan);
	}
	shm_channel_warm(chan);
	host_look(&victim);
	peer_reads();
}

static void receive(void)
{
	static uint8_t room[SHM_PAYLOAD_MAX];
	struct shm_datagrams d;
	size_t most = in8(&in) & 1 ? in16(&in) : sizeof(room);

	if (!shm_channel_recv(chan, &d, room, most))
		return;
	REQUIRE(d.bytes <= most && d.seg);
	touch(room, d.bytes);
}

static void send_message(void)
{
	static uint8_t data[SHM_CHANNEL_MAX];
	unsigned how = in8(&in);
	uint32_t bytes = how & 1 ? SHM_CHANNEL_MAX : in8(&in);
	struct ut_flow f = flow();

	if (how & 2) {
		struct shm_record *at;
		uint64_t skip;

		if (!shm_lane_leads(chan, &lane) && !chan->ops->lane(chan, &f, peer_qpn(), &lane))
			lane = (struct shm_lane){ 0 };
		at = lane.ring ? shm_lane_reserve(&lane, bytes, &skip) : NULL;
		if (at) {
			memset(at->header, 1, SHM_CHANNEL_HEADER_BYTES);
			memcpy(at + 1, data, bytes);
			shm_lane_commit(chan, &lane, at, bytes, skip, how & 4);
		}
	} else {
		struct shm_reservation at;

		if (chan->ops->reserve(chan, &f, peer_qpn(), bytes, &at) == 0) {
			at.more = how & 4;
			at.quiet = how & 8;
			memset(at.header, 1, SHM_CHANNEL_HEADER_BYTES);
			memset(at.data, 2, bytes);
			chan->ops->commit(chan, &at, bytes);
		}
	}
	if (how & 16)
		chan->ops->flush(chan);
	if (how & 32)
		chan->ops->notify(chan);
	chan->ops->consumed(chan, &f, peer_qpn());
	peer_reads();
}

static void send_datagrams(void)
{
	unsigned how = in8(&in);
	struct ut_flow f = flow();
	uint32_t qpn = how & 1 ? in32(&in) & 0xffffff : peer_qpn();

	shm_channel_leaving(chan, how & 2);
	if (how & 4)
		f.dst[12] = 0xe0; /* a group */
	shm_channel_send(chan, &f, qpn, 5, plain, how & 8 ? BUF : 10, 10);
	shm_channel_leaving(chan, false);
	peer_reads();
}

static void reach(void)
{
	struct ut_flow f = flow();

	if (in8(&in) & 1)
		f.src[15] ^= 7;
	chan->ops->reach(chan, &f, peer_qpn());
	peer_reads();
}

/* The number of a direct access stands in the victim's page as long as it lasts. */
static void copy(const struct shm_access *v, unsigned how)
{
	struct iovec iov[2] = { { plain, how & 16 ? BUF : 8 }, { other, how & 32 ? BUF : 0 } };
	uint64_t addr = how & 2 ? in64(&in) : (uintptr_t)other;

	chan->ops->access_copy(v, addr, iov, how & 32 ? 2 : 1, how & 4 && !(how & 2));
}

static void access_peer(void)
{
	unsigned how = in8(&in);
	const struct shm_export *t;
	struct ut_flow f = flow();
	struct shm_access v;
	uint8_t *at;

	t = chan->ops->access_begin(chan, &f, peer_qpn(), &v);
	if (!t)
		return;
	touch((const uint8_t *)t, sizeof(*t));
	if (how & 1)
		copy(&v, how);
	if (how & 8) {
		uint64_t off = in32(&in), len = in16(&in);

		at = chan->ops->access_attached(&v, in8(&in), off, len);
		if (at)
			touch(at, len);
	}
	chan->ops->access_end(chan);
	REQUIRE(!atomic_load(&shm_chan_of(chan)->page->access));
}

static void quiesce(void)
{
	unsigned how = in8(&in);

	waits_left = how & 1 ? 20001 : how;
	if (how & 2 && x.life[1] >= 0) {
		close(x.life[1]);
		x.life[1] = -1;
	}
	chan->ops->quiesce(chan);
	waits_left = 0;
}

static void death(void)
{
	if (x.life[1] >= 0)
		close(x.life[1]);
	x.life[1] = -1;
	host_look(&victim);
}

static void forget(void)
{
	shm_channel_forget_addr(chan, victim_at.addr);
}

static void go_to_sleep(void)
{
	unsigned how = in8(&in);

	shm_channel_sleep(chan, how & 1, how & 2);
	shm_channel_settle(chan);
	shm_handshake_await(shm_chan_of(chan), &(struct ut_flow){ .sport = 1 });
}

static void pass_time(void)
{
	static const uint64_t steps[] = { 1000000, 21000000, 301000000, 1001000000, 61000000000ull };

	ground_now += steps[in8(&in) % 5];
}

static void (*const ops[OPS])(void) = {
	[HELLO] = hello, [READY] = ready, [OPEN] = open_ring, [EXPORT] = export_area,
	[ANY_MESSAGE] = any_message, [RECORD] = record, [RING_WORDS] = ring_words,
	[CONSUMER_WORDS] = consumer_words, [PAGE_WORDS] = page_words, [TABLE_WORDS] = table_words,
	[POLL] = poll_messages, [RECEIVE] = receive, [SEND] = send_message, [DATAGRAMS] = send_datagrams,
	[ACCESS] = access_peer, [QUIESCE] = quiesce, [TIME] = pass_time, [DEATH] = death, [FORGET] = forget,
	[SLEEP] = go_to_sleep, [REACH] = reach,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = (struct input){ data, data + size };
	ground_enter();
	settings = in8(&in);
	ground_slept = slept;
	ground_syscall = instead;
	setup();
	for (int n = 0; in.at != in.end && n < OPS_MAX; n++)
		ops[in8(&in) % OPS]();
	teardown();
	ground_slept = NULL;
	ground_syscall = NULL;
	ground_leave();
	return 0;
}
