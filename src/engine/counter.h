/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The counters of a port: the name that a hw_counters folder has, and the meaning. Rows of eng_dev.counters, which
 * protocols, links and managers count up under the progress lock; read by include/dapple (abi/dapple/adapter.c) and
 * by the device tree below /sys (device/sysfs/root.c).
 */
#ifndef ENGINE_COUNTER_H
#define ENGINE_COUNTER_H

#include <stdint.h>

#define ENG_COUNTERS(C) \
C(tx_pkts,        "packets sent") \
C(tx_bytes,       "bytes sent, from BTH to ICRC") \
C(rx_pkts,        "packets received") \
C(rx_bytes,       "bytes received, from BTH to ICRC") \
C(rx_short,       "packets dropped: shorter than their headers or of an unknown form") \
C(rx_icrc_errors, "packets dropped: wrong ICRC") \
C(rx_no_qp,       "packets dropped: no such QP, or of another type or state") \
C(rx_bad_source,  "packets dropped: not from the connected peer") \
C(rx_bad_source_port, "packets dropped: from another UDP source port than the connected peer's") \
C(source_port_probes,  "peers asked whether a new source port is theirs") \
C(source_port_changes, "source ports of connected peers that have changed") \
C(rx_bad_pkey,    "packets dropped: P_Key mismatch") \
C(rx_bad_qkey,    "datagrams dropped: Q_Key mismatch") \
C(rx_no_wqe,      "datagrams dropped: no receive posted or too small") \
C(duplicate_request, "duplicate requests answered again") \
C(out_of_sequence,   "requests ahead of the expected PSN") \
C(rnr_nak_sent,      "RNR NAKs sent") \
C(rnr_nak_retry_err, "RNR NAKs received") \
C(packet_seq_err,    "sequence NAKs received") \
C(local_ack_timeout_err, "ACK timeouts") \
C(implied_nak_seq_err,   "lost READ or atomic responses noticed by a later answer") \
C(nak_sent,       "NAKs of other kinds sent") \
C(nak_received,   "NAKs of other kinds received") \
C(retransmits,    "packets sent again") \
C(np_ecn_marked_roce_packets, "packets received with the congestion mark") \
C(np_cnp_sent,    "congestion notifications sent") \
C(rp_cnp_handled, "congestion notifications received") \
C(guessed_keys,   "remote keys of no memory region or window") \
C(forwarded,      "packets forwarded to the process of the QP") \
C(tx_faults,      "packets not sent: unreadable memory or a full socket") \
C(local_tx,       "packets sent through shared memory to a process of this host") \
C(local_direct,   "Reads and Writes by direct access to a process of this host") \
C(local_stores,   "pieces of those by loads and stores in attached memory") \
C(acks_deferred,  "acknowledgements deferred to the next call") \
C(direct_tx_bytes, "bytes of Writes by direct access") \
C(direct_rx_bytes, "bytes of Reads by direct access") \
C(req_cqe_error,  "send requests completed with an error other than a flush") \
C(req_cqe_flush_error, "send requests flushed") \
C(req_remote_access_errors, "send requests that the peer refused for its memory") \
C(req_remote_invalid_request, "send requests that the peer called invalid") \
C(retry_exceeded_err, "send requests that were not acknowledged in time") \
C(retry_rnr_exceeded_err, "send requests for which the peer had no receive in time") \
C(resp_cqe_error, "receives completed with an error other than a flush") \
C(resp_cqe_flush_error, "receives flushed") \
C(resp_local_length_error, "receives shorter than their message") \
C(resp_remote_access_errors, "operations of peers refused for the memory they name")

enum eng_counter {
#define C(name, text) ENG_C_##name,
	ENG_COUNTERS(C)
#undef C
	ENG_C_COUNT
};

struct eng_counter_row {
	const char *name, *text;
};

extern const struct eng_counter_row eng_counter_rows[ENG_C_COUNT];

#endif
