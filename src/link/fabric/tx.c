/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/local.h"

#include "host/mailbox.h"
#include "host/outbox.h"
#include "host/service.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/syscall.h"
#include "wire/ib_link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

/* A fabric process holds a sender for a second at most (tools/fabric/adapters.h). One that does not read for so long
 * loses packets, as a stopped switch. */
#define FULL_NS (2000 * UT_MS)
#define FORWARD_BYTES 8192u  /* of a datagram that is passed on */

static struct wire_link_packet headers(const struct ut_flow *f, size_t ib_len)
{
	struct wire_link_packet p = {
		.lrh = { .sl = f->sl, .slid = f->slid, .dlid = f->dlid,
			 .lnh = f->grh ? WIRE_LNH_GLOBAL : WIRE_LNH_LOCAL },
		.grh = { .flow_label = f->scope, .tclass = f->tos, .hop_lmt = f->ttl },
		.ib_len = ib_len,
	};

	memcpy(p.grh.sgid, f->src, 16);
	memcpy(p.grh.dgid, f->dst, 16);
	return p;
}

static int sent(struct fabric_link *n, long r)
{
	uint64_t now;

	if (r >= 0) {
		n->full_since = 0;
		n->stats.sent++;
		return 0;
	}
	if (r != -EAGAIN) {
		n->gone = n->gone || r == -EPIPE || r == -ECONNRESET;
		return n->gone ? -ENETDOWN : (int)r;
	}
	now = ut_now();
	if (!n->full_since)
		n->full_since = now;
	if (now - n->full_since < FULL_NS)
		return -EAGAIN;
	n->stats.dropped++;
	return -ENOBUFS;
}

int fabric_tell(struct fabric_link *n, const struct pkt_message *m)
{
	struct pollfd p = { .fd = n->data.fd, .events = POLLOUT };
	struct timespec t = { FULL_NS / UT_S, 0 };
	size_t len = pkt_length(m->head.type);
	long r = UT_SYS(SYS_sendto, n->data.fd, m, len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);

	if (r == -EAGAIN && UT_SYS(SYS_ppoll, &p, 1, &t, NULL, 8) > 0)
		r = UT_SYS(SYS_sendto, n->data.fd, m, len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	return sent(n, r);
}

/* The packets stay where they are; headers of LRH and GRH go between them. Only the last packet may be shorter. */
int fabric_send(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data, size_t len, size_t seg)
{
	struct fabric_link *n = fabric_of(l);
	struct iovec iov[1 + 2 * PKT_TRAIN_PACKETS];
	uint8_t usual[WIRE_LINK_HDRS_MAX], last[WIRE_LINK_HDRS_MAX];
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 1 };
	struct pkt_head head = pkt_head(PKT_TRAIN);
	struct wire_link_packet p;
	size_t rest = seg ? len % seg : 0, hdr;
	int r;

	if (!f->lids || !seg || !len || len > l->train_bytes || (len + seg - 1) / seg > l->train_packets)
		return -EMSGSIZE;
	if (n->gone)
		return -ENETDOWN;
	p = headers(f, seg < len ? seg : len);
	hdr = wire_link_build(usual, sizeof(usual), &p);
	p = headers(f, rest ? rest : seg);
	if (!hdr || !wire_link_build(last, sizeof(last), &p))
		return -EMSGSIZE;
	head.seg = (uint16_t)(hdr + (seg < len ? seg : len));
	iov[0] = (struct iovec){ &head, sizeof(head) };
	for (size_t off = 0; off < len; off += seg) {
		size_t part = len - off < seg ? len - off : seg;

		iov[h.msg_iovlen++] = (struct iovec){ part < seg ? last : usual, hdr };
		iov[h.msg_iovlen++] = (struct iovec){ (void *)(data + off), part };
	}
	r = fabric_local_send(n, qpn, &(struct fabric_packets){ f, iov + 1, (int)h.msg_iovlen - 1, head.seg });
	if (r <= 0)
		return r;
	return sent(n, UT_SYS(SYS_sendmsg, n->data.fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* The datagram as it came from the fabric, LRH to ICRC. Returns its length, or 0. */
static size_t rebuild(const struct link_rx *rx, uint8_t buf[FORWARD_BYTES])
{
	struct ut_flow f = { .slid = rx->slid, .dlid = rx->dlid, .sl = rx->sl, .lids = 1, .grh = rx->grh,
			     .scope = rx->flow_label, .tos = rx->tos, .ttl = rx->ttl };
	struct wire_link_packet p;
	size_t hdr;

	memcpy(f.src, rx->src, 16);
	memcpy(f.dst, rx->dst, 16);
	p = headers(&f, rx->len);
	hdr = wire_link_build(buf, FORWARD_BYTES, &p);
	if (!hdr || rx->len > FORWARD_BYTES - hdr)
		return 0;
	memcpy(buf + hdr, rx->data, rx->len);
	return hdr + rx->len;
}

int fabric_pass_on(struct link *l, const struct link_rx *rx, uint64_t service)
{
	struct fabric_link *n = fabric_of(l);
	struct host_message m = { .type = HOST_MSG_FORWARD };
	uint8_t buf[FORWARD_BYTES];
	size_t len;
	int r;

	/* A datagram that was passed came to the claimant: it has no other one now. */
	if (rx->passed || n->host.slot == HOST_NO_SLOT || host_service_is_ours(&n->host, n->at.addr, service))
		return 0;
	len = rebuild(rx, buf);
	if (!len)
		return 0;
	r = host_outbox_send(&n->host, &n->at, host_to_service(service), &m, buf, len);
	if (r == -ECONNREFUSED)
		return 0;
	if (r == 0) {
		n->stats.passed_on++;
	} else {
		n->stats.dropped++;
		ut_debug("a request for service %" PRIx64 " cannot be passed on: %s", service, strerror(-r));
	}
	return 1;
}
