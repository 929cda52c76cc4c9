/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ask.h"

#include "observe/place.h"
#include "observe/session.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 5000
#define REPLY_MAX (64u << 20)

static char *read_all(int fd)
{
	struct stat st;
	char *text;
	ssize_t n;

	if (fstat(fd, &st) < 0 || st.st_size < 0 || st.st_size > REPLY_MAX)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		abort();
	n = pread(fd, text, (size_t)st.st_size, 0);
	text[n < 0 ? 0 : n] = 0;
	return text;
}

/* Returns the reply as it came. */
static char *exchange(int fd, const char *request)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char *text = NULL;
	int reply;

	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0 || poll(&p, 1, WAIT_MS) <= 0)
		return NULL;
	reply = obs_session_take(fd);
	if (reply < 0) {
		errno = -reply;
		return NULL;
	}
	text = read_all(reply);
	close(reply);
	return text;
}

char *ask_path(const char *path, const char *request, char *why, size_t size)
{
	int fd = obs_place_connect(path);
	char *text;

	errno = fd < 0 ? -fd : 0;
	text = fd < 0 ? NULL : exchange(fd, request);
	if (!text)
		snprintf(why, size, "%s", errno ? strerror(errno) : "no reply");
	if (fd >= 0)
		close(fd);
	if (text && strncmp(text, "ok\n", 3) == 0) {
		memmove(text, text + 3, strlen(text + 3) + 1);
		return text;
	}
	if (text)
		snprintf(why, size, "%.*s", (int)strcspn(text, "\n"), strncmp(text, "error: ", 7) ? text : text + 7);
	free(text);
	return NULL;
}

char *ask_pid(long pid, const char *request, char *why, size_t size)
{
	char dir[OBS_PATH], path[OBS_PATH + 32];
	int r = obs_place(dir, sizeof(dir));

	if (r < 0) {
		snprintf(why, size, "%s", strerror(-r));
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/pid-%ld", dir, pid);
	return ask_path(path, request, why, size);
}

static void ask_one(const char *path, void *arg)
{
	char why[200];

	free(ask_path(path, arg, why, sizeof(why)));
}

void ask_all(const char *request)
{
	obs_place_each("pid-", ask_one, (void *)(uintptr_t)request);
}
