/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The end that asks for memory it may not touch hears BROKEN, and not DISCONNECTED, whatever else is
 * under way: its queue pair's error, the peer's Terminate and the end of the connection come by different
 * ways. Two processes. endpoint_refused [RUNS]
 */
#include "mem_pair.h"

#include <netinet/in.h>
#include <sys/wait.h>
#include <unistd.h>

static struct mp p;
static int runs = 60;

struct there {
	DAT_CONN_QUAL qual;
	DAT_RMR_TRIPLET memory;
};

static DAT_EVENT_NUMBER next(DAT_EVD_HANDLE evd)
{
	return mp_next(evd).event_number;
}

static void established(DAT_EVD_HANDLE evd, int i)
{
	DAT_EVENT_NUMBER how = next(evd);

	CHECK_MSG(how == DAT_CONNECTION_EVENT_ESTABLISHED, "run %d: event %x", i, how);
}

static void new_ep(struct mp_end *e)
{
	DAT_EVENT ev;

	OK(dat_ep_free(e->ep));
	while (dat_evd_dequeue(e->recv, &ev) == DAT_SUCCESS)
		;
	while (dat_evd_dequeue(e->req, &ev) == DAT_SUCCESS)
		;
	OK(dat_ep_create(e->ia, e->pz, e->recv, e->req, e->conn, &p.ep, &e->ep));
}

/* Serves one connection after the other until each has ended. */
static void responder(int to)
{
	struct mp_end *e = &p.b;

	mp_open_end(&p, e);
	for (int i = 0; i < runs; i++) {
		struct there t = { .memory = mp_rmt(e, 0, 64) };
		DAT_PSP_HANDLE psp;
		DAT_EVENT ev;

		OK(dat_psp_create_any(e->ia, &t.qual, e->cr, DAT_PSP_CONSUMER_FLAG, &psp));
		CHECK(write(to, &t, sizeof(t)) == sizeof(t));
		ev = mp_next(e->cr);
		for (uint64_t k = 0; k < 4; k++)
			OK(mp_recv(e, 0, 64, k));
		OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, e->ep, 0, NULL));
		established(e->conn, i);
		/* messages that are under way meanwhile; the connection may have ended */
		for (uint64_t k = 0; i % 3 == 2 && k < 4; k++)
			mp_send(e, 0, 64, k, DAT_COMPLETION_DEFAULT_FLAG);
		next(e->conn);
		OK(dat_psp_free(psp));
		new_ep(e);
	}
	_exit(0);
}

static void request(struct mp_end *e, const struct there *t, int i)
{
	DAT_LMR_TRIPLET l = mp_at(e, 0, 64);
	DAT_RMR_TRIPLET r = t->memory;

	r.rmr_context ^= 0x5a5a00;
	if (i % 2)
		OK(dat_ep_post_rdma_read(e->ep, 1, &l, mp_cookie(1), &r, DAT_COMPLETION_DEFAULT_FLAG));
	else
		OK(dat_ep_post_rdma_write(e->ep, 1, &l, mp_cookie(1), &r, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t k = 0; i % 5 == 4 && k < 3; k++)
		mp_send(e, 0, 64, k, DAT_COMPLETION_DEFAULT_FLAG);
}

int main(int argc, char **argv)
{
	struct mp_end *e = &p.a;
	int pipes[2], status;
	struct there t;
	pid_t pid;

	runs = argc > 1 ? atoi(argv[1]) : runs;
	p.ep.max_rdma_read_in = p.ep.max_rdma_read_out = 4;
	CHECK(pipe(pipes) == 0);
	pid = fork();
	if (pid == 0)
		responder(pipes[1]);
	close(pipes[1]);
	mp_open_end(&p, e);
	for (int i = 0; i < runs; i++) {
		DAT_EVENT_NUMBER how;

		if (read(pipes[0], &t, sizeof(t)) != sizeof(t))
			break;
		for (uint64_t k = 0; k < 4; k++)
			OK(mp_recv(e, 0, 64, k));
		OK(dat_ep_connect(e->ep, e->attr.ia_address_ptr, t.qual, MP_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG));
		established(e->conn, i);
		request(e, &t, i);
		how = next(e->conn);
		CHECK_MSG(how == DAT_CONNECTION_EVENT_BROKEN, "run %d: event %x", i, how);
		new_ep(e);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}
