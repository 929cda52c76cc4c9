/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_FFT_H
#define DTT_FFT_H

/*
 * -T F: functional cases, each on an IA of its own. A case prints its results. Objects that it
 * did not free end with the IA, which is closed abruptly after a failure.
 */

#include "common/dtl.h"

enum fft_result { FFT_PASS, FFT_FAIL, FFT_UNSUPP };

struct fft_case {
	const char *text;	/* NULL ends a group */
	enum fft_result (*run)(struct dtl_ia *ia);
};

extern const struct fft_case fft_hwconn[], fft_endpoint[], fft_pz[], fft_mem[], fft_connmgt[],
	fft_queryinfo[];

/* Returns true if a call returned this type, and this subtype unless that is 0; else prints it. */
bool fft_is(DAT_RETURN r, DAT_RETURN type, DAT_RETURN subtype, const char *what);
/* Returns true if the provider lacks the whole feature, and does not refuse this use of it. */
bool fft_unsupported(DAT_RETURN r);

#define FFT_NEED(condition)						\
	do {								\
		if (!(condition)) {					\
			dtl_complain("%s:%d: failed: %s", __FILE__, __LINE__, #condition); \
			return FFT_FAIL;				\
		}							\
	} while (0)

#endif
