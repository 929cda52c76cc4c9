/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints of the iWARP connection manager, and the structures of this folder.
 *
 * An endpoint owns its stream until the QP gets it (attach); from then on it
 * owns nothing but the right to be told of the end. Up-calls from inside the link
 * go to the user directly; what the protocol or an op of ours brings about
 * is put on the list `due` and told by mpa_run(), so that the user may call
 * anything back. After an up-call an endpoint may be gone: its caller does not look at it
 * again.
 */
#ifndef CM_MPA_EP_H
#define CM_MPA_EP_H

#include "cm/mpa/frame.h"
#include "cm/mpa/mpa.h"
#include "util/heap.h"
#include "util/list.h"

#define MPA_RTR_WAIT_S 8    /* passive: from the Reply sent to the announced RTR */
#define MPA_REJECT_LINGER_NS 200000000ull /* between a rejecting Reply and our FIN */
#define MPA_FLUSH_WAIT_S 5  /* for the rest of a rejecting Reply to leave */
#define MPA_TURN_WAIT_S 60  /* with a whole Request, until its user can be asked */
#define MPA_BACKLOG_MAX 1024
#define MPA_PEER_BUCKETS 64

enum mpa_state {
	MPA_FRESH,        /* bound or created; may connect or listen */
	MPA_LISTENING,
	MPA_CONNECTING,   /* awaits TCP */
	MPA_WAIT_REPLY,   /* Request sent, or on its way out */
	MPA_WAIT_WAY,     /* has the Reply; the stream asks to leave the wire */
	MPA_WAIT_REQUEST, /* half open: its user does not know it yet */
	MPA_WAIT_TURN,    /* half open: its Request is whole, its listener's backlog is full */
	MPA_WAIT_USER,    /* REQUEST told; awaits accept or reject */
	MPA_ACCEPTING,    /* Reply on its way out */
	MPA_REJECTING,    /* the same, R = 1 */
	MPA_WAIT_RTR,     /* the QP has the stream; awaits the peer's first FPDU */
	MPA_ESTABLISHED,
	MPA_CLOSING,      /* disconnect was asked for */
	MPA_OVER,
	MPA_STATES
};

/* Half-open handshakes of one remote address, oldest first. */
struct mpa_peer {
	struct ut_list node; /* mpa.peers[] */
	struct ut_list half_open;
	uint8_t addr[16];
	unsigned n;
};

struct mpa {
	struct cm_port *port;
	struct eng_dev *dev;
	struct mpa_config cfg;
	struct link_tap *tap; /* NULL: no observer */
	struct ut_heap timers;
	struct ut_list eps;
	struct ut_list due;
	struct ut_list peers[MPA_PEER_BUCKETS];
};

typedef void mpa_done_fn(void *arg, int error, const struct cm_param *peer);

/* A refused connection is tried again after 1, 2, 4 .. 64 ms, 127 ms in all. */
#define MPA_REFUSED_NS 1000000ull
#define MPA_REFUSED_TRIES 7u

struct mpa_ep {
	struct cm_ep ep;
	struct mpa *m;
	enum mpa_state state;
	struct ut_list node; /* mpa.eps */

	struct ut_timer timer;
	uint64_t wait;       /* > 0: the timer was set without knowing the time; count from now */

	/* Told by mpa_run(). */
	struct ut_list due;
	bool due_turn, due_ready, due_end;
	enum cm_event_type end;
	int end_status;

	struct link_listener *port; /* claimed, or NULL */
	bool claimed;               /* the user asked for this port: no other will do */
	struct link_stream *stream; /* ours until the QP has it */
	bool fin;                   /* nothing more can come on it, or it is gone */
	struct eng_qp *qp;          /* has the stream and owns us as its owner */
	uint32_t qpn;

	struct mpa_wish wish;
	struct mpa_frame out;       /* being sent; out.data is `data` */
	struct mpa_frame peer;      /* passive: the Request; its data is gone */
	uint8_t *data;
	uint16_t data_len;
	uint8_t *kept;              /* the peer's private data, if it must wait */
	uint16_t sent;              /* bytes of `out` the link has taken */
	bool whole;                 /* all of them */
	bool heard;                 /* a byte of the Reply has come */
	bool retrying;              /* refused; connects again when the timer fires */
	uint8_t refused_tries;
	bool said;                  /* why it is over */
	bool ruled_out;             /* a rule of faults wants the Request rejected */
	bool fell_back;             /* this is the second try, revision 1 */
	bool flushing;              /* destroyed by its user, lives until its Reply is out */
	struct proto_stream_params terms;

	/* Listener. */
	struct ut_list half_open, pending;
	unsigned n_half_open, n_pending, backlog;
	/* Passive. */
	struct mpa_ep *listener;
	struct ut_list child;       /* listener's half_open or pending */
	struct mpa_peer *remote;    /* while half open */
	struct ut_list mate;        /* remote's half_open */

	/* The second way in: told instead of the port's user. */
	mpa_done_fn *done;
	void *done_arg;
};

static inline struct mpa *mpa_of(struct cm_port *p)
{
	return p->manager;
}

static inline struct mpa_ep *mpa_ep_of(struct cm_ep *ep)
{
	return ut_container(ep, struct mpa_ep, ep);
}

struct mpa_ep *mpa_ep_new(struct mpa *m); /* or NULL */
void mpa_ep_free(struct mpa_ep *e);       /* stream and QP are dealt with already */
void mpa_ep_destroy(struct mpa_ep *e);
void mpa_ep_state(struct mpa_ep *e, enum mpa_state to);
/* The timer fires after so many seconds, or ns, from `now`; or from the next mpa_run(). */
void mpa_timer_from(struct mpa_ep *e, uint64_t now, unsigned seconds);
void mpa_timer_start(struct mpa_ep *e, unsigned seconds);
void mpa_timer_start_ns(struct mpa_ep *e, uint64_t ns);
void mpa_timer_stop(struct mpa_ep *e);
/* Closes the stream, if it is still ours. */
void mpa_drop_stream(struct mpa_ep *e, bool abort);
/* The endpoint is over; the up-call comes now / from mpa_run(). */
void mpa_end(struct mpa_ep *e, enum cm_event_type type, int status);
void mpa_end_later(struct mpa_ep *e, enum cm_event_type type, int status);
/* ESTABLISHED is told, the listener's backlog is looked at, from mpa_run(). */
void mpa_ready_later(struct mpa_ep *e);
void mpa_turn_later(struct mpa_ep *e);
/* The user's answer to REQUEST, else 0. p NULL: none. */
int mpa_tell(struct mpa_ep *e, enum cm_event_type type, int status, const struct cm_param *p);
/* Its own depths as the parameters of ESTABLISHED; the peer's, seen from here. */
struct cm_param mpa_local_param(const struct mpa_ep *e);
struct cm_param mpa_peer_param(const struct mpa_ep *e, const struct mpa_frame *f);
/* What of an asked number of reads the adapter can give. */
static inline uint16_t mpa_depth(uint8_t asked, uint16_t max)
{
	return asked == CM_RD_MAX || asked > max ? max : asked;
}
/* The type that a caller names, if it does; the QP's own is looked at besides. */
static inline bool mpa_type_ok(const struct cm_param *p)
{
	return !p->qp_type || p->qp_type == IBV_QPT_RC;
}
/* A sentence that names both ends and its state. */
void mpa_say(const struct mpa_ep *e, const char *what);

/* --- its stream and its queue pair --- */
/* The endpoint becomes the user of s. */
void mpa_stream_take(struct mpa_ep *e, struct link_stream *s);
/* Sends what is left of e->out. 0 (see e->whole) or negative errno: the stream is lost. */
int mpa_stream_send(struct mpa_ep *e);
/* Copies the private data of e->out. 0 or -ENOMEM. */
int mpa_stream_keep(struct mpa_ep *e, const void *data, uint16_t len);
/* The terms are agreed: behind the Reply the stream may leave the wire. Returns true if that is asked
 * for; writable() follows when it is decided. */
bool mpa_stream_local(struct mpa_ep *e, bool active);
/* The queue pair of this number, if it can get a stream. 0 or -EINVAL. */
int mpa_qp_usable(struct eng_dev *dev, uint32_t qpn, struct eng_qp **ret);
/* The queue pair gets the stream. 0, or as proto_stream_ops.attach(): the stream stays here. */
int mpa_attach(struct mpa_ep *e, struct eng_qp *qp);
/* The protocol calls the endpoint no more. */
void mpa_detach(struct mpa_ep *e);

#endif
