/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Support of the conformance suite. Public verbs only, so that the same programs run on every
 * adapter: the first one, or the one that CONFORM_DEVICE names.
 *
 * The runner forks a child for each check: a crash or a hang of the library is the failure of one
 * check. A check that fails prints why and ends its process at once, from whatever thread; one that
 * succeeds destroys all it made in reverse order, and each of those calls must succeed as well.
 *
 * Rules are the same for every kind of adapter; the result of breaking one is a row of the table in
 * faults.c, with a column for each kind. A rule that one kind cannot have is marked with why
 * (cf_need), and skipped there with that reason.
 *
 * Nothing sleeps to let things settle. A wait has a deadline (CF_WAIT_MS); "it does not happen" is
 * watched for a stated time while the queue is polled.
 */
#ifndef CONFORM_CONF_H
#define CONFORM_CONF_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CF_WAIT_MS 30000
#define CF_LOOK_MS 50
/* How long to watch that something does not happen. */
#define CF_QUIET_MS 30

/* Features of the adapter that a check needs; the runner skips it otherwise. */
enum cf_need {
	CF_UC = 1,
	CF_UD = 2,
	CF_XRC = 4,
	CF_SRQ = 8,
	CF_MW1 = 16,
	CF_MW2 = 32,
	CF_ATOMIC = 64,
	CF_MCAST = 128,
	CF_FULL = 256, /* only with --full */
	/* Properties that make a rule InfiniBand's own; the reasons are in conf.c. */
	CF_RNR = 512,
	CF_STEPS = 1024,
	CF_SQD = 2048,
	CF_PSN = 4096,
	CF_TIMER = 8192,
	CF_PATH = 16384,
	CF_SELF = 32768,
	CF_PACKET = 65536,
	CF_GID = 131072,
	/* Only where a connection is a stream. */
	CF_STREAM = 262144,
	/* Only on InfiniBand links. */
	CF_ALT = 524288,
};

/* numbers: checks of the list in docs/testing.md, space separated, or "+" for a
 * check beyond the list. elsewhere: the suite that has it instead of fn. */
struct cf_check {
	const char *numbers, *name;
	unsigned need;
	void (*fn)(void);
	const char *elsewhere;
};

/* Each topic defines these; the main program is in conf.c. */
extern const struct cf_check cf_checks[];

/* The adapter; filled by the first cf_open(). */
struct cf_adapter {
	const char *name;
	struct ibv_device_attr_ex dev;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint8_t gid_index;
	enum ibv_mtu path_mtu; /* what pairs use: the port's, or less by CONFORM_MTU (bytes) */
	bool full;    /* --full: the long variants */
	bool forked;  /* --fork: roles are processes */
	bool iwarp;   /* connections are TCP streams, handed over (stream.c) */
	unsigned seconds; /* CONFORM_SECONDS: how long a check that takes a duration lasts; 0: its own. Limits grow by it */
};
extern struct cf_adapter cf;

/* --- verdicts --- */
void cf_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void cf_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void cf_same(const char *file, int line, const char *what, long long got, long long want);
void cf_rc(const char *file, int line, const char *what, int rc, int want);

#define CF_DIE(...) cf_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CF_TRUE(x) ((x) ? (void)0 : CF_DIE("%s is not so", #x))
#define CF_EQ(got, want) cf_same(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
/* Calls that return 0 or an errno value (or -1 with errno). */
#define CF_OK(call) cf_rc(__FILE__, __LINE__, #call, (errno = 0, (call)), 0)
#define CF_ERR(call, want) cf_rc(__FILE__, __LINE__, #call, (errno = 0, (call)), want)
/* Calls that return an object, or NULL with errno. */
#define CF_NULL(call, want)                                                      \
	do {                                                                     \
		errno = 0;                                                       \
		if ((call) != NULL)                                              \
			CF_DIE("%s succeeded", #call);                           \
		cf_same(__FILE__, __LINE__, "errno of " #call, errno, want);     \
	} while (0)

/* Bytes of this process in memory. */
unsigned long cf_resident(void);

/* --- objects that are undone at the end --- */
typedef int (*cf_undo)(void *);
void cf_keep(cf_undo undo, void *obj, const char *what);
void cf_forget(const void *obj);
/* Undoes now; must succeed. */
void cf_drop(void *obj);
/* For children: the parent's objects are not theirs to undo; their own are. */
void cf_inherit_nothing(void);
void cf_undo_all(void);

/* --- making things; all fail the check, all are kept --- */
struct ibv_context *cf_open(void);
/* Place of the adapter in the list: CONFORM_DEVICE's, or the first. */
int cf_wanted(struct ibv_device **list, int n);
struct ibv_pd *cf_pd(struct ibv_context *ctx);
struct ibv_comp_channel *cf_chan(struct ibv_context *ctx);
struct ibv_cq *cf_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *chan);
struct ibv_mr *cf_mr(struct ibv_pd *pd, void *buf, size_t len, int access);
struct ibv_srq *cf_srq(struct ibv_pd *pd, uint32_t wr, uint32_t sge);
struct ibv_qp *cf_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init);
struct ibv_ah *cf_ah(struct ibv_pd *pd);
struct ibv_mw *cf_mw(struct ibv_pd *pd, enum ibv_mw_type type);
void *cf_pages(size_t len); /* anonymous, zeroed, shared with forked children */
void *cf_buffer(size_t len); /* the same; with CONFORM_EXPORTED from dpl_alloc_shared(), and kept */
struct ibv_ah_attr cf_ah_attr(void);

#define CF_ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)
#define CF_QP_ACCESS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct cf_opt {
	enum ibv_qp_type type;
	uint32_t sq, rq, sge, inl;
	int cqe;
	bool srq, chan, sig_all;
	int access, mr_access;
	size_t len;
	enum ibv_mtu mtu;
	uint8_t timeout, retry, rnr, min_rnr, rd;
	uint32_t psn, qkey;
	enum ibv_qp_state up; /* how far cf_pair() brings both */
};
struct cf_opt cf_opt(void);

/* One end: its context, domain, queues and one registered buffer. */
struct cf_side {
	struct cf_opt o;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_qp_cap cap;
	struct ibv_mr *mr;
	uint8_t *buf;
};

/* Attributes that the other end must know. */
struct cf_addr {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey;
	uint64_t addr;
};

void cf_side(struct cf_side *s, const struct cf_opt *o);
/* A further QP on the same context, domain, buffer and SRQ, with CQs of its own. */
void cf_side_again(struct cf_side *s, const struct cf_side *like);
struct cf_addr cf_addr_of(const struct cf_side *s);
/* Brings two of one process from RESET or INIT to RTS, connected to each other. */
void cf_join(struct cf_side *a, struct cf_side *b);
/* Connects the side with itself, and *end is the side; or, where a connection has two ends,
 * with a further QP of the same buffer, which *end becomes. */
void cf_loop(struct cf_side *s, struct cf_side *end);
/* a's requests do not end: no receive is posted, or the peer of its stream is mute. b may be
 * joined with a later, by cf_again(). */
void cf_stuck_pair(struct cf_side *a, struct cf_side *b, const struct cf_opt *o);
void cf_post_stuck(struct cf_side *a, uint64_t id, bool quiet);
/* Two sides on contexts of their own, connected to each other. */
void cf_pair(struct cf_side *a, struct cf_side *b, const struct cf_opt *o);
/* Moves one step (or to ERR, RESET, SQD) as cf_pair() does. */
void cf_move(struct cf_side *s, enum ibv_qp_state to, const struct cf_addr *peer);
void cf_up(struct cf_side *s, enum ibv_qp_state to, const struct cf_addr *peer);
/* RESET and up again; leftover completions and events are thrown away. */
void cf_again(struct cf_side *a, struct cf_side *b);
/* Attributes and mask for a step, for checks that vary them. */
int cf_attr(const struct cf_side *s, enum ibv_qp_state to, const struct cf_addr *peer,
	    struct ibv_qp_attr *attr);
struct ibv_qp_attr cf_query(struct ibv_qp *qp);
enum ibv_qp_state cf_state(struct ibv_qp *qp);
/* Waits until the QP is in this state. */
void cf_await_state(struct ibv_qp *qp, enum ibv_qp_state want);

/* --- work --- */
struct cf_wr {
	enum ibv_wr_opcode op;
	uint64_t id, off;
	uint32_t len;
	unsigned flags;          /* besides SIGNALED */
	bool quiet;              /* not signaled */
	const struct ibv_sge *sge;
	int n;                   /* with sge */
	uint32_t lkey;           /* instead of the side's */
	const struct cf_side *to; /* remote address and key from its buffer... */
	uint64_t roff;           /* ...at this offset */
	uint64_t raddr;          /* instead of to */
	uint32_t rkey;           /* instead of to's */
	uint32_t imm, inv;
	uint64_t add, swap;      /* compare or add value; swap value */
	struct ibv_ah *ah;
	uint32_t qpn, qkey, srqn;
};
/* 0 or what ibv_post_* returned. */
int cf_post_try(struct cf_side *s, const struct cf_wr *w);
int cf_recv_try(struct cf_side *s, uint64_t id, uint64_t off, uint32_t len, uint32_t lkey);
#define cf_post(s, ...) CF_OK(cf_post_try(s, &(struct cf_wr){ __VA_ARGS__ }))
#define cf_recv(s, id, off, len) CF_OK(cf_recv_try(s, id, off, len, 0))

/* Where a completion says only that the stream has the bytes: waits until all that a has sent was
 * executed at b. */
void cf_landed(struct cf_side *a, struct cf_side *b);
/* The requester of message n waits until so many receives were posted, where sending without one
 * is an error. *posted is counted up by the receiver. */
void cf_credit(const _Atomic int *posted, int n);

/* --- the result of a broken rule; a column for each kind of adapter --- */
enum cf_fault {
	CF_TOO_LONG,        /* a Send longer than the receive */
	CF_BAD_RECV,        /* the receive's own memory is refused */
	CF_BAD_WRITE,       /* key, range or right of the region */
	CF_BAD_READ,
	CF_BAD_ATOMIC,
	CF_QP_WRITE,        /* right of the QP */
	CF_QP_READ,
	CF_QP_ATOMIC,
	CF_MISALIGNED,
	CF_BAD_INV,         /* Send with invalidate of a key that must not be */
	CF_BAD_WRITE_IMM,   /* key of a WRITE with immediate; a receive is posted */
	CF_N_FAULTS
};
#define CF_NO_RECV UINT64_MAX
/* b refuses request id of a: both completions and events; receive rid of b, if one was taken. */
void cf_fails_at(const char *file, int line, struct cf_side *a, uint64_t id, struct cf_side *b,
		 uint64_t rid, enum cf_fault f);
#define cf_fails(a, id, b, rid, fault) cf_fails_at(__FILE__, __LINE__, a, id, b, rid, fault)
/* Posts it and returns how it ends, IBV_WC_REM_ACCESS_ERR also when a refusal of b is told by the
 * end of the stream only. */
enum ibv_wc_status cf_status_of(struct cf_side *a, struct cf_side *b, const struct cf_wr *w);
/* The effect of an error on a's own side on b, whose receive rid is posted. */
void cf_peer_of_local_error(struct cf_side *b, uint64_t rid);
/* Status of requests whose peer was killed. */
enum ibv_wc_status cf_peer_gone(void);

/* --- completions --- */
/* Time of which little passes while this process does not run: a machine that stood still, all of
 * it, for half a minute is no fault. Each look counts CF_LOOK_MS at most since the one before. */
struct cf_timeout {
	uint64_t spent, last;
};
/* So much time has been spent, since the struct was zero. */
bool cf_over(struct cf_timeout *p, uint64_t ns);
bool cf_poll(struct ibv_cq *cq, struct ibv_wc *wc, int ms);
struct ibv_wc cf_wc_at(const char *file, int line, struct ibv_cq *cq, uint64_t id,
		       enum ibv_wc_status status);
/* The next completion within CF_WAIT_MS has this wr_id and status. */
#define cf_wc(cq, id, status) cf_wc_at(__FILE__, __LINE__, cq, id, IBV_WC_##status)
void cf_quiet_at(const char *file, int line, struct ibv_cq *cq, int ms);
#define cf_quiet(cq) cf_quiet_at(__FILE__, __LINE__, cq, CF_QUIET_MS)
#define cf_quiet_for(cq, ms) cf_quiet_at(__FILE__, __LINE__, cq, ms)
int cf_drain(struct ibv_cq *cq);

/* --- events --- */
bool cf_readable(int fd, int ms);
/* Takes events until one of this type comes and acknowledges them. COMM_EST is passed over
 * unless wanted; another type fails. */
struct ibv_async_event cf_event_at(const char *file, int line, struct ibv_context *ctx,
				   enum ibv_event_type want);
#define cf_event(ctx, type) cf_event_at(__FILE__, __LINE__, ctx, IBV_EVENT_##type)
/* No event but COMM_EST for CF_QUIET_MS. */
void cf_no_event_at(const char *file, int line, struct ibv_context *ctx);
#define cf_no_event(ctx) cf_no_event_at(__FILE__, __LINE__, ctx)
void cf_drop_events(struct ibv_context *ctx);
/* A completion event of this CQ within ms; taken and acknowledged. */
bool cf_cq_event(struct ibv_comp_channel *chan, struct ibv_cq *cq, int ms);

/* --- data --- */
void cf_fill(void *p, size_t n, uint64_t seed);
void cf_verify_at(const char *file, int line, const void *p, size_t n, uint64_t seed);
#define cf_verify(p, n, seed) cf_verify_at(__FILE__, __LINE__, p, n, seed)
void cf_zero_at(const char *file, int line, const void *p, size_t n);
#define cf_all_zero(p, n) cf_zero_at(__FILE__, __LINE__, p, n)

/* --- time, processes, threads --- */
uint64_t cf_ns(void);
uint64_t cf_rnr_ns(int code); /* IBTA table 45 */

/* Two roles: threads, or with --fork processes. They talk through fd. */
struct cf_party {
	int fd;
	bool first;
	void *shared; /* one page both see */
};
void cf_roles(void (*one)(struct cf_party *), void (*two)(struct cf_party *));
/* The same, always in two processes. */
void cf_processes(void (*one)(struct cf_party *), void (*two)(struct cf_party *));
void cf_swap(struct cf_party *p, const void *mine, void *theirs, size_t n);
void cf_meet(struct cf_party *p);
/* Connects the side's QP with the one of the other role. */
struct cf_addr cf_connect(struct cf_party *p, struct cf_side *s);
/* --- streams --- */
/* One end's port and the other's connection, of loopback. */
int cf_tcp_listen(uint16_t *ret_port);
int cf_tcp_accept(int listener); /* and closes it */
int cf_tcp_connect(uint16_t port);
void cf_tcp_pair(int fd[2]);
/* Takes fd for s, which is in INIT. */
void cf_stream_begin(struct cf_side *s, int fd, bool initiator);
void cf_stream_wait(struct cf_side *s);
/* s (RESET) speaks as the initiator of a stream that was negotiated with MPA CRC; the other end
 * is a plain socket. */
int cf_stream_bare(struct cf_side *s);

/* --- netns.c --- */
/* Into a network namespace with lo and cfdev0, 192.0.2.1/24; or the check is skipped. */
void cf_netns(void);
/* `ip` with these arguments; 0 or not. */
int cf_ip(const char *args);

/* A child that runs fn(arg) and exits with its result; killed with us. */
pid_t cf_child(int (*fn)(void *), void *arg);
/* Waits for it; fails the check unless it left with 0. */
void cf_reap(pid_t pid);

/* A QP to itself moves data: the adapter is usable in this process. */
void cf_self_send(void);

#endif
