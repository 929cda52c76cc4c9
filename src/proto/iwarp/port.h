/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The structures of the iWARP machine: one iwp_qp per queue pair and one iwp_port per adapter; all
 * guarded by the adapter's progress lock.
 *
 * Out: what a queue pair has to send (Terminate, RTR, answers to Reads, the send queue) becomes
 * FPDUs in the transmit stage, many to one send(). Octets that the socket does not take are kept
 * with the queue pair (`rest`), which sends nothing more until the socket has room. A work request
 * counts as sent when TCP has its last octet (RFC 5041 5.1: the transport has taken
 * responsibility).
 *
 * In: the link shows the received octets; whole FPDUs alone are taken, after their CRC was found
 * right.
 */
#ifndef PROTO_IWARP_PORT_H
#define PROTO_IWARP_PORT_H

#include "proto/iwarp/iwp.h"

#include "engine/mkey.h"
#include "engine/qp.h"
#include "proto/stream.h"
#include "util/heap.h"
#include "util/rng.h"
#include "util/stage.h"
#include "wire/iwarp_opcode.h"
#include "wire/iwarp_term.h"
#include "wire/mpa_fpdu.h"

#define IWP_RD 32            /* reads and atomics in flight, each way */
#define IWP_CHUNK (256u << 10) /* octets in one send() */
#define IWP_FPDU_ROOM (72u << 10) /* the longest FPDU with markers, and more */
#define IWP_LONG_ULPDU 16384u /* from which on segments carry much: loopback */
#define IWP_TAKE (16u << 10) /* octets of payload from which the link places them */
/* Where in the transmit stage the copies of FPDUs that came through shared memory lie. */
#define IWP_COPY (IWP_CHUNK + 2 * IWP_FPDU_ROOM)
#define IWP_STAGE (IWP_COPY + IWP_FPDU_ROOM)
#define IWP_HEAD 64u         /* octets of an FPDU that are copied first */
#define IWP_SMALL 512u       /* shorter FPDUs are copied as a whole */
#define IWP_NO_WQE UINT32_MAX
#define IWP_IOV 40

/* A Read or atomic of this end that waits for its answer. */
struct iwp_read {
	uint32_t index; /* of its send entry; IWP_NO_WQE: the RTR */
	uint32_t msn, stag, size, got;
	bool atomic;
};

/* A Read or atomic of the peer that waits to be answered. */
struct iwp_answer {
	uint32_t msn, size, off;
	uint32_t sink_stag, src_stag;
	uint64_t sink_to, src_to;
	bool atomic;
	uint8_t request[WIRE_AtomicRequest_LEN]; /* atomics: executed when the answer is made */
};

enum iwp_life {
	IWP_IDLE,    /* no stream */
	IWP_OPEN,
	IWP_LEAVING, /* disconnect: what is queued is sent, then FIN */
	IWP_HALF,    /* FIN sent, the peer's is awaited */
	IWP_LAST     /* the queue pair has left it; the rest (a Terminate) is still being sent */
};

struct iwp_qp {
	struct eng_qp *qp;
	struct iwp_port *port;
	struct link_stream *s;
	struct proto_stream_params par;
	const struct proto_stream_owner *owner;
	void *owner_arg;
	enum iwp_life life;
	struct ut_list active; /* in port->active: wants to send */
	struct ut_timer timer;
	uint64_t delay; /* of the timer; counts from the next round, which reads the clock */

	/* Out. */
	uint64_t tx_pos;          /* stream position behind the last FPDU made */
	uint32_t mulpdu, chunks;
	uint32_t full;            /* octets of FPDUs of the greatest length in a row */
	uint8_t *rest;            /* octets that the socket did not take */
	size_t rest_len, rest_off;
	bool blocked;             /* until link_stream_user.writable() */
	bool awaits_first;        /* nothing may leave before the peer's first FPDU */
	bool reply_drained;        /* the Reply was acknowledged at the last look */
	bool rtr_due;             /* the ready-to-receive message has not been sent */
	bool heard;               /* an FPDU of the peer has come */
	bool last_nudge;          /* LEAVING: one more nudge is sent before FIN */
	bool watched;             /* this end's first message was sent, and the timer runs for it */
	uint8_t nudges;           /* empty Writes to an initiator's peer that is silent */
	bool answers_first;       /* the next turn is the answers', not the send queue's */
	uint32_t cur;             /* send entry in work */
	uint64_t off;             /* octets of it that were sent */
	bool imm_due;             /* the Write of this entry is sent, its immediate data is not */
	bool halted;              /* the entry at cur has a verdict */
	uint32_t leave_at;        /* LEAVING: the tail when it began */
	uint32_t send_msn, read_msn, resp_msn; /* next MSNs of QN 0, 1, 3 */
	uint32_t rd_head, rd_count;

	/* In. */
	uint64_t rx_pos;
	uint8_t short_ones;       /* short FPDUs in a row after long ones */
	uint32_t rx_msn0, rx_msn1, rx_msn3;
	struct eng_rwqe *rwqe;    /* the receive taken */
	bool have_rwqe;
	uint64_t rx_off;          /* octets of the message in it */
	uint32_t rx_inv;          /* the STag to invalidate, the same in all segments of a message */
	uint8_t rx_opcode;
	uint64_t written;         /* octets of the last Write, or of the one in progress */
	bool write_over;          /* it has ended */
	uint32_t an_head, an_count;

	/* Last, since most messages do not touch it. */
	struct iwp_read rd[IWP_RD];
	struct iwp_answer an[IWP_RD];
};

struct iwp_port {
	struct eng_dev *dev;
	struct iwp_config cfg;
	struct link_streams *streams;
	const struct link_streams_ops *ops;
	struct link_tap *tap; /* NULL: no observer */
	struct link_rules *rules; /* of faults; NULL: none */
	struct link_streams_ops over; /* those of streams, with faults */
	struct ut_stage stage; /* IWP_CHUNK to send, IWP_FPDU_ROOM to build with markers; IWP_COPY */
	struct ut_list active;
	struct ut_heap timers;
	struct ut_rng rng;
	uint64_t now;
	uint32_t sent;         /* FPDUs, for budgets */
	uint32_t held;         /* posts that coalesce now */

	/* The chunk being made. */
	struct iwp_qp *tx;
	uint8_t *out;          /* the chunk: in the stage, or in the memory of a local stream */
	size_t fill, limit;
	size_t summed;         /* octets of the FPDU in work whose CRC is known, */
	uint32_t sum;          /* and that CRC */
};

static inline struct iwp_qp *iwp_of(struct eng_qp *qp)
{
	return eng_qp_proto(qp);
}

/* Shared memory corrupts nothing, so a local stream has no CRC; against a hostile peer process a
 * CRC is no protection. */
static inline bool iwp_sums(const struct iwp_qp *q)
{
	return q->par.crc && !(q->s && q->s->shm);
}

static inline bool iwp_alive(const struct iwp_qp *q)
{
	return q->life == IWP_OPEN || q->life == IWP_LEAVING || q->life == IWP_HALF;
}

/* One received FPDU: markers gone, CRC right. */
struct iwp_rx {
	const uint8_t *h;      /* from ULPDU_Length on */
	const uint8_t *data;   /* behind the DDP header */
	struct ut_stage *stage; /* the stage where header and data lie, */
	size_t off;            /* and the offset of data in it */
	const uint8_t *shared; /* or data in memory that the peer process can still write; `data` is
                                * NULL then */
	uint32_t len;          /* of data */
	const struct wire_iwarp_shape *shape;
	uint8_t opcode;
	bool last;
	bool first; /* no FPDU had come from this peer before */
};

/* The queue pair has something to send: it takes part in the next round. */
static inline void iwp_activate(struct iwp_qp *q)
{
	if (q->life != IWP_IDLE && !q->blocked && ut_list_empty(&q->active))
		ut_list_add_tail(&q->port->active, &q->active);
}

#endif
