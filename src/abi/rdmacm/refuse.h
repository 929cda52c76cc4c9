/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of librdmacm that are refused; see util/refuse.h. The rooms below return an errno, and each public call leaves
 * by rcm_result() or rcm_null(), which find the row of the call and the errno; for a call without a row of its own,
 * that of the errno. So every errno that a program gets has a sentence. Answers that a program asks for in a loop have
 * none, nor have ends of a connection, which cm/why.h has said.
 */
#ifndef ABI_RDMACM_REFUSE_H
#define ABI_RDMACM_REFUSE_H

#include "util/refuse.h"

#include <errno.h>

/* name, errno without its E, call, cause, remedy */
#define RCM_REFUSALS(R) \
R(CONNECT_INVAL,  INVAL, "rdma_connect", "the identifier has no route or no QP, conn_param asks for deeper Reads than the adapter has, or its private data are too long", "call rdma_resolve_route() first, use RDMA_MAX_INIT_DEPTH and RDMA_MAX_RESP_RES, at most 56 octets of private data over RoCE and 508 over iWARP") \
R(ACCEPT_INVAL,   INVAL, "rdma_accept", "the identifier is not that of a request that waits, has no QP, or conn_param asks for deeper Reads than the adapter has", "accept the id of RDMA_CM_EVENT_CONNECT_REQUEST once, after rdma_create_qp(), and use RDMA_MAX_INIT_DEPTH and RDMA_MAX_RESP_RES") \
R(REJECT_INVAL,   INVAL, "rdma_reject", "the identifier is not that of a request that waits, or the private data are missing or too long", "reject the id of RDMA_CM_EVENT_CONNECT_REQUEST once, with at most 148 octets") \
R(LISTEN_INVAL,   INVAL, "rdma_listen", "the identifier is not bound, or in use for a connection", "call rdma_bind_addr() first, with an identifier of its own") \
R(LISTEN_USED,    ADDRINUSE, "rdma_listen", "another program listens at this port", "choose another port, or end that program") \
R(LISTEN_NODEV,   NODEV, "rdma_listen", "no adapter has the address", "bind an address that dapple devices prints") \
R(BIND_INVAL,     INVAL, "rdma_bind_addr", "the address is missing or of an unknown family, or the identifier is bound already", "pass a sockaddr_in or sockaddr_in6 once") \
R(BIND_USED,      ADDRINUSE, "rdma_bind_addr", "another program has this port", "choose another port, or set RDMA_OPTION_ID_REUSEADDR at both") \
R(BIND_NOTAVAIL,  ADDRNOTAVAIL, "rdma_bind_addr", "the address is not one of this host", "choose one that dapple devices prints") \
R(BIND_NODEV,     NODEV, "rdma_bind_addr", "no adapter has the address", "choose one that dapple devices prints, or list more kinds by DAPPLE_ADAPTER") \
R(BIND_ACCES,     ACCES, "rdma_bind_addr", "ports below net.ipv4.ip_unprivileged_port_start belong to privileged programs", "choose a higher port") \
R(RESOLVE_INVAL,  INVAL, "rdma_resolve_addr", "the destination is missing or of an unknown family, or the identifier is resolved already", "pass a sockaddr_in or sockaddr_in6 once") \
R(RESOLVE_FAMILY, AFNOSUPPORT, "rdma_resolve_addr", "source and destination are not of one address family", "pass both as IPv4 or both as IPv6") \
R(RESOLVE_NODEV,  NODEV, "rdma_resolve_addr", "no adapter has the source address", "see dapple devices, and ip route get for the source that the route has") \
R(RESOLVE_NOTAVAIL, ADDRNOTAVAIL, "rdma_resolve_addr", "the source is not an address of this host", "choose one that dapple devices prints, or none") \
R(RESOLVE_USED,   ADDRINUSE, "rdma_resolve_addr", "no port is free at the source, or the identifier is bound to another adapter", "bind no address before, or end programs that hold ports") \
R(ROUTE_INVAL,    INVAL, "rdma_resolve_route", "the address of the identifier is not resolved", "wait for RDMA_CM_EVENT_ADDR_RESOLVED first") \
R(QP_INVAL,       INVAL, "rdma_create_qp", "the identifier has no adapter yet or has a QP, or PD and CQs are not of its adapter", "resolve or bind it first, and create PD and CQs with id->verbs") \
R(QP_EX_INVAL,    INVAL, "rdma_create_qp_ex", "the identifier has no adapter yet or has a QP, or PD and CQs are not of its adapter", "resolve or bind it first, and create PD and CQs with id->verbs") \
R(SRQ_INVAL,      INVAL, "rdma_create_srq", "the identifier has no adapter yet or has an SRQ, or the PD is not of its adapter", "resolve or bind it first, and create the PD with id->verbs") \
R(SRQ_EX_INVAL,   INVAL, "rdma_create_srq_ex", "the identifier has no adapter yet or has an SRQ, or the PD is not of its adapter", "resolve or bind it first, and create the PD with id->verbs") \
R(DISCONNECT_INVAL, INVAL, "rdma_disconnect", "the identifier has no connection", "call it once, after RDMA_CM_EVENT_ESTABLISHED") \
R(ESTABLISH_INVAL, INVAL, "rdma_establish", "the identifier has a QP of its own, or waits for no confirmation", "call it after RDMA_CM_EVENT_CONNECT_RESPONSE, which comes to an identifier without a QP") \
R(NOTIFY_INVAL,   INVAL, "rdma_notify", "the event is not IBV_EVENT_COMM_EST, or the identifier waits for no peer", "pass on IBV_EVENT_COMM_EST of its QP") \
R(NOTIFY_CONN,    ISCONN, "rdma_notify", "the connection is established already", "none is needed") \
R(EVENT_INVAL,    INVAL, "rdma_get_cm_event", "channel or pointer is NULL", "pass both") \
R(ACK_INVAL,      INVAL, "rdma_ack_cm_event", "the event is NULL", "acknowledge each event once") \
R(OPTION_INVAL,   INVAL, "rdma_set_option", "the value has another length or is out of range, or the identifier is past the state for it", "see rdma_set_option(3); set it before the address is bound or resolved") \
R(OPTION_NOSYS,   NOSYS, "rdma_set_option", "the option is unknown", "use the options of rdma_cma.h and dapple/cm.h") \
R(OPTION_NODEV,   NODEV, "rdma_set_option", "no adapter has the name", "name one that dapple devices prints") \
R(JOIN_INVAL,     INVAL, "rdma_join_multicast", "the identifier carries no datagrams or has no adapter, or the address is no group", "use RDMA_PS_UDP, bind or resolve first, and pass a multicast address") \
R(LEAVE_NOTAVAIL, ADDRNOTAVAIL, "rdma_leave_multicast", "the identifier is no member of the group", "pass the address that was joined") \
R(REQUEST_INVAL,  INVAL, "rdma_get_request", "the identifier does not listen, or has a channel of the program's", "create the listener by rdma_create_ep() or without a channel") \
R(EP_INVAL,       INVAL, "rdma_create_ep", "the rdma_addrinfo is missing, or PD and attributes are not of its adapter", "pass what rdma_getaddrinfo() returned") \
R(INFO_INVAL,     INVAL, "rdma_getaddrinfo", "neither node nor service nor hints are given", "pass one of them, and a pointer for the result") \
R(INFO_BUSY,      BUSY, "rdma_resolve_addrinfo", "the identifier resolves already", "take the result by rdma_query_addrinfo() first") \
R(INFO_SA,        OPNOTSUPP, "rdma_resolve_addrinfo", "there is no subnet administrator to ask (RAI_SA)", "leave out RAI_SA") \
R(INFO_NONE,      NOENT, "rdma_query_addrinfo", "nothing is resolved", "wait for RDMA_CM_EVENT_ADDRINFO_RESOLVED") \
R(INFO_NODATA,    NODATA, "rdma_resolve_addrinfo", "the resolver does not know node or service", "try getent ahosts with the same words") \
R(ID_INVAL,       INVAL, "rdma_create_id", "port space or pointer is not valid", "use RDMA_PS_TCP, UDP, IB or IPOIB") \
R(MIGRATE_INVAL,  INVAL, "rdma_migrate_id", "the identifier is NULL or in a synchronous call", "migrate it from the thread that uses it") \
R(ATTR_INVAL,     INVAL, "rdma_init_qp_attr", "the state asked for does not come next in this connection", "ask for INIT, RTR and RTS in the order of the events") \
R(ANY_INVAL,      INVAL, "a call of librdmacm", "an argument is not valid in the identifier's state", "see the manual page of the call for its order and arguments") \
R(ANY_NODEV,      NODEV, "a call of librdmacm", "there is no adapter", "see dapple devices and dapple doctor") \
R(ANY_NOMEM,      NOMEM, "a call of librdmacm", "no memory is left", "raise the limits on memory and descriptors of the process") \
R(ANY_MFILE,      MFILE, "a call of librdmacm", "the process has no descriptor left", "raise ulimit -n") \
R(ANY_USED,       ADDRINUSE, "a call of librdmacm", "the address is in use", "choose another port or address") \
R(ANY_NOTAVAIL,   ADDRNOTAVAIL, "a call of librdmacm", "the address is not one of this host", "choose one that dapple devices prints") \
R(ANY_LACKS,      OPNOTSUPP, "a call of librdmacm", "the adapter lacks the operation", "use another adapter or call") \
R(ANY_IO,         IO, "a call of librdmacm", "the object belongs to the parent of this process (fork)", "create it in the child") \
R(ANY_ACCES,      ACCES, "a call of librdmacm", "the system does not permit it", "see dapple doctor") \
R(ANY_PERM,       PERM, "a call of librdmacm", "the system does not permit it", "see dapple doctor") \
R(ANY_OTHER,      PROTO, "a call of librdmacm", "the system or the peer refused", "see the sentence before this one, and dapple doctor")

enum rcm_refusal {
#define R(name, ...) RCM_R_##name,
	RCM_REFUSALS(R)
#undef R
	RCM_REFUSALS_N
};

/* Returns the row of a call that leaves with this errno (positive), or NULL for an answer that is no refusal. */
const struct ut_refusal *rcm_refusal(const char *call, int err);
/* Says why a public call is refused, and sets errno to -rc. Returns -1. */
int rcm_refused(const char *call, int rc);

/* The end of a public call with its result rc, 0 or a negative errno. Returns 0 or -1. */
static inline int rcm_leave(const char *call, int rc)
{
	return rc >= 0 ? 0 : rcm_refused(call, rc);
}

#endif
