/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/control.h"

#include "device/faults.h"
#include "device/observe.h"
#include "device/show.h"
#include "device/sys.h"
#include "observe/place.h"
#include "util/filesize.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define EVENTS 16
#define REQUEST 4096
#define CONNECTIONS 16

enum what { LISTENER, CONNECTION, SESSION };

/* Written by the thread that opens or closes it, while no other one uses it. */
static struct {
	int ep, listener;
	pid_t pid;
	char path[OBS_PATH + 32];
	int connections;
} control = { .ep = -1, .listener = -1 };

static int add(int fd, enum what what, uint64_t value)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP, .data.u64 = (uint64_t)what << 56 | value };

	return ut_epoll_add(control.ep, fd, &e) < 0 ? -errno : 0;
}

static int open_socket(void)
{
	char dir[OBS_PATH];
	int r = obs_place(dir, sizeof(dir));

	if (r < 0)
		return r;
	control.pid = getpid();
	snprintf(control.path, sizeof(control.path), "%s/pid-%d", dir, (int)control.pid);
	control.listener = obs_place_listen(control.path);
	if (control.listener < 0)
		return control.listener;
	return add(control.listener, LISTENER, 0);
}

int dev_control_open(void)
{
	int r;

	if (!obs_place_permitted())
		return -1;
	control.ep = ut_epoll();
	if (control.ep < 0)
		return -1;
	r = open_socket();
	if (r == 0)
		return control.ep;
	ut_info("no control socket in the runtime directory: %s", strerror(-r));
	dev_control_close();
	return -1;
}

void dev_control_close(void)
{
	if (control.listener >= 0 && control.pid == getpid())
		unlink(control.path);
	ut_close_fd(&control.listener);
	ut_close_fd(&control.ep);
	control.connections = 0;
}

int dev_control_watch(int session, uint64_t serial)
{
	return control.ep < 0 ? -ENOENT : add(session, SESSION, serial);
}

/* --- requests --- */

static void answer(const char *request, FILE *out)
{
	if (strncmp(request, "capture ", 8) == 0)
		dev_observe_start(request + 8, true, out);
	else if (strncmp(request, "sample ", 7) == 0)
		dev_observe_start(request + 7, false, out);
	else if (strcmp(request, "fault") == 0 || strncmp(request, "fault ", 6) == 0)
		dev_faults_set(request + strlen("fault"), out);
	else if (strcmp(request, "fault-show") == 0)
		dev_faults_show(out);
	else if (strncmp(request, "show ", 5) == 0)
		dev_show(request + 5, out);
	else
		fprintf(out, "error: the request is unknown to this version\n");
}

static int pass(int connection, int fd)
{
	return obs_session_pass(connection, fd);
}

static void reply(int connection, const char *request)
{
	int fd = ut_memfd("dapple-reply", 0);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		ut_close(fd);
		return;
	}
	answer(request, out);
	if (fflush(out) == 0)
		pass(connection, fd);
	fclose(out);
}

static void take_request(int connection)
{
	char request[REQUEST];
	long n = DEV_SYS(SYS_recvfrom, connection, request, sizeof(request) - 1, MSG_DONTWAIT, NULL, NULL);

	if (n == -EAGAIN)
		return;
	if (n > 0) {
		request[n] = 0;
		reply(connection, request);
	}
	ut_close(connection);
	control.connections--;
}

static void accept_one(void)
{
	int fd = (int)DEV_SYS(SYS_accept4, control.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (control.connections < CONNECTIONS && obs_place_is_ours(fd) && add(fd, CONNECTION, (uint64_t)fd) == 0)
		control.connections++;
	else
		ut_close(fd);
}

void dev_control_serve(void)
{
	struct epoll_event ev[EVENTS];
	int n = control.ep < 0 ? 0 : epoll_wait(control.ep, ev, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		uint64_t value = ev[i].data.u64 & (UINT64_MAX >> 8);

		switch ((enum what)(ev[i].data.u64 >> 56)) {
		case LISTENER:
			accept_one();
			break;
		case CONNECTION:
			take_request((int)value);
			break;
		case SESSION:
			dev_observe_left(value);
			break;
		}
	}
}
