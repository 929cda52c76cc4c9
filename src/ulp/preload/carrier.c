/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapple-rsockets, the carrier: the process that holds the rsockets of programs under
 * `dapple run --rsockets`. libdapple-rsockets.so starts it with the listener for its requests as
 * descriptor 3. It detaches itself, takes requests of its own user alone, and exits when it has carried
 * nothing for a while.
 */
#include "ulp/preload/detach.h"
#include "ulp/preload/relay.h"
#include "ulp/preload/request.h"
#include "ulp/preload/serve.h"

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#define IDLE_MS 2000

static atomic_uint busy;

static bool of_our_user(int sock)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	return !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c, &len) && c.uid == geteuid();
}

static void *serve(void *arg)
{
	int sock = (int)(intptr_t)arg, fds[2];
	struct rsp_request q;

	if (of_our_user(sock) && !rsp_request_recv(sock, &q, fds))
		rsp_serve(sock, &q, fds);
	else
		close(sock);
	atomic_fetch_sub(&busy, 1);
	return NULL;
}

static void take(int listener)
{
	int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (sock < 0)
		return;
	atomic_fetch_add(&busy, 1);
	if (!rsp_thread(serve, (void *)(intptr_t)sock))
		return;
	atomic_fetch_sub(&busy, 1);
	close(sock);
}

int main(void)
{
	struct pollfd p = { RSP_LISTEN_FD, POLLIN, 0 };

	if (rsp_detach(RSP_LISTEN_FD))
		_exit(1);
	for (;;) {
		if (poll(&p, 1, IDLE_MS) > 0)
			take(RSP_LISTEN_FD);
		else if (!atomic_load(&busy) && !rsp_serve_accepted())
			return 0;
	}
}
