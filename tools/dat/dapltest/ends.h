/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_ENDS_H
#define DTT_ENDS_H

#include "options.h"

/* Each returns 0 if everything succeeded. */
int dtt_server(const struct dtt_options *o);
int dtt_client(const struct dtt_options *o);	/* T, P and Q */
int dtt_limit(const struct dtt_options *o);
int dtt_fft(const struct dtt_options *o);
int dtt_query(const struct dtt_options *o);

#endif
