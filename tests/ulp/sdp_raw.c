/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sdp_raw.h"

#include <arpa/inet.h>

struct raw raw = { .adverts = 1 };

static unsigned sent, arrived;

/* --- the connection --- */

static void make_queues(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 128, .max_recv_wr = RAW_RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 } };

	CHECK(!rdma_create_qp(raw.id, NULL, &attr));
	raw.mr = ibv_reg_mr(raw.id->pd, raw.memory, sizeof(raw.memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(raw.mr);
	for (int i = 0; i < RAW_RECEIVES; i++)
		CHECK(!rdma_post_recv(raw.id, raw.memory + RAW_SIZE * i, raw.memory + RAW_SIZE * i, RAW_SIZE, raw.mr));
	raw.seq = 0;
	sent = arrived = 0;
}

static struct rdma_conn_param param(const uint8_t *data, size_t len)
{
	return (struct rdma_conn_param){ .retry_count = 7, .rnr_retry_count = 7, .responder_resources = 4, .initiator_depth = 4,
					 .private_data = data, .private_data_len = (uint8_t)len };
}

static struct sdp_hello hello(void)
{
	struct sdp_hello h = { .bufs = RAW_RECEIVES, .receive_size = RAW_SIZE, .max_adverts = raw.adverts };

	memcpy(&h.from, rdma_get_local_addr(raw.id), sizeof(struct sockaddr_in));
	memcpy(&h.to, rdma_get_peer_addr(raw.id), sizeof(struct sockaddr_in));
	return h;
}

int raw_connect(struct ends *e, uint8_t *data, size_t len)
{
	struct rdma_conn_param p = param(data, len);
	struct sdp_hello h;

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	CHECK(!rdma_create_id(NULL, &raw.id, NULL, (enum rdma_port_space)SDP_PORT_SPACE));
	CHECK(!rdma_resolve_addr(raw.id, NULL, (struct sockaddr *)&e->addr, 20000));
	CHECK(!rdma_resolve_route(raw.id, 20000));
	make_queues();
	if (!data[1]) {
		h = hello();
		sdp_hello_put(data, &h);
	}
	return rdma_connect(raw.id, &p);
}

void raw_dial(struct ends *e)
{
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0 };

	CHECK(!raw_connect(e, data, sizeof(data)));
}

struct rdma_cm_id *raw_listen(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(NULL, &id, NULL, (enum rdma_port_space)SDP_PORT_SPACE));
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&at) && !rdma_listen(id, 1));
	return id;
}

void raw_move(struct rdma_cm_id *listener)
{
	uint8_t data[WIRE_SDP_HELLO_ACK_LEN];
	struct rdma_conn_param p = param(data, sizeof(data));
	struct sdp_hello h;

	CHECK(!rdma_disconnect(raw.id));
	raw_close();
	CHECK(!rdma_get_request(listener, &raw.id));
	make_queues();
	h = hello();
	sdp_hello_ack_put(data, &h);
	CHECK(!rdma_accept(raw.id, &p));
	CHECK(!rdma_destroy_id(listener));
}

void raw_close(void)
{
	rdma_disconnect(raw.id);
	rdma_destroy_qp(raw.id);
	rdma_dereg_mr(raw.mr);
	CHECK(!rdma_destroy_id(raw.id));
}

/* --- messages --- */

void raw_send(struct sdp_msg m, size_t add)
{
	uint8_t *at = raw.memory + RAW_SIZE * RAW_RECEIVES + RAW_SEND_SIZE * sent++;
	size_t len;

	CHECK(sent <= RAW_SENDS);
	m.seq = m.seq ? m.seq : ++raw.seq;
	m.bufs = m.bufs ? m.bufs : RAW_RECEIVES;
	len = sdp_header_len(m.mid) ? sdp_msg_put(at, &m) : 0;
	if (!len) {
		m.mid = WIRE_SDP_DATA;
		len = sdp_msg_put(at, &m);
		at[0] = 0x55;
	}
	CHECK(!rdma_post_send(raw.id, NULL, at, len + add, raw.mr, 0));
}

void raw_arrived(void)
{
	struct ibv_wc wc;

	for (; arrived < sent; arrived++)
		CHECK(rdma_get_send_comp(raw.id, &wc) == 1 && !wc.status);
}

struct sdp_msg raw_next(void)
{
	static uint8_t got[RAW_SIZE];
	struct sdp_msg m;
	struct ibv_wc wc;
	uint8_t *at;

	CHECK(rdma_get_recv_comp(raw.id, &wc) == 1 && !wc.status);
	at = (uint8_t *)(uintptr_t)wc.wr_id;
	memcpy(got, at, RAW_SIZE);
	CHECK(!rdma_post_recv(raw.id, at, at, RAW_SIZE, raw.mr));
	CHECK(sdp_msg_get(&m, got, wc.byte_len) == SDP_GOOD);
	return m;
}

struct sdp_msg raw_await(uint8_t mid)
{
	struct sdp_msg m;

	do
		m = raw_next();
	while (m.mid != mid);
	return m;
}

void raw_expect_nothing(void)
{
	struct sdp_msg m;

	raw_send((struct sdp_msg){ .mid = WIRE_SDP_CH_RCV_BUF }, 0);
	do
		m = raw_next();
	while (m.mid == WIRE_SDP_DATA && !m.payload_len);
	CHECK_MSG(m.mid == WIRE_SDP_CH_RCV_BUF_ACK, "message %02x", m.mid);
}

void raw_await_end(void)
{
	struct rdma_cm_event *ev;

	CHECK(!rdma_get_cm_event(raw.id->channel, &ev) && ev->event == RDMA_CM_EVENT_DISCONNECTED);
	rdma_ack_cm_event(ev);
}
