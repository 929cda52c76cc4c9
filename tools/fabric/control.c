/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "place.h"
#include "run.h"
#include "util/filesize.h"
#include "util/sys.h"

struct control_reply {
	int32_t code;
};

/* --- one message with at most one descriptor --- */

static int send_message(int fd, const void *data, size_t len, int passed)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	struct iovec iov = { (void *)data, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (passed >= 0) {
		m.msg_control = u.space;
		m.msg_controllen = sizeof(u.space);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &passed, sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -errno;
}

static ssize_t receive_message(int fd, void *data, size_t size, int *ret_passed)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	struct iovec iov = { data, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.space,
			    .msg_controllen = sizeof(u.space) };
	struct cmsghdr *c;
	ssize_t n;

	*ret_passed = -1;
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_passed, CMSG_DATA(c), sizeof(int));
	return m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EMSGSIZE : n;
}

static int address(const char *dir, struct sockaddr_un *a)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return snprintf(a->sun_path, sizeof(a->sun_path), "%s/" CONTROL_SOCKET, dir) < (int)sizeof(a->sun_path)
		? 0 : -ENAMETOOLONG;
}

/* --- the fabric process --- */

struct control {
	struct loop *loop;
	control_fn *fn;
	void *arg;
	int listener;
};

/* A connection is one request; it is open until the request has come. */
struct call {
	struct control *control;
	int fd;
};

static int split(char *request, size_t len, char **words)
{
	size_t at = 0;
	int n = 0;

	if (!len || request[len - 1] != '\0')
		return -EINVAL;
	while (at < len) {
		if (n >= CONTROL_WORDS_MAX)
			return -E2BIG;
		words[n++] = request + at;
		at += strlen(request + at) + 1;
	}
	words[n] = NULL;
	return n;
}

/* A copy of the file, read once: its owner may change it meanwhile. */
static char *read_input(int fd, size_t *ret_len)
{
	struct stat st;
	char *text;
	ssize_t n;
	size_t have = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > CONTROL_INPUT_MAX)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	while (text && have < (size_t)st.st_size) {
		n = pread(fd, text + have, (size_t)st.st_size - have, (off_t)have);
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	*ret_len = have;
	return text;
}

static int text_file(const char *text, size_t len)
{
	int fd = ut_memfd("dapple-fabric", len);
	size_t done = 0;
	ssize_t n;

	while (fd >= 0 && done < len) {
		n = pwrite(fd, text + done, len - done, (off_t)done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return fd;
}

static void answer(struct call *c, char **words, int n, int passed)
{
	struct control_reply reply = { .code = 1 };
	char *text = NULL, *input;
	size_t len = 0, input_len = 0;
	FILE *out = open_memstream(&text, &len);
	int fd;

	if (!out)
		return;
	input = read_input(passed, &input_len);
	reply.code = c->control->fn(c->control->arg, n, words, input, input_len, out);
	free(input);
	fclose(out);
	fd = text_file(text, len);
	send_message(c->fd, &reply, sizeof(reply), fd);
	ut_close(fd);
	free(text);
}

static void on_request(void *arg, uint32_t events)
{
	struct call *c = arg;
	char request[CONTROL_REQUEST_MAX], *words[CONTROL_WORDS_MAX + 1];
	int passed, count;
	ssize_t n = receive_message(c->fd, request, sizeof(request), &passed);

	count = n > 0 ? split(request, (size_t)n, words) : -1;
	if (count > 0)
		answer(c, words, count, passed);
	ut_close(passed);
	loop_del(c->control->loop, c->fd);
	ut_close(c->fd);
	free(c);
}

static bool is_own(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.uid == geteuid();
}

static void on_connect(void *arg, uint32_t events)
{
	struct control *c = arg;
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct call *call;

	if (fd < 0)
		return;
	call = is_own(fd) ? calloc(1, sizeof(*call)) : NULL;
	if (call) {
		*call = (struct call){ .control = c, .fd = fd };
		if (loop_add(c->loop, fd, EPOLLIN, on_request, call) == 0)
			return;
	}
	free(call);
	ut_close(fd);
}

struct control *control_open(const char *dir, struct loop *loop, control_fn *fn, void *arg)
{
	struct control *c = calloc(1, sizeof(*c));
	struct sockaddr_un a;
	int r = address(dir, &a);

	if (!c || r < 0) {
		free(c);
		errno = r < 0 ? -r : ENOMEM;
		return NULL;
	}
	*c = (struct control){ .loop = loop, .fn = fn, .arg = arg };
	c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listener >= 0 && bind(c->listener, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    listen(c->listener, 64) == 0 && loop_add(loop, c->listener, EPOLLIN, on_connect, c) == 0)
		return c;
	ut_close(c->listener);
	free(c);
	return NULL;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	loop_del(c->loop, c->listener);
	ut_close(c->listener);
	free(c);
}

/* --- the client --- */

static int connect_to(const char *fabric)
{
	char dir[PLACE_MAX];
	struct sockaddr_un a;
	int fd, r;

	if (place_dir(fabric, dir))
		return -ENOENT;
	r = address(dir, &a);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	r = -errno;
	ut_close(fd);
	return r;
}

static int send_request(int fd, int n, char *const *words, int input)
{
	char request[CONTROL_REQUEST_MAX];
	size_t at = 0, len;
	int i;

	for (i = 0; i < n; i++) {
		len = strlen(words[i]) + 1;
		if (len > sizeof(request) - at)
			return -E2BIG;
		memcpy(request + at, words[i], len);
		at += len;
	}
	return send_message(fd, request, at, input);
}

static char *read_text(int fd)
{
	size_t len = 0;
	char *text = read_input(fd, &len);

	if (text)
		text[len] = '\0';
	return text ? text : strdup("");
}

int control_ask(const char *fabric, int n, char *const *words, int input, char **ret_text)
{
	struct control_reply reply;
	int fd = connect_to(fabric), passed = -1, r;
	ssize_t got;

	if (fd < 0)
		return fd;
	r = send_request(fd, n, words, input);
	got = r < 0 ? r : receive_message(fd, &reply, sizeof(reply), &passed);
	ut_close(fd);
	if (got != (ssize_t)sizeof(reply)) {
		ut_close(passed);
		return got < 0 ? (int)got : -ECONNRESET;
	}
	*ret_text = read_text(passed);
	ut_close(passed);
	return reply.code < 0 || reply.code > 255 ? 1 : reply.code;
}

int control_call(const char *fabric, int n, char *const *words, int input)
{
	char *text = NULL;
	int r = control_ask(fabric, n, words, input, &text);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		run_say("the fabric \"%s\" does not run: the command has no effect; start it by dapple fabric up %s",
			fabric, fabric);
		return 1;
	}
	if (r < 0) {
		run_say("the process of the fabric \"%s\" does not answer (%s): the command may have had no effect; "
			"look at dapple fabric list", fabric, strerror(-r));
		return 1;
	}
	fputs(text ? text : "", r ? stderr : stdout);
	free(text);
	return r;
}
