/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One end is killed. On RoCE no packet says so, unless another process of the same user at the same
 * address disconnects on behalf of the dead peer: -k sibling makes one.
 */
#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Writes one after the other until one fails, or the connection manager is first. */
static void survive(struct peer *p)
{
	double until = peer_now() + PEER_WAIT_MS / 1000.0;
	struct pollfd fd = { .fd = p->ch->fd, .events = POLLIN };
	struct peer_op op = { .code = IBV_WR_RDMA_WRITE, .len = 4096, .remote = p->far.addr,
			      .rkey = p->far.rkey };
	struct ibv_wc wc;

	for (peer_post(p, &op); ; sched_yield()) {
		must(peer_now() < until, "the other end's death was not noticed");
		if (poll(&fd, 1, 0) == 1) {
			peer_left(p);
			peer_saw(p, "left");
			break;
		}
		if (ibv_poll_cq(p->scq, 1, &wc) != 1)
			continue;
		if (wc.status != IBV_WC_SUCCESS) {
			peer_saw_wc(p, "send", &wc);
			rdma_disconnect(p->id);
			break;
		}
		peer_post(p, &op);
	}
	peer_judge(p);
	peer_close(p);
}

/* Has a queue pair at the same address. Outlives the other one, as long as that may be of use. */
static void be_sibling(struct peer *p, int ready, int alive)
{
	struct peer_args a = *p->a;
	char c;

	a.passive = false; /* does not listen */
	peer_open(p, &a);
	if (strstr(a.kind, "passive")) {
		peer_bind(p);
		peer_qp(p);
	} else {
		peer_resolve(p, a.port);
	}
	must(write(ready, "", 1) == 1, "write: %s", strerror(errno));
	while (read(alive, &c, 1) < 0 && errno == EINTR)
		;
	sleep(PEER_WAIT_MS / 1000);
	_exit(0);
}

static void make_sibling(struct peer *p)
{
	int ready[2], alive[2];
	char c;

	must0(pipe(ready));
	must0(pipe(alive));
	if (fork() == 0) {
		close(ready[0]);
		close(alive[1]);
		be_sibling(p, ready[1], alive[0]);
	}
	close(ready[1]);
	close(alive[0]);
	must(read(ready[0], &c, 1) == 1, "the sibling is not ready");
	close(ready[0]);
}

static void die(struct peer *p)
{
	bool mine = strstr(p->a->kind, p->a->passive ? "passive" : "active");

	if (mine && strstr(p->a->kind, "sibling"))
		make_sibling(p);
	peer_open(p, p->a);
	if (p->a->passive) {
		peer_request(p);
		peer_expect_word(p);
	}
	peer_begin(p, peer_tell_end);
	if (p->a->passive)
		peer_hear(p);
	else if (mine)
		peer_tell(p, 1);
	else /* the receiver may be dead before that is acknowledged */
		peer_last_word(p, 1);
	if (mine)
		kill(getpid(), SIGKILL);
	survive(p);
}

const struct peer_scenario peer_killed[] = {
	{ "die", "one end is killed", die, die },
	{ 0 }
};
