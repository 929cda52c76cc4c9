/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An administrator's defaults: files of one number each. A value out of range counts as absent. */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONF_DIR "/etc/rdma/rsocket"

unsigned rs_poll_us = 10, rs_wake_ms = 500;

static struct rs_sizes defaults;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool read_text(const char *name, char *buf, size_t size)
{
	const char *dir = secure_getenv("DAPPLE_RSOCKET_DIR");
	char path[PATH_MAX];
	ssize_t n;
	int fd, len;

	len = snprintf(path, sizeof(path), "%s/%s", dir ? dir : CONF_DIR, name);
	if (len < 0 || (size_t)len >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

long rs_config_value(const char *name, long low, long high, long fallback)
{
	char text[32], *end;
	long v;

	if (!read_text(name, text, sizeof(text)))
		return fallback;
	errno = 0;
	v = strtol(text, &end, 0);
	if (end == text || errno || (*end && *end != '\n' && *end != ' '))
		return fallback;
	return v < low || v > high ? fallback : v;
}

static void load(void)
{
	int kept = errno;

	defaults = (struct rs_sizes){
		.sq = (uint32_t)rs_config_value("sqsize_default", RS_QP_MIN, RS_QP_MAX, 384),
		.rq = (uint32_t)rs_config_value("rqsize_default", RS_QP_MIN, RS_QP_MAX, 384),
		.inline_len = (uint32_t)rs_config_value("inline_default", 0, 4096, 64),
		.rmem = (uint32_t)rs_config_value("mem_default", 1, RS_MEM_MAX, 1 << 17),
		.smem = (uint32_t)rs_config_value("wmem_default", 1, RS_MEM_MAX, 1 << 17),
		.iomap = (uint32_t)rs_config_value("iomap_size", 0, RS_IOMAP_MAX, 0),
	};
	rs_poll_us = (unsigned)rs_config_value("polling_time", 0, 1000000, 10);
	rs_wake_ms = (unsigned)rs_config_value("wake_up_interval", 1, 3600000, 500);
	errno = kept;
}

void rs_config(struct rs_sizes *ret)
{
	pthread_once(&once, load);
	*ret = defaults;
}
