/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_FFT_H
#define DTT_FFT_H

/*
 * -T F: functional cases, each on an IA of its own.  A case says what it found; the objects it
 * did not free go with the IA, which is closed abruptly when a case has failed.
 */

#include "common/dtl.h"

enum fft_result { FFT_PASS, FFT_FAIL, FFT_UNSUPP };

struct fft_case {
	const char *text;	/* NULL ends a group */
	enum fft_result (*run)(struct dtl_ia *ia);
};

extern const struct fft_case fft_hwconn[], fft_endpoint[], fft_pz[], fft_mem[], fft_connmgt[],
	fft_queryinfo[];

/* Whether a call ended as it must: type, and subtype unless that is 0. Says so if not. */
bool fft_is(DAT_RETURN r, DAT_RETURN type, DAT_RETURN subtype, const char *what);
/* A provider that refuses a whole feature, not this use of it. */
bool fft_unsupported(DAT_RETURN r);

#define FFT_NEED(condition)						\
	do {								\
		if (!(condition)) {					\
			dtl_complain("%s:%d: not so: %s", __FILE__, __LINE__, #condition); \
			return FFT_FAIL;				\
		}							\
	} while (0)

#endif
