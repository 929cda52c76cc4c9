/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of adapters whose connections are TCP streams: an idle socket is
 * handed over (dapple/stream.h). The call is looked up when it is needed, so that
 * the programs stay linked with the distribution's libibverbs only.
 *
 *   DAPPLE_MPA=...             crc, nocrc, markers: also asked for here
 *   CONFORM_STREAM=negotiated  both ends say that Request and Reply were exchanged
 */
#include "conf.h"

#include "dapple/stream.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
	int (*stream)(struct ibv_qp *, int, const struct dpl_stream_attr *, size_t);
	int (*wait)(struct ibv_qp *, int, struct dpl_stream_result *, size_t);
} dpl;

static void look_up(void)
{
	void *lib = dlopen("libdapple.so.0", RTLD_NOW);

	if (!lib)
		CF_DIE("%s", dlerror());
	*(void **)&dpl.stream = dlsym(lib, "dpl_qp_stream");
	*(void **)&dpl.wait = dlsym(lib, "dpl_qp_stream_wait");
	if (!dpl.stream || !dpl.wait)
		CF_DIE("the library cannot take streams: %s", dlerror());
}

static struct sockaddr_in here(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int tcp(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		CF_DIE("socket: %s", strerror(errno));
	return fd;
}

int cf_tcp_listen(uint16_t *ret_port)
{
	struct sockaddr_in a = here(0);
	socklen_t n = sizeof(a);
	int fd = tcp();

	if (bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, 4) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		CF_DIE("cannot listen: %s", strerror(errno));
	*ret_port = ntohs(a.sin_port);
	return fd;
}

int cf_tcp_accept(int listener)
{
	int fd = -1;

	if (cf_readable(listener, CF_WAIT_MS))
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		CF_DIE("no client connects");
	close(listener);
	return fd;
}

int cf_tcp_connect(uint16_t port)
{
	struct sockaddr_in a = here(port);
	int fd = tcp();

	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		CF_DIE("cannot connect: %s", strerror(errno));
	return fd;
}

void cf_tcp_pair(int fd[2])
{
	uint16_t port;
	int l = cf_tcp_listen(&port);

	fd[0] = cf_tcp_connect(port);
	fd[1] = cf_tcp_accept(l);
}

static bool asked(const char *env, const char *word)
{
	const char *v = getenv(env);
	size_t n = strlen(word);

	while (v && *v) {
		size_t k = strcspn(v, ",");

		if (k == n && !memcmp(v, word, n))
			return true;
		v += k + (v[k] == ',');
	}
	return false;
}

static struct dpl_stream_attr attr_of(const struct cf_side *s, bool initiator)
{
	struct dpl_stream_attr a = {
		.role = initiator ? DPL_STREAM_INITIATOR : DPL_STREAM_RESPONDER,
		.ird = s->o.rd, .ord = s->o.rd,
	};

	if (!asked("DAPPLE_MPA", "nocrc"))
		a.flags |= DPL_STREAM_CRC;
	if (asked("DAPPLE_MPA", "markers"))
		a.flags |= DPL_STREAM_MARKERS_IN;
	if (!asked("CONFORM_STREAM", "negotiated"))
		return a;
	a.role = DPL_STREAM_NEGOTIATED;
	a.rtr = DPL_RTR_WRITE;
	a.flags |= initiator ? DPL_STREAM_REQUESTED : 0;
	a.flags |= a.flags & DPL_STREAM_MARKERS_IN ? DPL_STREAM_MARKERS_OUT : 0;
	return a;
}

static void hand_over(struct cf_side *s, int fd, const struct dpl_stream_attr *a)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	CF_OK(pthread_once(&once, look_up)); /* two roles may be threads */
	CF_OK(dpl.stream(s->qp, fd, a, sizeof(*a)));
}

void cf_stream_begin(struct cf_side *s, int fd, bool initiator)
{
	struct dpl_stream_attr a = attr_of(s, initiator);

	hand_over(s, fd, &a);
}

void cf_stream_wait(struct cf_side *s)
{
	struct dpl_stream_result r;

	CF_OK(dpl.wait(s->qp, CF_WAIT_MS, &r, sizeof(r)));
	CF_EQ(r.error, 0);
	CF_EQ(cf_state(s->qp), IBV_QPS_RTS);
}

static int close_fd(void *p)
{
	return close((int)(intptr_t)p);
}

int cf_stream_bare(struct cf_side *s)
{
	struct dpl_stream_attr a = {
		.role = DPL_STREAM_NEGOTIATED, .flags = DPL_STREAM_CRC | DPL_STREAM_REQUESTED,
		.ird = s->o.rd, .ord = s->o.rd,
	};
	int fd[2];

	cf_up(s, IBV_QPS_INIT, NULL);
	cf_tcp_pair(fd);
	cf_keep(close_fd, (void *)(intptr_t)fd[1], "close");
	hand_over(s, fd[0], &a);
	cf_stream_wait(s);
	return fd[1];
}
