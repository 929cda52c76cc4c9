/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Default options of a new rsocket, from built-in values and the administrator's files. */
#ifndef ULP_RSOCKET_CONF_H
#define ULP_RSOCKET_CONF_H

#include <stdbool.h>
#include <stdint.h>

/* Options; an accepted socket inherits those of its listening socket. */
struct rs_opts {
	uint32_t sq_size, rq_size, inl;
	uint32_t sbuf_size, rbuf_size;
	uint16_t iomap_size;
	bool reuse, keepalive, oobinline, nodelay, v6only, linger;
	int linger_s;
	unsigned keep_idle;     /* seconds */
	uint8_t tos;
};

struct rs_conf {
	struct rs_opts o;
	uint32_t polling_us;
	bool polling_is_set;    /* by the administrator: it holds as it is, and no wait polls for longer */
	uint32_t wake_ms;       /* longest sleep of rpoll(); 0 is unlimited */
};

/* Returns the settings; the first call reads the files. */
const struct rs_conf *rs_conf(void);
/* Returns the buffer size that is used for `bytes`: within the limits, a multiple of 16. */
uint32_t rs_limit_buf(uint32_t bytes);
/* Returns the monotonic clock in microseconds. */
uint64_t rs_now(void);

#endif
