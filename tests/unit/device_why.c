/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Kept sentences: order, number, one line each, bounded files, many writers. */
#include "device/why.h"
#include "support/check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behind each sentence that names no page of its own. */
#define PAGE "; dapple explain ENVIRONMENT says more"

static char dir[] = "/tmp/unit-why-XXXXXX";
static char lines[64][256];
static int n_lines;

static void collect(const char *line, void *arg)
{
	CHECK(n_lines < 64);
	snprintf(lines[n_lines++], sizeof(lines[0]), "%s", line);
}

static int read_back(int n)
{
	n_lines = 0;
	return dev_why_read(n, collect, NULL);
}

static void order_and_number(void)
{
	CHECK(read_back(5) == 0);
	dev_why_keep(UT_SAY_FAILURE, "first");
	dev_why_keep(UT_SAY_FAILURE, "second\nwith a \033[31mline break");
	dev_why_keep(UT_SAY_FAILURE, "third");
	CHECK(read_back(64) == 3 && n_lines == 3);
	CHECK(strstr(lines[0], "first") && strstr(lines[2], ": third"));
	CHECK(strstr(lines[1], "second with a  [31mline break"));
	CHECK(strstr(lines[0], "device_why"));
	CHECK(read_back(2) == 2);
	CHECK(strstr(lines[0], "second") && strstr(lines[1], "third"));
	CHECK(read_back(1) == 1 && strstr(lines[0], "third"));
	CHECK(read_back(0) == 0);
}

/* A process stops after its burst instead of filling the disk. */
static void flood(void)
{
	for (int i = 0; i < 5000; i++)
		dev_why_keep(UT_SAY_FAILURE, "flood");
	n_lines = 0;
}

static void many_processes(void)
{
	char path[64];
	struct stat st;
	int status;

	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			flood();
			_exit(0);
		}
	while (wait(&status) > 0)
		CHECK(status == 0);
	snprintf(path, sizeof(path), "%s/why", dir);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(st.st_size < 8 * 200 * 64);
	CHECK(read_back(60) == 60);
	for (int i = 0; i < 60; i++)
		CHECK(strstr(lines[i], ": flood" PAGE) && strstr(lines[i], PAGE)[strlen(PAGE)] == 0);
}

/* A full file turns into the old one, and both are read. */
static void turns(void)
{
	char path[64], old[64], filler[100];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/why", dir);
	snprintf(old, sizeof(old), "%s/why.old", dir);
	memset(filler, 'x', sizeof(filler));
	filler[99] = '\n';
	fd = open(path, O_WRONLY | O_APPEND);
	CHECK(fd >= 0);
	for (int i = 0; i < 2700; i++)
		CHECK(write(fd, filler, sizeof(filler)) == sizeof(filler));
	close(fd);
	/* The burst may be used up: a token comes every 100 ms. */
	while (stat(old, &st) < 0)
		dev_why_keep(UT_SAY_FAILURE, "last of the old");
	while (stat(path, &st) < 0)
		dev_why_keep(UT_SAY_FAILURE, "first of the new");
	CHECK(st.st_size < 4096);
	CHECK(read_back(2) == 2);
	CHECK(strstr(lines[0], "last of the old") && strstr(lines[1], "first of the new"));
}

/* A file that is no file, or a directory that cannot be used, is no error. */
static void unusable(void)
{
	char path[64], old[64];

	snprintf(path, sizeof(path), "%s/why", dir);
	snprintf(old, sizeof(old), "%s/why.old", dir);
	unlink(path);
	unlink(old);
	CHECK(mkfifo(path, 0600) == 0);
	dev_why_keep(UT_SAY_FAILURE, "nobody reads this");
	unlink(path);
	setenv("DAPPLE_RUNTIME_DIR", "/proc/self/nowhere", 1);
	dev_why_keep(UT_SAY_FAILURE, "nor this");
	rmdir(dir);
}

int main(void)
{
	CHECK(mkdtemp(dir));
	setenv("DAPPLE_RUNTIME_DIR", dir, 1);
	order_and_number();
	many_processes();
	turns();
	unusable();
	return 0;
}
