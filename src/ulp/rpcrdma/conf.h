/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a program chooses for its connections. */
#ifndef ULP_RPCRDMA_CONF_H
#define ULP_RPCRDMA_CONF_H

#include <stdbool.h>
#include <stdint.h>

#define RPR_PORT 20049               /* RFC 8267, 9: nfsrdma */
#define RPR_INLINE_OURS 4096
#define RPR_CREDITS_OURS 32
#define RPR_MESSAGE_OURS (1u << 20 | 1u << 17)  /* a MiB of data, and 128 KiB around it */
#define RPR_MESSAGE_MAX (64u << 20)

struct rpr_conf {
	uint32_t inline_size;  /* of messages in either direction; a multiple of 1024 up to RPR_INLINE_MAX */
	uint32_t credits;      /* calls outstanding in the forward direction; 1 to RPR_CREDITS_MAX */
	uint32_t max_message;  /* longest RPC message; at least inline_size, at most RPR_MESSAGE_MAX */
	bool remote_inv;       /* permit and use remote invalidation */
	bool windows;          /* memory windows of type 2, if the adapter has them */
};

static inline struct rpr_conf rpr_conf_ours(void)
{
	return (struct rpr_conf){ RPR_INLINE_OURS, RPR_CREDITS_OURS, RPR_MESSAGE_OURS, true, true };
}

#endif
