/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening, closing and fork() with the real RoCE adapter of lo: a device that was only opened
 * belongs to a child as well, a device with a link is foreign there, and the parent notices
 * nothing.
 */
#include "device/adapter.h"
#include "device/devices.h"
#include "engine/event.h"
#include "support/check.h"
#include "support/entries.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct dev_info lo;

/* A port that was free a moment ago. */
static void choose_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	char text[8];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&sin, &len) == 0);
	snprintf(text, sizeof(text), "%u", ntohs(sin.sin_port));
	close(fd);
	setenv("DAPPLE_PORT", text, 1);
}

static int attach(struct eng_ctx *ctx)
{
	int r;

	ut_lock(&ctx->dev->lock);
	r = ctx->dev->ops->attach(ctx->dev);
	eng_dev_unlock(ctx->dev);
	return r;
}

/* Fixed once attached, so reading without the lock is fine here. */
static uint32_t fixed_bits(struct eng_ctx *ctx) UT_NO_TSA
{
	CHECK(ctx->dev->qpn_mask);
	return ctx->dev->qpn_fixed;
}

static void in_child(void (*fn)(struct eng_ctx *), struct eng_ctx *ctx)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		alarm(120);
		fn(ctx);
		exit(0); /* with destructors: they must not hang or hurt the parent */
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child status %x", status);
}

static void goes_on(struct eng_ctx *ctx)
{
	CHECK(!dev_is_foreign(ctx->dev));
	CHECK(attach(ctx) == 0);
	fixed_bits(ctx);
	CHECK(eng_dev_poll(ctx->dev, NULL, NULL) >= 0);
	dev_close(ctx);
}

static void starts_afresh(struct eng_ctx *ctx)
{
	int link_fd = atomic_load(&dev_adapter_of(ctx->dev)->driver.link_fd);
	uint32_t fixed = fixed_bits(ctx);
	struct eng_ctx *mine;

	CHECK(dev_is_foreign(ctx->dev));
	CHECK(fcntl(link_fd, F_GETFD) < 0 && errno == EBADF);
	CHECK(attach(ctx) == -EIO);
	CHECK(eng_dev_poll(ctx->dev, NULL, NULL) == 0);
	CHECK(eng_dev_wait_fd(ctx->dev, 0, 0) == -EIO);
	dev_close(ctx);
	CHECK(dev_open(&lo, &mine) == 0);
	CHECK(mine->dev != ctx->dev && attach(mine) == 0);
	/* The parent lives: the child's QPNs are others. */
	CHECK(fixed_bits(mine) != fixed);
	dev_close(mine);
}

/* Members of the link's epoll set. */
static int members(struct eng_ctx *ctx)
{
	char path[64], line[256];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d",
		 atomic_load(&dev_adapter_of(ctx->dev)->driver.link_fd));
	f = fopen(path, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		n += strncmp(line, "tfd:", 4) == 0;
	fclose(f);
	return n;
}

static void forks(void)
{
	struct eng_ctx *ctx;
	int before;

	CHECK(dev_open(&lo, &ctx) == 0);
	in_child(goes_on, ctx);
	CHECK(attach(ctx) == 0);
	before = members(ctx);
	CHECK(before > 0);
	in_child(starts_afresh, ctx);
	CHECK(members(ctx) == before);
	CHECK(attach(ctx) == 0 && !dev_is_foreign(ctx->dev));
	dev_close(ctx);
}

static void contexts_share(void)
{
	struct eng_ctx *x, *y;

	CHECK(dev_open(&lo, &x) == 0 && dev_open(&lo, &y) == 0);
	CHECK(x->dev == y->dev);
	CHECK(attach(x) == 0);
	dev_close(x);
	fixed_bits(y);
	CHECK(eng_dev_poll(y->dev, NULL, NULL) >= 0);
	dev_close(y);
}

static void nothing_stays(void)
{
	struct eng_ctx *ctx;
	int fds = open_fds(), threads = entries("/proc/self/task");

	for (int i = 0; i < 30; i++) {
		CHECK(dev_open(&lo, &ctx) == 0);
		if (i % 3)
			CHECK(attach(ctx) == 0);
		dev_close(ctx);
	}
	CHECK(open_fds() == fds);
	/* A thread that was joined is still shown until the kernel is done with it. */
	while (entries("/proc/self/task") != threads)
		sched_yield();
}

static atomic_bool enough;

static void *open_and_close(void *arg)
{
	struct eng_ctx *ctx;

	while (!atomic_load(&enough)) {
		CHECK(dev_open(&lo, &ctx) == 0);
		CHECK(attach(ctx) == 0);
		eng_dev_poll(ctx->dev, NULL, NULL);
		dev_close(ctx);
	}
	return NULL;
}

static void open_once(struct eng_ctx *none)
{
	struct eng_ctx *ctx;

	CHECK(dev_open(&lo, &ctx) == 0);
	dev_close(ctx);
	/* Work in hand of the vanished threads is lost here; no leak checker, please. */
	_exit(0);
}

static void fork_amid_threads(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, open_and_close, NULL) == 0);
	for (int i = 0; i < 40; i++)
		in_child(open_once, NULL);
	atomic_store(&enough, true);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	struct dev_info *v = NULL;
	int n;

	choose_port();
	setenv("DAPPLE_DEVICES", "dpl_roce_lo", 1);
	n = dev_list(&v);
	if (n != 1)
		SKIP("lo is down here");
	lo = v[0];
	free(v);
	alarm(600);
	contexts_share();
	nothing_stays();
#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer does not follow the fork of a process with threads");
#endif
	forks();
#ifdef __SANITIZE_ADDRESS__
	/* Its allocator has locks of its own; one that another thread has at a fork stays locked in the child. */
	(void)fork_amid_threads;
#else
	fork_amid_threads();
#endif
	return 0;
}
