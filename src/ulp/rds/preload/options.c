/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/options.h"

#include "ulp/rds/preload/ask.h"
#include "ulp/rds/preload/control.h"
#include "ulp/rds/preload/sockets.h"

#include <errno.h>
#include <linux/rds.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ask_option(struct rds_request *q, enum rds_op op, int opt, int64_t value, struct rds_answer *a)
{
	q->op = op;
	q->option = (uint32_t)opt;
	q->value = value;
	return rds_ask(q, -1, a, NULL);
}

/* --- reading --- */

static int give_int(int v, void *val, socklen_t *len)
{
	if (*len < sizeof(v))
		return -EINVAL;
	memcpy(val, &v, sizeof(v));
	*len = sizeof(v);
	return 0;
}

/* All elements, or -ENOSPC and the octets that they need, as Linux has it. */
static int give_info(struct rds_request *q, int opt, void *val, socklen_t *len)
{
	struct rds_answer a;
	socklen_t room = *len;
	ssize_t n;
	int fd = -1, r;

	q->op = RDS_OP_INFO;
	q->option = (uint32_t)opt;
	r = rds_ask(q, -1, &a, &fd);
	if (!r) {
		*len = (socklen_t)a.len;
		n = a.len > room ? -ENOSPC : pread(fd, val, a.len, 0) < 0 ? -errno : 0;
		r = n < 0 ? (int)n : (int)a.each;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static int get_rds(struct rds_request *q, int opt, void *val, socklen_t *len)
{
	struct rds_answer a;
	int r;

	if (opt >= RDS_INFO_FIRST && opt <= RDS_INFO_LAST)
		return give_info(q, opt, val, len);
	r = ask_option(q, RDS_OP_GET, opt, 0, &a);
	return r ? r : give_int((int)a.value, val, len);
}

int rds_option_get(int fd, struct rds_request *q, int level, int opt, void *val, socklen_t *len)
{
	if (level == SOL_RDS)
		return get_rds(q, opt, val, len);
	if (level != SOL_SOCKET)
		return -ENOPROTOOPT;
	if (opt == SO_DOMAIN)
		return give_int(AF_RDS_FAMILY, val, len);
	return syscall(SYS_getsockopt, fd, level, opt, val, len) ? -errno : 0;
}

/* --- setting --- */

static int cancel(int fd, struct rds_request *q, const void *val, socklen_t len)
{
	struct rsp_addr local;
	struct sockaddr_storage ss = { 0 };
	struct rds_answer a;

	if (!rds_bound(fd, &local))
		return -ENOTCONN;
	if (len < sizeof(struct sockaddr_in))
		return -EINVAL;
	memcpy(&ss, val, len < sizeof(ss) ? len : sizeof(ss));
	if (len < sizeof(struct sockaddr_in6))
		ss.ss_family = AF_INET;
	rsp_addr_from(&q->addr, (struct sockaddr *)&ss);
	rsp_addr_unmap(&q->addr);
	q->op = RDS_OP_CANCEL;
	return q->addr.family ? rds_ask(q, -1, &a, NULL) : -EINVAL;
}

static int set_rds(int fd, struct rds_request *q, int opt, const void *val, socklen_t len)
{
	struct rds_answer a;
	int v;

	switch (opt) {
	case RDS_CANCEL_SENT_TO:
		return cancel(fd, q, val, len);
	case RDS_GET_MR:
	case RDS_GET_MR_FOR_DEST:
		return rds_region_get(fd, opt, val, len);
	case RDS_FREE_MR:
		return rds_region_end(fd, val, len);
	default:
		if (len < sizeof(v))
			return -EINVAL;
		memcpy(&v, val, sizeof(v));
		return ask_option(q, RDS_OP_SET, opt, v, &a);
	}
}

/* The kernel keeps the sizes of the buffers; half of each is payload, as in Linux. */
static int set_buffer(int fd, struct rds_request *q, int opt)
{
	struct rds_answer a;

	return ask_option(q, RDS_OP_SET, opt == SO_SNDBUF || opt == SO_SNDBUFFORCE ? RDS_OPTION_SNDBUF : RDS_OPTION_RCVBUF,
			  rds_socket_option(fd, opt == SO_SNDBUF || opt == SO_SNDBUFFORCE ? SO_SNDBUF : SO_RCVBUF) / 2, &a);
}

int rds_option_set(int fd, struct rds_request *q, int level, int opt, const void *val, socklen_t len)
{
	if (level == SOL_RDS)
		return set_rds(fd, q, opt, val, len);
	if (level != SOL_SOCKET)
		return -ENOPROTOOPT;
	if (syscall(SYS_setsockopt, fd, level, opt, val, len))
		return -errno;
	if (opt == SO_SNDBUF || opt == SO_SNDBUFFORCE || opt == SO_RCVBUF || opt == SO_RCVBUFFORCE)
		return set_buffer(fd, q, opt);
	return 0;
}
