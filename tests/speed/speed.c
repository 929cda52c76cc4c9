/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "speed.h"

#include "dapple/stream.h"
#include "../support/entries.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* Processes killed here leave copies of their sockets behind, which swallow datagrams of all
 * processes on the port; so it is not the one that other tests use meanwhile. */
__attribute__((constructor)) static void own_port(void)
{
	char text[8];

	snprintf(text, sizeof(text), "%u", 20000 + (unsigned)getpid() % 20000);
	setenv("DAPPLE_PORT", text, 0);
}

uint64_t sp_rand(struct sp_rng *r)
{
	uint64_t x = r->state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t sp_seed(const char *what)
{
	const char *given = getenv("SPEED_SEED");
	uint64_t seed = 0;

	if (given)
		seed = strtoull(given, NULL, 0);
	else if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = cf_ns();
	printf("# %s: SPEED_SEED=0x%llx\n", what, (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

uint32_t sp_size(struct sp_rng *r, uint32_t least, uint32_t most)
{
	uint32_t steps = 0, base;

	while (least << (steps + 1) && least << (steps + 1) <= most)
		steps++;
	base = least << sp_below(r, steps + 1);
	base += sp_below(r, base);
	return base < most ? base : most;
}

void sp_busy(uint64_t ns)
{
	uint64_t end = cf_ns() + ns;

	while (cf_ns() < end)
		;
}

/* --- resources of a process --- */

static void count_maps(struct sp_held *h)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[1024];

	CF_TRUE(f);
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, "dapple-consumer"))
			h->consumers++;
		else if (strchr(line, '/'))
			h->maps++;
	}
	fclose(f);
}

struct sp_held sp_held(void)
{
	struct sp_held h = { .fds = (unsigned)open_fds(), .threads = (unsigned)entries("/proc/self/task"),
			     .resident = cf_resident() };

	count_maps(&h);
	return h;
}

void sp_no_more_than(const struct sp_held *before, unsigned long slack)
{
	struct cf_timeout p = { 0 };
	struct sp_held now;

	do {
		now = sp_held();
		if (now.fds <= before->fds && now.maps <= before->maps && now.consumers <= before->consumers &&
		    now.threads <= before->threads && now.resident <= before->resident + slack)
			return;
		usleep(5000);
	} while (!cf_over(&p, CF_WAIT_MS * 1000000ull));
	CF_DIE("more than before: descriptors %u -> %u, mappings %u -> %u and %u -> %u consumers, "
	       "threads %u -> %u, memory %lu KiB -> %lu KiB", before->fds, now.fds, before->maps,
	       now.maps, before->consumers, now.consumers, before->threads, now.threads,
	       before->resident >> 10, now.resident >> 10);
}

/* --- memory --- */

bool sp_all(const volatile uint8_t *p, size_t n, uint8_t byte)
{
	uint64_t want = 0x0101010101010101ull * byte;

	for (; n && (uintptr_t)p % 8; p++, n--)
		if (*p != byte)
			return false;
	for (; n >= 8; p += 8, n -= 8)
		if (*(const volatile uint64_t *)p != want)
			return false;
	for (; n; p++, n--)
		if (*p != byte)
			return false;
	return true;
}

uint8_t *sp_area(size_t len)
{
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CF_TRUE(p != MAP_FAILED);
	return p;
}

void sp_remap(uint8_t *at, size_t len, uint8_t fill)
{
	/* A mapping without access in its place, as if it were gone, but that another thread cannot map something there. */
	CF_TRUE(mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
	CF_OK(mprotect(at, len, PROT_READ | PROT_WRITE));
	memset(at, fill, len);
}

/* --- connecting with an end that may die --- */

static bool take_stream(struct cf_side *s, int fd, bool initiator)
{
	struct dpl_stream_attr a = { .role = initiator ? DPL_STREAM_INITIATOR : DPL_STREAM_RESPONDER,
				     .flags = DPL_STREAM_CRC, .ird = s->o.rd, .ord = s->o.rd };
	int (*give)(struct ibv_qp *, int, const struct dpl_stream_attr *, size_t);
	int (*await)(struct ibv_qp *, int, struct dpl_stream_result *, size_t);
	struct dpl_stream_result r;
	void *lib = dlopen("libdapple.so.0", RTLD_NOW);

	CF_TRUE(lib);
	*(void **)&give = dlsym(lib, "dpl_qp_stream");
	*(void **)&await = dlsym(lib, "dpl_qp_stream_wait");
	CF_TRUE(give && await);
	cf_up(s, IBV_QPS_INIT, NULL);
	if (give(s->qp, fd, &a, sizeof(a))) {
		close(fd);
		return false;
	}
	return await(s->qp, CF_WAIT_MS, &r, sizeof(r)) == 0;
}

bool sp_try_connect(struct cf_side *s, const struct cf_addr *peer, int fd, bool initiator)
{
	if (cf.iwarp)
		return take_stream(s, fd, initiator);
	cf_up(s, IBV_QPS_RTS, peer);
	return true;
}
