/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The states of a DAT endpoint, every state with every trigger, configured or not, against a grid
 * written by hand from the standard's diagram and not from the table in the code.
 *
 * A column is a state, a cell is "." (illegal: the error names the state), or the state that
 * follows, with "!" (NOTREADY unless configured), "~" (the unconfigured member of the pair unless
 * configured) and "+" with the event behind it.
 */
#include "dat/core/state.h"
#include "support/check.h"

#include <stdbool.h>

static const char *const names[] = { "U", "uU", "R", "uR", "P", "uP", "A", "T", "uT", "C", "DP",
				     "D", "CP", "SP", "MP" };
#define STATES ((int)(sizeof(names) / sizeof(names[0])))

static const struct {
	enum dpr_ep_do what;
	const char *cells;
} grid[] = {
	/*                              U    uU    R   uR   P   uP   A   T   uT   C   DP   D   CP  SP MP */
	{ DPR_DO_RSP_CREATE,           "R    uR    .   .    .   .    .   .   .    .   .    .   .   .  ." },
	{ DPR_DO_RSP_FREE,             ".    .     U   uU   .   .    .   .   .    .   .    .   .   .  ." },
	{ DPR_DO_CONNECT,              "A!   A!    .   .    .   .    .   .   .    .   .    .   .   .  ." },
	{ DPR_DO_DUP_SOURCE,           ".    .     .   .    .   .    .   .   .    C   .    .   .   .  ." },
	{ DPR_DO_ACCEPT,               "CP!  CP!   .   .    CP! CP!  .   CP! CP!  .   .    .   .   .  ." },
	{ DPR_DO_REJECT,               ".    .     .   .    U   uU   .   T   uT   .   .    .   .   .  ." },
	{ DPR_DO_DISCONNECT,           ".    .     .   .    .   .    D+d .   .    D+d D+d  D   D+d .  ." },
	{ DPR_DO_DISCONNECT_GRACEFUL,  ".    .     .   .    .   .    D+d .   .    DP  DP   D   D+d .  ." },
	{ DPR_DO_RESET,                "U    uU    .   .    .   .    .   .   .    .   .    U~  .   .  ." },
	{ DPR_DO_FREE,                 "U    uU    .   .    .   .    D   .   .    D   D    D   D   .  ." },
	{ DPR_DO_POST_REQUEST,         ".    .     .   .    .   .    .   .   .    C!  .    D!  .   .  ." },
	{ DPR_DO_POST_RECV,            "U!   uU!   R!  uR!  P!  uP!  A!  T!  uT!  C!  DP!  D!  CP! .  ." },
	{ DPR_DO_MODIFY_PZ,            "U~   U~    .   .    .   .    .   T~  T~   .   .    .   .   .  ." },
	{ DPR_DO_MODIFY_ATTR,          "U~   U~    R~  R~   P~  P~   .   T~  T~   .   .    .   .   .  ." },
	{ DPR_DO_MODIFY_SPECIFIC,      "U    uU    .   .    .   .    .   .   .    .   .    .   .   .  ." },
	{ DPR_ON_REQUEST,              "T    uT    P   uP   .   .    .   .   .    .   .    .   .   .  ." },
	{ DPR_ON_ESTABLISHED,          ".    .     .   .    .   .    C+e .   .    .   .    .   C+e .  ." },
	{ DPR_ON_REFUSED,              ".    .     .   .    .   .    D   .   .    .   .    .   D+a .  ." },
	{ DPR_ON_DISCONNECTED,         ".    .     .   .    .   .    D+n .   .    D+d D+d  .   D+a .  ." },
	{ DPR_ON_DRAINED,              ".    .     .   .    .   .    .   .   .    .   D+d  .   .   .  ." },
	{ DPR_ON_BROKEN,               ".    .     .   .    .   .    D+n .   .    D+b D+b  .   D+a .  ." },
};

static const DAT_RETURN_SUBTYPE subtypes[] = {
	DAT_INVALID_STATE_EP_UNCONNECTED, DAT_INVALID_STATE_EP_UNCONFIGURED,
	DAT_INVALID_STATE_EP_RESERVED, DAT_INVALID_STATE_EP_UNCONFRESERVED,
	DAT_INVALID_STATE_EP_PASSCONNPENDING, DAT_INVALID_STATE_EP_UNCONFPASSIVE,
	DAT_INVALID_STATE_EP_ACTCONNPENDING, DAT_INVALID_STATE_EP_TENTCONNPENDING,
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE, DAT_INVALID_STATE_EP_CONNECTED,
	DAT_INVALID_STATE_EP_DISCPENDING, DAT_INVALID_STATE_EP_DISCONNECTED,
	DAT_INVALID_STATE_EP_COMPLPENDING, DAT_INVALID_STATE_EP_CONNECTED,
	DAT_INVALID_STATE_EP_CONNECTED
};

static int state_of(const char *cell)
{
	size_t n = strcspn(cell, "!~+ ");

	for (int i = 0; i < STATES; i++)
		if (strlen(names[i]) == n && !strncmp(names[i], cell, n))
			return i;
	CHECK_MSG(0, "the grid names no state: %s", cell);
	return -1;
}

static DAT_EVENT_NUMBER event_of(const char *cell)
{
	const char *plus = memchr(cell, '+', strcspn(cell, " "));

	switch (plus ? plus[1] : 0) {
	case 0: return (DAT_EVENT_NUMBER)0;
	case 'd': return DAT_CONNECTION_EVENT_DISCONNECTED;
	case 'e': return DAT_CONNECTION_EVENT_ESTABLISHED;
	case 'a': return DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	case 'n': return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	case 'b': return DAT_CONNECTION_EVENT_BROKEN;
	}
	CHECK_MSG(0, "the grid names no event: %s", cell);
	return (DAT_EVENT_NUMBER)0;
}

static bool has(const char *cell, char c)
{
	return memchr(cell, c, strcspn(cell, " ")) != NULL;
}

static void one(enum dpr_ep_do what, int state, const char *cell, _Bool configured)
{
	struct dpr_ep_step got = dpr_ep_step((DAT_EP_STATE)state, what, configured);
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT_NUMBER event = (DAT_EVENT_NUMBER)0;
	int next = state;

	if (*cell == '.') {
		ret = DAT_CLASS_ERROR | DAT_INVALID_STATE | subtypes[state];
	} else if (has(cell, '!') && !configured) {
		ret = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EP_NOTREADY;
	} else {
		next = state_of(cell);
		event = event_of(cell);
		if (has(cell, '~') && !configured)
			next++; /* each pair stands side by side */
	}
	CHECK_MSG(got.ret == ret, "trigger %d in %s, configured %d: 0x%x, not 0x%x", what,
		  names[state], configured, got.ret, ret);
	CHECK_MSG((int)got.next == next, "trigger %d in %s, configured %d: to %s, not %s", what,
		  names[state], configured, names[got.next], names[next]);
	CHECK_MSG(got.event == event, "trigger %d in %s: event 0x%x, not 0x%x", what,
		  names[state], got.event, event);
}

int main(void)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++) {
		const char *cell = grid[i].cells;

		CHECK((int)grid[i].what == (int)i);
		for (int state = 0; state < STATES; state++) {
			CHECK_MSG(*cell, "trigger %zu: the grid is short of cells", i);
			one(grid[i].what, state, cell, false);
			one(grid[i].what, state, cell, true);
			seen += 2;
			cell += strcspn(cell, " ");
			cell += strspn(cell, " ");
		}
		CHECK(!*cell);
	}
	CHECK(seen == DPR_EP_DOS * STATES * 2u);
	for (int state = 0; state < STATES; state++)
		CHECK(dpr_ep_state_name((DAT_EP_STATE)state) == subtypes[state]);
	printf("%u pairs\n", seen);
	return 0;
}
