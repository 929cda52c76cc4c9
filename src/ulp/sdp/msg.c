/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/msg.h"

#include <netinet/in.h>

const char *const sdp_rules[SDP_NR_VERDICTS] = {
	[SDP_GOOD] = "nothing",
	[SDP_SHORT] = "a message is shorter than its header",
	[SDP_BAD_LEN] = "the length in a header is not that of the message",
	[SDP_BAD_MID] = "a message identifier is not one of annex A4",
	[SDP_BAD_VERSION] = "the version of the Hello is neither 1 nor 2",
	[SDP_NO_ADVERTS] = "the Hello takes no zero-copy advertisement",
	[SDP_SMALL_RECEIVE] = "the receives of the Hello are too small",
	[SDP_NO_BUFS] = "the Hello has no receives posted",
	[SDP_BAD_FAMILY] = "the Hello names addresses that are neither IPv4 nor IPv6",
	[SDP_BAD_SEQ] = "a message number does not follow the one before",
	[SDP_BAD_ACK] = "an acknowledged message number has not been sent",
	[SDP_NO_CREDIT] = "a message has been sent without a credit",
	[SDP_TWO_ADVERTS] = "a second SrcAvail comes before the end of the first",
	[SDP_DATA_IN_ADVERT] = "octets of Data come before the end of a SrcAvail",
	[SDP_LONG_PAYLOAD] = "a SrcAvail carries more octets than it advertises",
	[SDP_NO_ADVERT] = "an advertisement is answered that is not outstanding",
	[SDP_LONG_COMPL] = "an RdmaRdCompl or RdmaWrCompl names more octets than were advertised",
	[SDP_AFTER_DISCONN] = "a message with data follows DisConn",
	[SDP_SUSPENDED] = "a message follows the SuspComm or SuspCommAck of its sender",
	[SDP_NOT_SUSPENDED] = "a SuspCommAck answers no SuspComm",
	[SDP_BAD_SERVICE] = "a SuspComm names a service that is not one of SDP",
	[SDP_BAD_MODE] = "a ModeChange asks for a change that its sender may not make",
	[SDP_ADVERT_MODE] = "an advertisement is not of the mode of its direction",
	[SDP_MANY_ADVERTS] = "more advertisements are outstanding than the Hello permits",
	[SDP_SHORT_SINK] = "a SinkAvail takes fewer octets than a Data message has",
	[SDP_TWO_RESIZES] = "a second ChRcvBuf comes before the answer to the first",
	[SDP_NO_RESIZE] = "a ChRcvBufAck answers no ChRcvBuf",
};

size_t sdp_header_len(uint8_t mid)
{
	switch (mid) {
	case WIRE_SDP_DISCONN:
	case WIRE_SDP_ABORT_CONN:
	case WIRE_SDP_SEND_SM:
	case WIRE_SDP_SRC_AVAIL_CANCEL:
	case WIRE_SDP_SINK_AVAIL_CANCEL:
	case WIRE_SDP_SINK_CANCEL_ACK:
	case WIRE_SDP_SUSP_COMM_ACK:
	case WIRE_SDP_DATA:
		return WIRE_SDP_BSDH_LEN;
	case WIRE_SDP_RDMA_WR_COMPL:
	case WIRE_SDP_RDMA_RD_COMPL:
	case WIRE_SDP_MODE_CHANGE:
	case WIRE_SDP_CH_RCV_BUF:
	case WIRE_SDP_CH_RCV_BUF_ACK:
		return WIRE_SDP_BSDH_LEN + WIRE_SDP_NUMBER_LEN;
	case WIRE_SDP_SUSP_COMM:
		return WIRE_SDP_BSDH_LEN + WIRE_SDP_SUSPEND_LEN;
	case WIRE_SDP_SRC_AVAIL:
		return WIRE_SDP_BSDH_LEN + WIRE_SDP_SRC_AVAIL_LEN;
	case WIRE_SDP_SINK_AVAIL:
		return WIRE_SDP_BSDH_LEN + WIRE_SDP_SINK_AVAIL_LEN;
	default:
		return 0;
	}
}

static void get_extended(struct sdp_msg *m, const uint8_t *ext, size_t len)
{
	if (len == WIRE_SDP_NUMBER_LEN)
		m->number = m->mid == WIRE_SDP_MODE_CHANGE
			? (uint32_t)(wire_get_SDP_MODE_send(ext) << 3 | wire_get_SDP_MODE_mode(ext))
			: (uint32_t)wire_get_SDP_NUMBER_value(ext);
	if (len == WIRE_SDP_SUSPEND_LEN)
		m->service = wire_get_SDP_SUSPEND_service(ext);
	if (len < WIRE_SDP_SRC_AVAIL_LEN)
		return;
	m->length = (uint32_t)wire_get_SDP_AVAIL_length(ext);
	m->rkey = (uint32_t)wire_get_SDP_AVAIL_rkey(ext);
	m->vaddr = wire_get_SDP_AVAIL_vaddr(ext);
	if (len >= WIRE_SDP_SINK_AVAIL_LEN)
		m->kept = (uint32_t)wire_get_SDP_SINK_kept(ext);
}

enum sdp_verdict sdp_msg_get(struct sdp_msg *m, const uint8_t *data, size_t len)
{
	size_t header;

	if (len < WIRE_SDP_BSDH_LEN)
		return SDP_SHORT;
	*m = (struct sdp_msg){
		.mid = (uint8_t)wire_get_SDP_BSDH_mid(data),
		.oob_pres = wire_get_SDP_BSDH_oob_pres(data), .oob_pend = wire_get_SDP_BSDH_oob_pend(data),
		.req_pipe = wire_get_SDP_BSDH_req_pipe(data), .bufs = (uint16_t)wire_get_SDP_BSDH_bufs(data),
		.seq = (uint32_t)wire_get_SDP_BSDH_mseq(data), .ack = (uint32_t)wire_get_SDP_BSDH_mseq_ack(data),
	};
	header = sdp_header_len(m->mid);
	if (!header)
		return SDP_BAD_MID;
	if (len < header)
		return SDP_SHORT;
	if (wire_get_SDP_BSDH_len(data) != len || (!(m->mid & 0xf0) && len != header))
		return SDP_BAD_LEN;
	get_extended(m, data + WIRE_SDP_BSDH_LEN, header - WIRE_SDP_BSDH_LEN);
	m->payload = data + header;
	m->payload_len = (uint32_t)(len - header);
	return m->mid == WIRE_SDP_SRC_AVAIL && m->payload_len > m->length ? SDP_LONG_PAYLOAD : SDP_GOOD;
}

size_t sdp_msg_put(uint8_t *out, const struct sdp_msg *m)
{
	size_t header = sdp_header_len(m->mid), len = header + m->payload_len;
	uint8_t *ext = out + WIRE_SDP_BSDH_LEN;

	memset(out, 0, header);
	wire_set_SDP_BSDH_mid(out, m->mid);
	wire_set_SDP_BSDH_oob_pres(out, m->oob_pres);
	wire_set_SDP_BSDH_oob_pend(out, m->oob_pend);
	wire_set_SDP_BSDH_req_pipe(out, m->req_pipe);
	wire_set_SDP_BSDH_bufs(out, m->bufs);
	wire_set_SDP_BSDH_len(out, len);
	wire_set_SDP_BSDH_mseq(out, m->seq);
	wire_set_SDP_BSDH_mseq_ack(out, m->ack);
	if (m->mid == WIRE_SDP_MODE_CHANGE) {
		wire_set_SDP_MODE_send(ext, m->number >> 3 & 1);
		wire_set_SDP_MODE_mode(ext, m->number & 7);
	} else if (header == WIRE_SDP_BSDH_LEN + WIRE_SDP_NUMBER_LEN) {
		wire_set_SDP_NUMBER_value(ext, m->number);
	} else if (m->mid == WIRE_SDP_SUSP_COMM) {
		wire_set_SDP_SUSPEND_service(ext, m->service);
	}
	if (header < WIRE_SDP_BSDH_LEN + WIRE_SDP_SRC_AVAIL_LEN)
		return len;
	wire_set_SDP_AVAIL_length(ext, m->length);
	wire_set_SDP_AVAIL_rkey(ext, m->rkey);
	wire_set_SDP_AVAIL_vaddr(ext, m->vaddr);
	if (m->mid == WIRE_SDP_SINK_AVAIL)
		wire_set_SDP_SINK_kept(ext, m->kept);
	return len;
}

/* --- Hello and HelloAck --- */

/* Hello is number 0 of its sender and acknowledges nothing. */
static void put_base(uint8_t *out, uint8_t mid, const struct sdp_hello *h, size_t len)
{
	memset(out, 0, len);
	wire_set_SDP_BSDH_mid(out, mid);
	wire_set_SDP_BSDH_bufs(out, h->bufs);
	wire_set_SDP_BSDH_len(out, len);
}

/* IPv4 in the last four octets, the rest zero. */
static void put_addr(uint8_t out[16], const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;

	memset(out, 0, 16);
	if (ss->ss_family == AF_INET)
		memcpy(out + 12, &in->sin_addr, 4);
	else
		memcpy(out, &in6->sin6_addr, 16);
}

static void get_addr(struct sockaddr_storage *ret, bool v4, const uint8_t addr[16], uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = v4 ? AF_INET : AF_INET6;
	in->sin_port = htons(port); /* the same place in both */
	if (v4)
		memcpy(&in->sin_addr, addr + 12, 4);
	else
		memcpy(&in6->sin6_addr, addr, 16);
}

void sdp_hello_put(uint8_t out[WIRE_SDP_HELLO_LEN], const struct sdp_hello *h)
{
	uint8_t addr[16];

	put_base(out, WIRE_SDP_HELLO, h, WIRE_SDP_HELLO_LEN);
	wire_set_SDP_HELLO_version_major(out, SDP_VERSION);
	wire_set_SDP_HELLO_version_minor(out, SDP_VERSION);
	wire_set_SDP_HELLO_ip_version(out, h->from.ss_family == AF_INET ? 4 : 6);
	wire_set_SDP_HELLO_max_adverts(out, h->max_adverts);
	wire_set_SDP_HELLO_wanted_size(out, h->wanted_size);
	wire_set_SDP_HELLO_receive_size(out, h->receive_size);
	wire_set_SDP_HELLO_port(out, ntohs(((const struct sockaddr_in *)&h->from)->sin_port));
	put_addr(addr, &h->from);
	wire_set_SDP_HELLO_src_addr(out, addr);
	put_addr(addr, &h->to);
	wire_set_SDP_HELLO_dst_addr(out, addr);
}

static enum sdp_verdict check_ends(const struct sdp_hello *h)
{
	if (!h->max_adverts)
		return SDP_NO_ADVERTS;
	if (h->receive_size < SDP_RECEIVE_MIN)
		return SDP_SMALL_RECEIVE;
	return h->bufs ? SDP_GOOD : SDP_NO_BUFS;
}

static bool version_is_known(uint64_t major)
{
	return major == 1 || major == SDP_VERSION;
}

enum sdp_verdict sdp_hello_get(struct sdp_hello *h, const uint8_t *data, size_t len)
{
	unsigned ip;

	if (len < WIRE_SDP_HELLO_MIN)
		return SDP_SHORT;
	if (wire_get_SDP_BSDH_mid(data) != WIRE_SDP_HELLO)
		return SDP_BAD_MID;
	if (!version_is_known(wire_get_SDP_HELLO_version_major(data)))
		return SDP_BAD_VERSION;
	ip = (unsigned)wire_get_SDP_HELLO_ip_version(data);
	if (ip != 4 && ip != 6)
		return SDP_BAD_FAMILY;
	*h = (struct sdp_hello){
		.bufs = (uint16_t)wire_get_SDP_BSDH_bufs(data),
		.receive_size = (uint32_t)wire_get_SDP_HELLO_receive_size(data),
		.wanted_size = (uint32_t)wire_get_SDP_HELLO_wanted_size(data),
		.max_adverts = (uint8_t)wire_get_SDP_HELLO_max_adverts(data),
	};
	get_addr(&h->from, ip == 4, wire_get_SDP_HELLO_src_addr(data), (uint16_t)wire_get_SDP_HELLO_port(data));
	get_addr(&h->to, ip == 4, wire_get_SDP_HELLO_dst_addr(data), 0);
	return check_ends(h);
}

void sdp_hello_ack_put(uint8_t out[WIRE_SDP_HELLO_ACK_LEN], const struct sdp_hello *h)
{
	put_base(out, WIRE_SDP_HELLO_ACK, h, WIRE_SDP_HELLO_ACK_LEN);
	wire_set_SDP_HELLO_ACK_version_major(out, SDP_VERSION);
	wire_set_SDP_HELLO_ACK_version_minor(out, SDP_VERSION);
	wire_set_SDP_HELLO_ACK_max_adverts(out, h->max_adverts);
	wire_set_SDP_HELLO_ACK_receive_size(out, h->receive_size);
}

enum sdp_verdict sdp_hello_ack_get(struct sdp_hello *h, const uint8_t *data, size_t len)
{
	if (len < WIRE_SDP_HELLO_ACK_MIN)
		return SDP_SHORT;
	if (wire_get_SDP_BSDH_mid(data) != WIRE_SDP_HELLO_ACK)
		return SDP_BAD_MID;
	if (!version_is_known(wire_get_SDP_HELLO_ACK_version_major(data)))
		return SDP_BAD_VERSION;
	*h = (struct sdp_hello){
		.bufs = (uint16_t)wire_get_SDP_BSDH_bufs(data),
		.receive_size = (uint32_t)wire_get_SDP_HELLO_ACK_receive_size(data),
		.max_adverts = (uint8_t)wire_get_SDP_HELLO_ACK_max_adverts(data),
	};
	return check_ends(h);
}
