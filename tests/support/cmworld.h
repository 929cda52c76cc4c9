/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two hosts with an IB connection manager each, joined by a carrier that loses, doubles and delays
 * MADs as the test asks, under virtual time. The users of the endpoints answer by themselves and
 * check the order of their events: none twice, none after the end.
 */
#ifndef TESTS_SUPPORT_CMWORLD_H
#define TESTS_SUPPORT_CMWORLD_H

#include "cm/ibcm/ep.h"
#include "support/simhost.h"

#define CMW_DELAY 10000ull   /* ns one way */
#define CMW_LATE 700000000ull /* longer than the first repetition */
#define CMW_PORT 7174u
#define CMW_SERVICES 64
#define CMW_RECORDS 2048

struct cmw;

/* One user of an endpoint: its events so far, and how it behaves. */
struct cmw_user {
	struct cmw *w;
	int side;
	struct cm_ep *ep;      /* NULL once destroyed */
	unsigned heard[CM_EV_ALTERNATE + 1];
	int status;            /* of the last event */
	bool passive, ended;
	struct cm_event last;  /* private_data points at `data` */
	uint8_t data[256], request[256]; /* private data: last, that of the REQUEST */
};

enum cmw_fault { CMW_LOSE, CMW_DOUBLE, CMW_LATER, CMW_SPOIL, CMW_FAULTS };

struct cmw_side {
	struct cmw *w;
	struct cm_port port;
	struct sim_host *host;
	uint64_t service[CMW_SERVICES]; /* claimed */
	unsigned n_services;
	unsigned passed_on;
	int pass_result;
	bool deaf;             /* MADs to it vanish */
	uint64_t heard;        /* when its QPs have heard of their peers */
	struct ibcm_record record[CMW_RECORDS]; /* connections that others would end; local_id 0: none */
	unsigned probes, gone; /* asked of the transport, told to it */
	/* On a link with LIDs (cmw.lid) the side has lid and lid + 1. Loads of alternate paths: how many, the newest, and what
	 * the next ones return. */
	unsigned loads;
	struct ibv_qp_attr loaded;
	uint32_t loaded_qpn;
	int load_result;
	/* The answer of its users to a REQUEST, a RESPONSE. */
	enum { CMW_ACCEPT, CMW_REJECT, CMW_REFUSE, CMW_WAIT } on_request, on_response;
	enum { CMW_STAY, CMW_HANG_UP } on_established;
	/* ... to DISCONNECTED: disconnect, which answers a DREQ, or nothing. */
	enum { CMW_ANSWER, CMW_KEEP } on_disconnected;
	bool destroy_at_end;   /* inside the last event */
	const void *reply;     /* private data of accept and reject */
	uint16_t reply_len;
	struct cmw_user *newest; /* made by a REQUEST */
};

struct cmw_mad {
	struct cmw_mad *next;
	uint64_t at;
	int to;
	uint8_t mad[WIRE_MAD_BYTES], src[16], dst[16];
};

struct cmw {
	struct sim_world sim;
	struct cmw_side side[2];
	uint64_t now;
	struct cmw_mad *queue;
	unsigned sent;                /* MADs handed to the carrier */
	unsigned sent_of[16];         /* ... by attribute ID - 0x10 */
	/* The n-th MAD (1 = the first) suffers this; 0 = none. */
	unsigned fault_at;
	enum cmw_fault fault;
	unsigned spoil_at;            /* CMW_SPOIL: which octet, */
	uint8_t spoil;                /* and which bits of it */
	bool strangers;               /* the sides are different hosts to each other */
	unsigned lose_attr;           /* every one of this attribute is lost; 0 = none */
	/* Per mille, seeded. */
	unsigned rate;
	struct ut_rng rng;
	struct cm_path path; /* of the next connects; pkey 0: the manager's own */
	struct cm_path alternate; /* likewise; dlid 0: none */
	uint16_t lid;        /* 0: the link has no LIDs; else of side 0, side 1 has this + 2 */
	struct cmw_user *users[4096];
	unsigned n_users;
	uint8_t last_mad[WIRE_MAD_BYTES]; /* last sent of any */
};

void cmw_open(struct cmw *w, uint64_t seed);
void cmw_open6(struct cmw *w, uint64_t seed); /* the same over IPv6 */
/* All endpoints are destroyed, time passes, nothing may be left. */
void cmw_close(struct cmw *w);

/* A listener on side 1, TCP port space unless told otherwise. */
struct cmw_user *cmw_listen(struct cmw *w, enum cm_ps ps, uint16_t port, int backlog);
struct cmw_user *cmw_connect(struct cmw *w, enum cm_ps ps, uint16_t port,
			     const struct cm_param *param);
/* Between any sides, a side and itself too. */
struct cmw_user *cmw_listen_on(struct cmw *w, int side, enum cm_ps ps, uint16_t port, int backlog);
struct cmw_user *cmw_connect_to(struct cmw *w, int from, int to, enum cm_ps ps, uint16_t port,
				const struct cm_param *param);
struct cm_param cmw_param(enum ibv_qp_type type);
void cmw_destroy(struct cmw_user *u);
/* Runs until done(u) or `limit` ns have passed; true when done. NULL: until the limit. */
bool cmw_run(struct cmw *w, uint64_t limit, bool (*done)(struct cmw *));
/* Hands a MAD to a side as if it came from the other. */
void cmw_inject(struct cmw *w, int to, const uint8_t mad[WIRE_MAD_BYTES]);
void cmw_inject_from(struct cmw *w, int to, const uint8_t mad[WIRE_MAD_BYTES],
		     const uint8_t src[16]);
enum ibcm_state cmw_state(const struct cmw_user *u);
struct ibcm *cmw_cm(struct cmw *w, int side);

#endif
