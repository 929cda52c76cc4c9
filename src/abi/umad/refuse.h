/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of libibumad that are refused; see util/refuse.h. */
#ifndef ABI_UMAD_REFUSE_H
#define ABI_UMAD_REFUSE_H

#include <errno.h>

/* name, errno without its E, object, cause, remedy */
#define UMAD_REFUSALS(R) \
R(OPEN,     OPNOTSUPP, "umad_open_port", "ports of RoCE and iWARP have no subnet management, and QP1 belongs to the connection managers", "ask for devices and paths by ibv_query_port() and rdma_cm instead of MADs") \
R(TRAFFIC,  OPNOTSUPP, "umad_send, recv, poll or register", "no port of this library can be opened for MADs", "check the result of umad_open_port() first") \
R(CLOSED,   INVAL,     "umad_close_port or unregister", "the port is not open", "check the result of umad_open_port() first") \
R(ISSM,     OPNOTSUPP, "umad_get_issm_path", "ports of RoCE and iWARP have no subnet manager", "run no subnet manager here: none is needed")

enum umad_refusal {
#define R(name, ...) UMAD_R_##name,
	UMAD_REFUSALS(R)
#undef R
	UMAD_REFUSALS_N
};

/* Says the sentence of this row for dapple why. Returns its errno, negative. */
int umad_refuse(enum umad_refusal why);

#endif
