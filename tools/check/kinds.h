/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The mistakes that dapple check finds: one row each, with the rule that it breaks and a remedy. The checker inside the
 * program (preload/) names a row by its number; the command (cmd_check.c) prints it.
 */
#ifndef CHECK_KINDS_H
#define CHECK_KINDS_H

/* name, rule, remedy */
#define CHECK_KINDS(K) \
K(SOURCE_CHANGED,   "source-changed",          "ibv_post_send(3): a buffer is the adapter's until its completion", "copy, or wait for the completion before the buffer is used again") \
K(DEREGISTERED,     "deregistered-in-flight",  "IBTA 10.6.6: work requests that use a region complete before it is deregistered", "poll the completion first") \
K(FREED,            "freed-in-flight",         "ibv_post_send(3): a buffer is the adapter's until its completion", "free it after the completion") \
K(STALE,            "freed-memory-posted",     "ibv_reg_mr(3): a region is the memory that was there when it was registered", "deregister before free(), and register the new memory") \
K(KEY,              "unknown-lkey",            "IBTA 10.6.3: a local key names a registered region", "use the lkey of a region that is registered") \
K(BOUNDS,           "outside-region",          "IBTA 10.6.3: an access stays within its region", "register all of it, or correct address and length") \
K(DOMAIN,           "other-domain",            "IBTA 10.2.3: queue pair and region are of one protection domain", "register in the domain of the queue pair") \
K(NOT_WRITABLE,     "not-writable",            "ibv_reg_mr(3): data are placed with IBV_ACCESS_LOCAL_WRITE alone", "register with IBV_ACCESS_LOCAL_WRITE") \
K(REG_RIGHTS,       "remote-without-local",    "ibv_reg_mr(3): remote write and atomic need IBV_ACCESS_LOCAL_WRITE", "add IBV_ACCESS_LOCAL_WRITE") \
K(NEVER_SIGNALED,   "never-signaled",          "ibv_post_send(3): the queue is freed by completions of signaled requests", "signal one request of each max_send_wr at least") \
K(CQ_SMALL,         "cq-too-small",            "IBTA 11.2.8: a completion queue that overruns is lost with its queue pairs", "create it with as many entries as requests may complete") \
K(AFTER_ERROR,      "posted-after-error",      "IBTA 10.3.1: a queue pair in ERR flushes what is posted", "stop at the first completion with an error, and connect again") \
K(BEFORE_READY,     "posted-before-ready",     "ibv_post_send(3), ibv_post_recv(3): sends need RTS, receives INIT", "move the queue pair first, or wait for ESTABLISHED") \
K(PIECES,           "too-many-pieces",         "ibv_post_send(3): at most max_send_sge or max_recv_sge pieces", "create the queue pair with more") \
K(INLINE,           "inline-too-long",         "ibv_post_send(3): inline data are max_inline_data at most", "leave IBV_SEND_INLINE out, or create the queue pair with more") \
K(ATOMIC,           "unaligned-atomic",        "IBTA 9.4.5: an atomic works on 8 octets at a multiple of 8", "align the word, and name 8 octets") \
K(RECV_ON_SRQ,      "receive-beside-srq",      "ibv_post_recv(3): a queue pair with an SRQ has no receive queue", "post to the SRQ") \
K(BUSY,             "destroyed-in-use",        "verbs: objects are destroyed before those that they were made of", "destroy its users first") \
K(TWICE,            "destroyed-twice",         "an object is destroyed once", "set the pointer to NULL behind the first") \
K(NOT_POLLED,       "never-polled",            "ibv_poll_cq(3): completions are read by the program", "poll it, or request no signaled completions") \
K(CQ_EVENTS,        "cq-events-not-acknowledged", "ibv_get_cq_event(3): all events are acknowledged before ibv_destroy_cq(), which waits for it", "call ibv_ack_cq_events()") \
K(CM_EVENTS,        "cm-events-not-acknowledged", "rdma_destroy_id(3): all events are acknowledged before, or it waits", "call rdma_ack_cm_event()") \
K(ACK_TOO_MANY,     "acknowledged-too-often",  "ibv_ack_cq_events(3): as many as were got", "count the events of ibv_get_cq_event()") \
K(UNARMED,          "wait-without-arm",        "ibv_req_notify_cq(3): one request gives one event", "arm the queue before the next wait") \
K(NO_POLL,          "wait-without-poll",       "ibv_get_cq_event(3): completions from before the queue was armed raise no event", "poll once more behind ibv_req_notify_cq()") \
K(NO_CHANNEL,       "armed-without-channel",   "ibv_req_notify_cq(3): events come by the channel of ibv_create_cq()", "create the queue with a completion channel") \
K(CHILD,            "used-after-fork",         "ibv_fork_init(3): a child of fork() has no objects of its parent", "open the device in the child") \
K(LATE_RECEIVE,     "receive-after-accept",    "rdma_cm(7): receives are posted before rdma_accept(), since the peer may send at once", "post before rdma_accept()") \
K(PRIVATE,          "private-data-too-long",   "IBTA 12.6: REQ 56 octets behind the header of rdma_cm, REP 196, REJ 148; SIDR 180 and 136", "send less, and the rest in a message") \
K(RACE,             "queue-pair-race",         "ibv_alloc_td(3): objects of a thread domain are used by one thread at a time", "give each thread a queue pair, or leave the thread domain out") \
K(NO_RECEIVE,       "no-receive",              "IBTA 9.7.5.2.8: a Send needs a posted receive at the peer", "post receives earlier at the peer, or let it count credits") \
K(DEVICE,           "device-refuses",          "ibv_query_device(3): limits differ between adapters", "ask for less, or for what ibv_query_device() reports") \
K(TRANSITION,       "transition",              "IBTA 11.2.5.2: a change of state has attributes that it needs and others that it takes", "name what is needed alone, see ibv_modify_qp(3)") \
K(RANGE,            "attribute-out-of-range",  "IBTA 11.2.5.2: PSNs have 24 bits, timers 5, counts 3, a path MTU is at most that of the port", "correct the value; other adapters refuse it, or cut it off") \
K(NO_GRH,           "path-without-grh",        "IBTA annex A17: every packet of RoCE has a GRH", "set is_global, dgid and sgid_index of the address vector") \
K(NO_DEPTH,         "no-read-depth",           "IBTA 11.2.5.2: max_rd_atomic is the number of Reads and atomics under way", "move the queue pair to RTS with a max_rd_atomic of 1 at least") \
K(ASYNC_EVENTS,     "async-events-not-acknowledged", "ibv_get_async_event(3): all events are acknowledged before the object is destroyed, which waits for it", "call ibv_ack_async_event()") \
K(OVERLAP,          "overlaps-freed-region",   "ibv_reg_mr(3): a region keeps its pages until it is deregistered", "deregister a region before its memory is freed") \
K(FORK,             "fork-without-support",    "ibv_fork_init(3): without it fork() may part registered pages from the adapter", "call ibv_fork_init() first, or set IBV_FORK_SAFE=1") \
K(GRH_ROOM,         "no-room-for-grh",         "ibv_post_recv(3): the first 40 octets of a UD receive are for the GRH", "post 40 octets more than the message has") \
K(DAT_FREED,        "dat-handle-freed",        "DAT 2.0: a handle ends when its object is freed", "set the handle to DAT_HANDLE_NULL behind the call that frees it") \
K(EVD_SHORT,        "evd-too-short",           "DAT 2.0, dat_evd_create(): events beyond its length are lost with their connection", "create it for as many events as requests may complete, or dequeue before the next post") \
K(POLLED,           "polled-memory",           "IBTA 9.5: the order in which octets of a Write come to memory is not defined until a completion tells of it", "let the peer send behind its Write, or use a Write with immediate data, and wait for that completion") \
K(LEAK,             "leaked",                  "an object lives until it is destroyed", "destroy it before the program ends")

enum check_kind {
#define K(name, ...) CHECK_##name,
	CHECK_KINDS(K)
#undef K
	CHECK_N
};

/* Adapters whose limits can be asked for (preload/device.c). */
#define CHECK_DEVICES "rxe", "siw", "mlx5", "irdma", "efa"

/* In the environment of the program: the file of reports; the options, as words. */
#define CHECK_ENV "DAPPLE_CHECK"
#define CHECK_OPTIONS_ENV "DAPPLE_CHECK_OPTIONS"

/*
 * A report is one line, written by one call:
 *
 *      KIND TAB PID TAB PROGRAM TAB FRAMES TAB SENTENCE
 *
 * FRAMES: MODULE+0xOFFSET of each call, innermost first, separated by blanks; blanks of a name are given as \x20.
 */

#endif
