/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

/*
 * One end of a TCP pair, for dapple pair: tool_end PORT SERVERSTATUS
 * CLIENTSTATUS [PEER].  They exchange one byte, print an unfinished line, and
 * leave with their status; status "stay" waits for a signal.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int leave(const char *status)
{
	if (strcmp(status, "stay") == 0) {
		printf("staying\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	return atoi(status);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), c;
	char byte = 'x';

	if (argc < 4 || fd < 0)
		return 99;
	a.sin_port = htons((uint16_t)atoi(argv[1]));
	if (argc == 4) {
		if (bind(fd, (void *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)
			return 98;
		c = accept(fd, NULL, NULL);
		if (c < 0 || read(c, &byte, 1) != 1 || write(c, &byte, 1) != 1)
			return 97;
		fprintf(stderr, "served %c\nlast words", byte);
		return leave(argv[2]);
	}
	inet_pton(AF_INET, argv[4], &a.sin_addr);
	if (connect(fd, (void *)&a, sizeof(a)) < 0 || write(fd, &byte, 1) != 1 ||
	    read(fd, &byte, 1) != 1)
		return 96;
	printf("asked %s\nno newline", argv[4]);
	fflush(stdout);
	return leave(argv[3]);
}
