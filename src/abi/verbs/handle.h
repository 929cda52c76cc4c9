/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Handle numbers of objects that can be imported by another context of the
 * process (ibv_import_pd(), ...), and the users of each.
 */
#ifndef ABI_VERBS_HANDLE_H
#define ABI_VERBS_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum vrb_kind { VRB_PDS, VRB_MRS, VRB_DMS, VRB_KINDS };

struct vrb_handle {
	uint32_t id; /* 0: cannot be imported */
	atomic_uint users;
};

/* Gives the object a number and returns it. Without memory the object works,
 * but cannot be found by its number. */
uint32_t vrb_handle_add(enum vrb_kind kind, struct vrb_handle *h);
/* Takes the object out for destruction. Returns false if it has users: it stays. */
bool vrb_handle_end(enum vrb_kind kind, struct vrb_handle *h);
/* Adds a user of the object with this number. Returns NULL if there is none. */
struct vrb_handle *vrb_handle_take(enum vrb_kind kind, uint32_t id);

#endif
