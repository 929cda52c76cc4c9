/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What our end wants of MPA:
 *   DAPPLE_MPA=word[,word...]
 *	crc, nocrc          CRC32C on every FPDU (default: crc); it stays on when the peer
 *	                    wants it
 *	markers, nomarkers  ask the peer for markers (default: nomarkers); we send them to
 *	                    whoever asks
 *	rev1, rev2          Request frames of RFC 5044, or of RFC 6581 (default: rev2)
 *	nortr               no peer-to-peer set-up is offered
 */
#include "device/iwarp.h"

#include "util/log.h"

#include <stdlib.h>
#include <string.h>

#define RTR_DEFAULT (1u << PROTO_RTR_WRITE | 1u << PROTO_RTR_READ)

static bool is(const char *word, size_t len, const char *what)
{
	return strlen(what) == len && memcmp(word, what, len) == 0;
}

static bool apply(struct mpa_config *cfg, const char *w, size_t n)
{
	if (is(w, n, "crc") || is(w, n, "nocrc"))
		cfg->crc = w[0] == 'c';
	else if (is(w, n, "markers") || is(w, n, "nomarkers"))
		cfg->markers = w[0] == 'm';
	else if (is(w, n, "rev1") || is(w, n, "rev2"))
		cfg->revision = w[3] == '1' ? 1 : 2;
	else if (is(w, n, "nortr"))
		cfg->rtr = 0;
	else
		return n == 0;
	return true;
}

void dev_iwarp_config(struct mpa_config *cfg)
{
	const char *v = getenv("DAPPLE_MPA");

	cfg->crc = true;
	cfg->markers = false;
	cfg->revision = 2;
	cfg->rtr = RTR_DEFAULT;
	while (v && *v) {
		size_t n = strcspn(v, ",");

		if (!apply(cfg, v, n))
			ut_error("DAPPLE_MPA: \"%.*s\" is not understood (known: crc, nocrc, "
				 "markers, nomarkers, rev1, rev2, nortr)", (int)n, v);
		v += n + (v[n] == ',');
	}
}
