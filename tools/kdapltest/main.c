/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kdapltest: the command line of dapltest for the module kdapltest.ko, which runs it over kDAPL. The module resolves no
 * names, so -s HOST becomes an address here. An interrupt ends the program, and the close of the device ends the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kdapltest/device.h"

#define WORDS_BYTES 16384

struct words {
	char text[WORDS_BYTES];
	size_t used;
};

static bool add(struct words *w, const char *word)
{
	size_t n = strlen(word) + 1;

	if (sizeof(w->text) - w->used < n) {
		fprintf(stderr, "kdapltest: the command line is longer than %d bytes: no test runs; give fewer operations\n",
			WORDS_BYTES);
		return false;
	}
	memcpy(w->text + w->used, word, n);
	w->used += n;
	return true;
}

static bool add_host(struct words *w, const char *host)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	char text[128];
	int r = getaddrinfo(host, NULL, &hints, &list);

	if (!r) {
		r = getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(list);
	}
	if (!r)
		return add(w, text);
	fprintf(stderr, "kdapltest: host %s: no address (%s): no test runs; give an address, or correct the name\n", host,
		gai_strerror(r));
	return false;
}

static bool collect(struct words *w, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		bool host = i && !strcmp(argv[i - 1], "-s");

		if (!(host ? add_host(w, argv[i]) : add(w, argv[i])))
			return false;
	}
	return true;
}

static int fail(const char *what)
{
	fprintf(stderr, "kdapltest: cannot %s /dev/kdapltest (%s): no test runs; load the module kdapltest, as root\n", what,
		strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	static struct words w;
	char text[4096];
	ssize_t n;
	int fd;

	if (!collect(&w, argc, argv))
		return 1;
	fd = open(KDT_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail("open");
	if (write(fd, w.text, w.used) != (ssize_t)w.used)
		return fail("write to");
	while ((n = read(fd, text, sizeof(text))) > 0) {
		fwrite(text, 1, (size_t)n, stdout);
		fflush(stdout);
	}
	if (n < 0)
		return fail("read from");
	return ioctl(fd, KDT_STATUS) ? 1 : 0;
}
