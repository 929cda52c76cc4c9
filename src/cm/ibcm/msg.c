/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Building and sending messages. A message that could not be sent counts as
 * lost on the way: repetition repairs both.
 */
#include "cm/ibcm/msg.h"

#include "engine/gid.h"

#include <errno.h>
#include <string.h>

uint8_t *ibcm_mad(uint8_t buf[WIRE_MAD_BYTES], enum wire_cm_attr attr, uint64_t tid)
{
	memset(buf, 0, WIRE_MAD_BYTES);
	wire_set_MAD_base_version(buf, WIRE_MAD_BASE_VERSION);
	wire_set_MAD_mgmt_class(buf, WIRE_MAD_CLASS_CM);
	wire_set_MAD_class_version(buf, WIRE_CM_CLASS_VERSION);
	wire_set_MAD_method(buf, WIRE_MAD_METHOD_SEND);
	wire_set_MAD_tid(buf, tid);
	wire_set_MAD_attr_id(buf, attr);
	return buf + WIRE_MAD_LEN;
}

/* MRA, REJ, REP, RTU, DREQ, DREP, LAP and APR begin alike: sender's ID, receiver's ID. */
static uint8_t *start(const struct ibcm_ep *e, uint8_t *buf, enum wire_cm_attr attr)
{
	uint8_t *m = ibcm_mad(buf, attr, e->tid);

	wire_set_CM_RTU_local_comm_id(m, e->local_id);
	wire_set_CM_RTU_remote_comm_id(m, e->remote_id);
	return m;
}

uint8_t *ibcm_ep_mad(struct ibcm_ep *e, enum wire_cm_attr attr)
{
	e->has_mad = true;
	return start(e, e->mad, attr);
}

int ibcm_default_way(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], bool mad,
		     struct ibv_ah_attr *ret)
{
	union ibv_gid gid;
	int index;

	eng_dev_held(dev);
	memcpy(gid.raw, local, 16);
	index = eng_gid_find(dev, &gid);
	if (index < 0)
		return -EADDRNOTAVAIL;
	*ret = (struct ibv_ah_attr){ .is_global = 1, .port_num = ENG_PORT_NUM, .grh = { .sgid_index = (uint8_t)index } };
	memcpy(ret->grh.dgid.raw, remote, 16);
	return 0;
}

int ibcm_default_along(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], const struct cm_path *path,
		       struct ibv_ah_attr *ah)
{
	return -EOPNOTSUPP;
}

int ibcm_default_gid(struct eng_dev *dev, const uint8_t addr[16], uint8_t ret[16])
{
	memcpy(ret, addr, 16);
	return 0;
}

/* The flow label of the data path is not used here: QP1 sends from one port. An address that has gone is silence; timeouts
 * tell the user. path: whose LIDs are used if they are the ports', or NULL. */
static void send_between(struct ibcm *cm, const uint8_t local[16], const uint8_t remote[16], uint8_t tclass,
			 const struct cm_path *path, const uint8_t *mad)
{
	struct ibv_ah_attr ah;
	struct eng_av av;

	if (cm->cfg.carrier->way(cm->dev, local, remote, true, &ah) < 0)
		return;
	if (path && path->dlid && path->dlid != CM_LID_PERMISSIVE)
		cm->cfg.carrier->along(cm->dev, local, remote, path, &ah);
	ah.grh.hop_limit = IBCM_HOPS;
	ah.grh.traffic_class = tclass;
	eng_av_from_attr(&av, &ah);
	cm->cfg.carrier->send(cm->dev, &av, mad);
}

static void send(struct ibcm_ep *e, const uint8_t *mad)
{
	send_between(e->cm, e->ep.local.addr, e->ep.remote.addr, e->tclass, &e->ep.path, mad);
}

void ibcm_send_kept(struct ibcm_ep *e)
{
	if (e->has_mad)
		send(e, e->mad);
}

void ibcm_send_plain(struct ibcm_ep *e, enum wire_cm_attr attr)
{
	uint8_t mad[WIRE_MAD_BYTES];

	start(e, mad, attr);
	send(e, mad);
}

void ibcm_send_mra(struct ibcm_ep *e, unsigned message)
{
	uint8_t mad[WIRE_MAD_BYTES], *m = start(e, mad, WIRE_CM_ATTR_MRA);

	e->mra_sent = true;
	wire_set_CM_MRA_message(m, message);
	wire_set_CM_MRA_service_timeout(m, IBCM_MRA_SERVICE);
	send(e, mad);
}

void ibcm_build_rej(struct ibcm_ep *e, unsigned message, unsigned reason, const void *data,
		    uint16_t len)
{
	uint8_t *m = ibcm_ep_mad(e, WIRE_CM_ATTR_REJ), guid[72] = { 0 };

	wire_set_CM_REJ_message(m, message);
	wire_set_CM_REJ_reason(m, reason);
	if (reason == CM_REJ_TIMEOUT) {
		/* Table 109: names the message whose ID this is, since the peer may not know ours. */
		wire_put64(guid, e->cm->cfg.ca_guid);
		wire_set_CM_REJ_info(m, guid);
		wire_set_CM_REJ_info_len(m, 8);
	}
	if (len)
		memcpy((uint8_t *)wire_get_CM_REJ_private_data(m), data, len);
}

void ibcm_reply(struct ibcm *cm, const struct gsi_rx *rx, const uint8_t mad[WIRE_MAD_BYTES])
{
	send_between(cm, rx->dst, rx->src, rx->traffic_class, NULL, mad);
}

static uint8_t *answer(const struct gsi_rx *rx, uint8_t *mad, enum wire_cm_attr attr)
{
	const uint8_t *in = ibcm_msg(rx);
	uint8_t *m = ibcm_mad(mad, attr, wire_get_MAD_tid(rx->mad));

	/* A REQ has no second ID; what lies there must not come back as ours. */
	if (wire_get_MAD_attr_id(rx->mad) != WIRE_CM_ATTR_REQ)
		wire_set_CM_RTU_local_comm_id(m, wire_get_CM_RTU_remote_comm_id(in));
	wire_set_CM_RTU_remote_comm_id(m, wire_get_CM_RTU_local_comm_id(in));
	return m;
}

void ibcm_reply_ids(struct ibcm *cm, const struct gsi_rx *rx, enum wire_cm_attr attr)
{
	uint8_t mad[WIRE_MAD_BYTES];

	answer(rx, mad, attr);
	ibcm_reply(cm, rx, mad);
}

void ibcm_reply_rej(struct ibcm *cm, const struct gsi_rx *rx, unsigned message, unsigned reason)
{
	uint8_t mad[WIRE_MAD_BYTES], *m = answer(rx, mad, WIRE_CM_ATTR_REJ);

	wire_set_CM_REJ_message(m, message);
	wire_set_CM_REJ_reason(m, reason);
	ibcm_reply(cm, rx, mad);
}

void ibcm_reply_apr(struct ibcm *cm, const struct gsi_rx *rx, enum cm_apr status)
{
	uint8_t mad[WIRE_MAD_BYTES], *m = answer(rx, mad, WIRE_CM_ATTR_APR);

	wire_set_CM_APR_status(m, status);
	ibcm_reply(cm, rx, mad);
}

/*
 * Both terms are exponents: the sum of two is the larger one, plus one when they
 * are close. 2 * life is life + 1.
 */
uint8_t ibcm_ack_timeout(unsigned ack_delay, unsigned life)
{
	unsigned t = life + 1;

	if (t >= ack_delay)
		t += ack_delay + 1 >= t;
	else
		t = ack_delay + (t + 1 >= ack_delay);
	return (uint8_t)(t < 31 ? t : 31);
}

bool ibcm_is_gid_of(const struct ibcm *cm, const uint8_t *gid, const uint8_t addr[16])
{
	uint8_t want[16];

	return cm->cfg.carrier->gid(cm->dev, addr, want) == 0 && !memcmp(gid, want, sizeof(want));
}

enum ibv_mtu ibcm_mtu(uint32_t bytes)
{
	enum ibv_mtu m = IBV_MTU_256;

	while (m < IBV_MTU_4096 && bytes >= 256u << m)
		m++;
	return m;
}
