/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that write their first lines at the same moment, when none has read the environment yet: every line is in the file
 * that DAPPLE_LOG names. ThreadSanitizer sees what orders them. */
#include "util/log.h"

#include "support/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, LINES = 50 };

static pthread_barrier_t begin;

static void *writer(void *arg)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < LINES; i++)
		ut_debug("line %d of thread %d", i, *(int *)arg);
	return NULL;
}

static int lines_of(const char *path)
{
	char line[256];
	FILE *f = fopen(path, "re");
	int n = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, " of thread ") != NULL;
	fclose(f);
	return n;
}

int main(void)
{
	char path[] = "/tmp/log-threads-XXXXXX", setting[64];
	int fd = mkstemp(path), number[THREADS];
	pthread_t t[THREADS];

	CHECK(fd >= 0);
	snprintf(setting, sizeof(setting), "debug:%s", path);
	CHECK(!setenv("DAPPLE_LOG", setting, 1));
	CHECK(!pthread_barrier_init(&begin, NULL, THREADS));
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		CHECK(!pthread_create(&t[i], NULL, writer, &number[i]));
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(lines_of(path) == THREADS * LINES);
	close(fd);
	unlink(path);
	return 0;
}
