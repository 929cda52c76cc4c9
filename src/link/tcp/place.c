/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/tcp/local.h"

#include "link/sys.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <sys/epoll.h>

static int place_fd(struct link_streams *l)
{
	return tcp_of(l)->epfd;
}

static const struct link_streams_ops ops = {
	.bind = tcp_bind,
	.listen = tcp_listen,
	.unbind = tcp_unbind,
	.connect = tcp_connect,
	.adopt = tcp_adopt,
	.send = tcp_send,
	.room = tcp_room,
	.local = tcp_local,
	.hurry = tcp_hurry,
	.reserve = tcp_reserve,
	.commit = tcp_commit,
	.mss = tcp_mss,
	.drained = tcp_drained,
	.take = tcp_take,
	.pause = tcp_pause,
	.shutdown = tcp_shutdown,
	.close = tcp_close,
	.poll = tcp_poll,
	.peek_shm = tcp_peek_shm,
	.sleep = tcp_sleep,
	.deadline = tcp_deadline,
	.fd = place_fd,
	.fini = tcp_fini,
};

static void init_lists(struct tcp_link *p)
{
	struct ut_list *all[] = { &p->streams, &p->drains,  &p->dead, &p->listeners,
				  &p->dead_listeners, &p->polled, &p->todo, &p->unclaimed,
				  &p->over, &p->rdv_listeners, &p->dead_rdv_listeners, &p->offers, &p->local_polled,
				  &p->young_rendezvous, &p->late_rendezvous, &p->dead_rendezvous };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ut_list_init(all[i]);
}

int tcp_open(uint32_t ifindex, struct link_streams **ret)
{
	struct tcp_link *p = ut_zalloc(sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->base.ops = &ops;
	p->base.rx_stage = &p->stage;
	p->ifindex = ifindex;
	init_lists(p);
	p->wake.kind = TCP_K_WAKE;
	p->wake.fd = -1;
	atomic_init(&p->sleeping, true);
	p->epfd = ut_fault() ? -ENFILE : (int)LINK_SYS(SYS_epoll_create1, EPOLL_CLOEXEC);
	r = p->epfd < 0 ? p->epfd : ut_stage_init(&p->stage, TCP_STAGE_BYTES);
	if (r < 0) {
		link_sys_close(&p->epfd);
		free(p);
		return r;
	}
	*ret = &p->base;
	return 0;
}
