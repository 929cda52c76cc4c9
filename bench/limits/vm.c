/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Access to another process's ordinary memory, without an action of that process.
 *
 *	bench-vm readv|writev [BYTES] [SECONDS]	GB/s by process_vm_*, then CPU time per byte in ns
 *	bench-vm wlat|mlat [BYTES] [ROUNDS]	each end writes into the other's memory and polls the
 *						last bytes of its own: half a round trip in us;
 *						by process_vm_writev, or by the descriptor of
 *						/proc/PID/mem
 */
#include "limit.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

struct way {
	pid_t peer;
	int mem; /* a descriptor, or -1 */
	char *out, *in;
	size_t bytes;
	uint64_t count;
};

static void push(struct way *w)
{
	struct iovec here = { w->out, w->bytes }, there = { w->in, w->bytes };
	ssize_t n;

	if (w->mem >= 0)
		n = pwrite(w->mem, w->out, w->bytes, (off_t)(uintptr_t)w->in);
	else
		n = process_vm_writev(w->peer, &here, 1, &there, 1, 0);
	if (n != (ssize_t)w->bytes)
		lim_fail("write to the peer");
}

/* The same address in both: it was mapped before the fork. */
static _Atomic uint64_t *word(const struct way *w, char *at)
{
	return (void *)(at + w->bytes - sizeof(uint64_t));
}

static void until(const struct way *w, uint64_t value)
{
	for (unsigned looks = 1;
	     atomic_load_explicit(word(w, w->in), memory_order_acquire) != value; looks++)
		if (looks % 1024 == 0)
			sched_yield();
}

static void ping(void *arg)
{
	struct way *w = arg;

	atomic_store(word(w, w->out), ++w->count);
	push(w);
	until(w, w->count);
}

static void serve(struct way *w, uint64_t rounds)
{
	for (uint64_t i = 1; i <= rounds; i++) {
		until(w, i);
		atomic_store(word(w, w->out), i);
		push(w);
	}
}

static char *pages(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		lim_fail("mmap");
	return p;
}

static int latency(size_t bytes, int rounds, int by_descriptor)
{
	struct way w = { .mem = -1, .bytes = bytes < 8 ? 8 : (bytes + 7) / 8 * 8 };
	pid_t parent = getpid(), child;
	char name[64];

	w.out = pages(w.bytes);
	w.in = pages(w.bytes);
	child = lim_fork();
	w.peer = child ? child : parent;
	if (by_descriptor) {
		snprintf(name, sizeof(name), "/proc/%d/mem", (int)w.peer);
		w.mem = open(name, O_RDWR | O_CLOEXEC);
		if (w.mem < 0)
			lim_fail(name);
	}
	if (!child) {
		serve(&w, (uint64_t)rounds);
		return 0;
	}
	printf("%.4f\n", lim_median(ping, &w, rounds, 50) / 2);
	return lim_join(child);
}

static int bandwidth(size_t bytes, double seconds, int reads)
{
	struct iovec here = { pages(bytes), bytes }, there = { pages(bytes), bytes };
	double t, cpu, sum = 0;
	int ready[2], stay[2];
	pid_t child;
	char c = 0;

	if (pipe(ready) < 0 || pipe(stay) < 0)
		lim_fail("pipe");
	child = lim_fork();
	if (!child) {
		close(stay[1]);
		memset(there.iov_base, 3, bytes); /* pages of the child, no longer shared with the parent */
		return write(ready[1], &c, 1) != 1 || read(stay[0], &c, 1) != 0;
	}
	if (read(ready[0], &c, 1) != 1)
		lim_fail("child");
	cpu = lim_cpu();
	for (t = lim_now(); lim_now() < t + seconds; sum += (double)bytes)
		if ((reads ? process_vm_readv(child, &here, 1, &there, 1, 0) :
			     process_vm_writev(child, &here, 1, &there, 1, 0)) != (ssize_t)bytes)
			lim_fail("process_vm");
	t = lim_now() - t;
	printf("%.4f\ncpu %.4f\n", sum / t / 1e9, (lim_cpu() - cpu) / sum * 1e9);
	close(stay[1]);
	return lim_join(child);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t bytes = (size_t)lim_number(argc, argv, 2, mode[1] == 'l' ? 8 : 65536);

	if (!strcmp(mode, "wlat") || !strcmp(mode, "mlat"))
		return latency(bytes, (int)lim_number(argc, argv, 3, 50000) / 50 * 50, mode[0] == 'm');
	if (!strcmp(mode, "readv") || !strcmp(mode, "writev"))
		return bandwidth(bytes, lim_number(argc, argv, 3, 0.3), mode[0] == 'r');
	fprintf(stderr, "usage: bench-vm readv|writev [BYTES] [SECONDS]\n"
			"       bench-vm wlat|mlat [BYTES] [ROUNDS]\n");
	return 2;
}
