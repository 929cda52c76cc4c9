/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of libibumad that are refused; see util/refuse.h. */
#ifndef ABI_UMAD_REFUSE_H
#define ABI_UMAD_REFUSE_H

#include <errno.h>

/* name, errno without its E, object, cause, remedy */
#define UMAD_REFUSALS(R) \
R(OPEN,     OPNOTSUPP, "umad_open_port", "ports of RoCE and iWARP have no subnet management, and QP1 belongs to the connection managers", "ask for devices and paths by ibv_query_port() and rdma_cm instead of MADs, or attach to a soft InfiniBand fabric (dapple fabric up)") \
R(FABRIC,   NODEV,     "umad_open_port", "the fabric or its node is not there", "start it by dapple fabric up, and see dapple fabric list") \
R(PORT,     INVAL,     "umad_open_port or umad_get_port", "the node has no port of this number", "see dapple fabric show") \
R(TRAFFIC,  OPNOTSUPP, "umad_send, recv, poll or register", "no port of this library can be opened for MADs", "check the result of umad_open_port() first") \
R(CLOSED,   INVAL,     "umad_close_port or unregister", "the port is not open", "check the result of umad_open_port() first") \
R(AGENT,    INVAL,     "umad_register", "class, version, OUI and RMPP do not fit together, or another agent of the port has one of the methods", "see umad_register(3), and dapple fabric show for the agents") \
R(AGENTS,   NOMEM,     "umad_register", "the open port has 32 agents", "unregister one, or open the port once more") \
R(ENDED,    IO,        "umad_send, recv or register", "the fabric has ended", "start it again by dapple fabric up") \
R(BUSY,     BUSY,      "umad_get_issm_path", "the fabric process does not answer", "see dapple fabric list") \
R(LONG,     NAMETOOLONG, "umad_get_issm_path", "the path of the runtime directory is longer than the array", "set DAPPLE_RUNTIME_DIR to a shorter one") \
R(ISSM,     OPNOTSUPP, "umad_get_issm_path", "ports of RoCE and iWARP have no subnet manager", "run no subnet manager here, or attach to a soft InfiniBand fabric (dapple fabric up)")

enum umad_refusal {
#define R(name, ...) UMAD_R_##name,
	UMAD_REFUSALS(R)
#undef R
	UMAD_REFUSALS_N
};

/* Says the sentence of this row for dapple why. Returns its errno, negative. */
int umad_refuse(enum umad_refusal why);

#endif
