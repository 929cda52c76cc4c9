/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The administrator's settings: one number in one file each, read once. The folder is that of
 * rdma-core; DAPPLE_RSOCKET_CONF names another one.
 */
#include "ulp/rsocket/conf.h"
#include "ulp/rsocket/flow.h"
#include "util/env.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONF_DIR "/etc/rdma/rsocket"
#define POLLING_US 10u /* as in rdma-core */
#define POLLING_MOST_US 10000000u
#define POLLING_UNSET UINT32_MAX

static struct rs_conf conf = {
	.o = { .sq_size = 384, .rq_size = 384, .inl = 64, .sbuf_size = 1 << 17,
	       .rbuf_size = 1 << 17, .keep_idle = 7200 },
	.wake_ms = 5000,
};

/* Returns true if the file has a number; *ret is at most max. */
static bool read_number(const char *path, uint64_t max, uint64_t *ret)
{
	char text[32], *end;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	uint64_t v;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || text[0] == '-')
		return false;
	*ret = v > max ? max : v;
	return true;
}

static uint64_t setting(const char *dir, const char *name, uint64_t fallback, uint64_t max)
{
	char path[4096];
	uint64_t v;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return fallback;
	return read_number(path, max, &v) ? v : fallback;
}

uint32_t rs_limit_buf(uint32_t bytes)
{
	if (bytes < 2 * RS_SEND_LOW)
		bytes = 2 * RS_SEND_LOW;
	if (bytes > RS_BUF_MAX)
		bytes = RS_BUF_MAX;
	return (bytes + 15) & ~15u;
}

static void load(void)
{
	const char *dir = ut_env("DAPPLE_RSOCKET_CONF");
	struct rs_opts *o = &conf.o;
	uint64_t v;

	if (!dir || !*dir)
		dir = CONF_DIR;
	conf.polling_us = (uint32_t)setting(dir, "polling_time", POLLING_UNSET, POLLING_MOST_US);
	conf.polling_is_set = conf.polling_us != POLLING_UNSET;
	if (!conf.polling_is_set)
		conf.polling_us = POLLING_US;
	conf.wake_ms = (uint32_t)setting(dir, "wake_up_interval", conf.wake_ms, 1 << 30);
	o->inl = (uint32_t)setting(dir, "inline_default", o->inl, UINT16_MAX);
	o->sq_size = (uint32_t)setting(dir, "sqsize_default", o->sq_size, UINT16_MAX);
	o->rq_size = (uint32_t)setting(dir, "rqsize_default", o->rq_size, UINT16_MAX);
	o->rbuf_size = rs_limit_buf((uint32_t)setting(dir, "mem_default", o->rbuf_size, RS_BUF_MAX));
	o->sbuf_size = rs_limit_buf((uint32_t)setting(dir, "wmem_default", o->sbuf_size, RS_BUF_MAX));
	o->iomap_size = rs_unscale(rs_scale((uint16_t)setting(dir, "iomap_size", 0, UINT16_MAX)));
	if (read_number("/proc/sys/net/ipv4/tcp_keepalive_time", INT32_MAX, &v) && v)
		o->keep_idle = (unsigned)v;
}

const struct rs_conf *rs_conf(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return &conf;
}

uint64_t rs_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
