/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of the connection manager's rules: one world, its two ends, a REQ to spoil. */
#ifndef TESTS_SIM_IBCM_CASE_H
#define TESTS_SIM_IBCM_CASE_H

#include "support/cases.h"
#include "support/check.h"
#include "support/cmworld.h"
#include "util/clock.h"

static struct cmw w;
static struct cmw_user *client, *server;
static uint8_t last[WIRE_MAD_BYTES];

static inline const struct cm_ops *ops(const struct cmw_user *u)
{
	return u->ep->port->ops;
}

static inline void pass(uint64_t ns)
{
	cmw_run(&w, ns, NULL);
	server = w.side[1].newest;
}

static inline void open_world(void)
{
	cmw_open(&w, 77);
	client = server = NULL;
}

static inline void connected(enum ibv_qp_type type)
{
	struct cm_param p = cmw_param(type);

	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(100 * UT_MS);
	CHECK(cmw_state(client) == IBCM_ESTAB && cmw_state(server) == IBCM_ESTAB);
}

/* The host's last sentence names both ends and holds these words. */
static inline void said(int side, const char *words)
{
	const uint8_t *a = w.side[0].host->addr, *b = w.side[1].host->addr;
	const char *line = w.side[side].host->said;
	char ends[2][40];

	snprintf(ends[0], sizeof(ends[0]), "%u.%u.%u.%u port", a[12], a[13], a[14], a[15]);
	snprintf(ends[1], sizeof(ends[1]), "%u.%u.%u.%u port", b[12], b[13], b[14], b[15]);
	CHECK_MSG(strstr(line, ends[0]) && strstr(line, ends[1]) && strstr(line, words), "%s", line);
}

/* The last MAD of an exchange that was taken apart: a REQ as it is sent. */
static inline uint8_t *make_req(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	struct cmw_user *u;

	w.lose_attr = WIRE_CM_ATTR_REQ;
	u = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	memcpy(last, w.last_mad, sizeof(last));
	w.lose_attr = WIRE_CM_ATTR_REJ;
	cmw_destroy(u);
	w.lose_attr = 0;
	/* An ID that no endpoint has. */
	wire_set_CM_REQ_local_comm_id(last + WIRE_MAD_LEN, 0x01000001);
	return last + WIRE_MAD_LEN;
}

static inline const uint8_t *answer_to(const uint8_t *mad)
{
	w.last_mad[17] = 0;
	cmw_inject(&w, 1, mad);
	pass(UT_US);
	return w.last_mad + WIRE_MAD_LEN;
}

static inline unsigned refused_with(const uint8_t *mad)
{
	const uint8_t *m = answer_to(mad);

	if (wire_get_MAD_attr_id(w.last_mad) != WIRE_CM_ATTR_REJ)
		return 0;
	CHECK(wire_get_CM_REJ_local_comm_id(m) == 0 && wire_get_CM_REJ_message(m) == 0);
	CHECK(wire_get_CM_REJ_remote_comm_id(m) == 0x01000001);
	CHECK(wire_get_MAD_tid(w.last_mad) == wire_get_MAD_tid(mad));
	return (unsigned)wire_get_CM_REJ_reason(m);
}

#endif
