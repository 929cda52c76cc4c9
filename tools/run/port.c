/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run.h"

/* A port for the server of a pair. */

static bool port_free(int port, int type)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
	bool ok;

	if (fd >= 0) {	/* takes the IPv4 half too */
		ok = bind(fd, (void *)&a, sizeof(a)) == 0;
	} else {
		fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
		ok = fd >= 0 && bind(fd, (void *)&a4, sizeof(a4)) == 0;
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Below the ephemeral range, so that the kernel assigns the port to no other
 * socket before the server binds it; random, against other dapple commands. */
int pair_free_port(void)
{
	int i;

	for (i = 0; i < 200; i++) {
		uint16_t r;
		int port;

		if (getrandom(&r, sizeof(r), 0) != sizeof(r))
			break;
		port = 20000 + r % 12000;
		if (port_free(port, SOCK_STREAM) && port_free(port, SOCK_DGRAM))
			return port;
	}
	run_say("ports 20000 to 31999: 200 tries found no free one: the server is not started; write a port "
		"in place of {port}");
	return 0;
}
