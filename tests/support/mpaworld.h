/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two adapters with an MPA manager each, on pipes, and a third place for raw peers; virtual time.
 * Below the QPs is no iWARP but a stand-in that takes the stream and records its calls: `R`, `W` on
 * the stream is its RTR, `T` and a byte its Terminate.
 */
#ifndef TESTS_SUPPORT_MPAWORLD_H
#define TESTS_SUPPORT_MPAWORLD_H

#include "cm/mpa/mpa.h"
#include "support/pipes.h"
#include "wire/mpa_fields.h"

#define MPA_A 0
#define MPA_B 1
#define MPA_RAW 2
#define MPA_EVENTS 16384

struct mw_host;

/* Behind struct eng_qp. */
struct mw_qp {
	struct eng_qp *qp;
	struct link_stream *stream;
	struct proto_stream_params params;
	const struct proto_stream_owner *owner;
	void *arg;
	int attached;
	uint8_t got[64]; /* bytes that came for it */
	unsigned n;
	bool ready_told;
	uint8_t terminated; /* code */
	bool silent;        /* never sends its RTR */
};

struct mw_event {
	struct mw_host *h;
	enum cm_event_type type;
	int status;
	struct cm_ep *ep, *listener;
	struct cm_param param;
	uint8_t data[CM_PRIVATE_MAX];
};

/* The user's action inside an event. */
enum mw_answer { MW_KEEP, MW_ACCEPT, MW_REJECT, MW_REFUSE, MW_DESTROY };

struct mw_host {
	struct mpa_world *w;
	struct eng_dev dev;
	struct eng_ctx *ctx;
	struct eng_pd *pd;
	struct eng_cq *cq;
	struct cm_port port;
	struct pipe_place *place;
	enum mw_answer answer;      /* to REQUEST */
	struct cm_param accept;     /* for MW_ACCEPT; qpn 0: a new QP */
	enum cm_event_type destroy_on;
	bool destroys;              /* destroys the endpoint inside that event */
	struct eng_qp *qps[4096];
	int nqps;
	char said[256];             /* the last failure sentence */
};

struct mpa_world {
	struct pipes net;
	struct mw_host h[2];
	uint64_t now;
	int n, seen;
	struct mw_event ev[MPA_EVENTS];
};

struct mpa_world *mw_open(const struct mpa_config *a, const struct mpa_config *b); /* NULL: default */
/* Demands that nothing has leaked. */
void mw_close(struct mpa_world *w);
struct mpa_config mw_config(void);

/* Until nothing more happens at this time; then `ns` of time pass. */
void mw_run(struct mpa_world *w);
void mw_pass(struct mpa_world *w, uint64_t ns);

struct eng_qp *mw_qp_new(struct mw_host *h, enum ibv_qp_type type)
	UT_REQUIRES(h->dev.lock);
struct mw_qp *mw_qp(struct mw_host *h, uint32_t qpn);
struct cm_ep *mw_listen(struct mw_host *h, int backlog);
struct cm_ep *mw_create(struct mw_host *h);
/* Makes a QP when param->qpn is 0 and notes its number there. */
int mw_connect(struct cm_ep *ep, const struct link_end *to, struct cm_param *param);
int mw_accept(struct cm_ep *ep, struct cm_param *param);
int mw_reject(struct cm_ep *ep, const void *data, uint16_t len);
int mw_disconnect(struct cm_ep *ep);
void mw_destroy(struct cm_ep *ep);
struct mw_host *mw_host_of(struct cm_ep *ep);

/* The next event not yet seen, which must be this; and there must be one. */
struct mw_event *mw_want(struct mpa_world *w, int host, enum cm_event_type type, int status);
/* Two events came in an order that does not matter: host `first` is looked at first. */
void mw_swap(struct mpa_world *w, int first);
/* No event is left. */
void mw_quiet(struct mpa_world *w);

/* A raw listener of the third place, and frames in hex. */
struct link_end mw_raw_listen(struct mpa_world *w);
/* Hex to bytes; returns how many. */
size_t mw_hex(const char *text, uint8_t *out);
void mw_put(struct pipe_stream *s, const char *hex);
/* Takes the bytes of a raw stream, which must be exactly these. */
void mw_got(struct pipe_stream *s, const char *hex);

#endif
