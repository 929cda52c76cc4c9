/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "image.h"

#include "lines.h"
#include "log.h"
#include "raw.h"
#include "state.h"

#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE 4096ull
#define AREAS 8192
#define RUNS 65536
#define STACK_LEAST (8ull << 20)
#define STACK_MOST (1ull << 30)
#define STACK_UNLIMITED (64ull << 20)
#define KERNEL_FROM (1ull << 47)

static struct rp_image image;
static struct rp_area areas[AREAS];
static struct rp_run runs[RUNS];
static uint64_t end; /* of what is written, in the file */
static bool too_many;

/* Keeps what a function keeps over a call. Returns 0, and in a replay another number. */
int64_t rp_image_mark(struct rp_image *ret) __attribute__((returns_twice));
__asm__(".text\n"
	".hidden rp_image_mark\n"
	".type rp_image_mark, @function\n"
	"rp_image_mark:\n"
	"	mov %rbx, 16(%rdi)\n"
	"	mov %rbp, 24(%rdi)\n"
	"	mov %r12, 32(%rdi)\n"
	"	mov %r13, 40(%rdi)\n"
	"	mov %r14, 48(%rdi)\n"
	"	mov %r15, 56(%rdi)\n"
	"	lea 8(%rsp), %rax\n"
	"	mov %rax, 64(%rdi)\n"
	"	mov (%rsp), %rax\n"
	"	mov %rax, 72(%rdi)\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size rp_image_mark, .-rp_image_mark\n");
_Static_assert(offsetof(struct rp_image, rbx) == 16 && offsetof(struct rp_image, rip) == 72, "as rp_image_mark() has it");

static uint64_t stack_bytes(void)
{
	struct rlimit limit = { STACK_LEAST, 0 };

	RP_RAW4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		return STACK_UNLIMITED;
	if (limit.rlim_cur < STACK_LEAST)
		return STACK_LEAST;
	return (limit.rlim_cur < STACK_MOST ? limit.rlim_cur : STACK_MOST) & ~(PAGE - 1);
}

/* proc(5), maps: "from-to rwxp offset device inode name". */
static void add_area(void *arg, const char *line)
{
	const char *p = line;
	struct rp_area a = { .from = rp_read_hex(&p) };
	int *n = arg;

	if (*p++ != '-')
		return;
	a.to = rp_read_hex(&p);
	a.protection = (p[1] == 'r' ? PROT_READ : 0) | (p[2] == 'w' ? PROT_WRITE : 0) | (p[3] == 'x' ? PROT_EXEC : 0);
	/* Those of the clock are the kernel's own; no function of the vdso reads them any more (clock.h). */
	if (strstr(p, "[vvar") || a.from >= KERNEL_FROM || (a.from >= RP_LOADER_FROM && a.from < RP_PLACES_TO))
		return;
	if (*n == AREAS) {
		too_many = true;
		return;
	}
	/* It grows by itself, and the kernel keeps free what its limit lets it have. */
	a.first = a.from;
	if (strstr(p, "[stack]") && a.to - a.from < stack_bytes() && (!*n || areas[*n - 1].to <= a.to - stack_bytes()))
		a.from = a.to - stack_bytes();
	areas[(*n)++] = a;
}

static bool is_zero(const uint64_t *p)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < PAGE / sizeof(*p); i++)
		any |= p[i];
	return !any;
}

static long write_all(int fd, const void *p, uint64_t n, uint64_t at)
{
	while (n) {
		long r = RP_RAW4(SYS_pwrite64, fd, p, n, at);

		if (r <= 0)
			return r < 0 ? r : -ENOSPC;
		p = (const uint8_t *)p + r;
		n -= (uint64_t)r;
		at += (uint64_t)r;
	}
	return 0;
}

/* Behind the end of a mapped file there is no page (EFAULT): it is taken for zeros. */
static long write_run(int fd, uint64_t from, uint64_t to)
{
	long r = 0;

	if (from == to)
		return 0;
	if (image.runs == RUNS)
		return -E2BIG;
	r = write_all(fd, (const void *)from, to - from, end);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	runs[image.runs++] = (struct rp_run){ from, to - from, end };
	end += to - from;
	return 0;
}

/* Whether a page can be read is asked of the kernel, since a read of it may be a fault. */
static bool has_content(int fd, uint64_t page)
{
	uint64_t first;

	if (RP_RAW4(SYS_pwrite64, fd, page, sizeof(first), RP_IMAGE_AT) != sizeof(first))
		return false;
	return !is_zero((const uint64_t *)page);
}

static long write_pages(int fd, const struct rp_area *a)
{
	uint64_t begin = a->first;
	long r = 0;

	if (!(a->protection & PROT_READ))
		return 0;
	for (uint64_t page = begin; page < a->to && r == 0; page += PAGE) {
		if (has_content(fd, page))
			continue;
		r = write_run(fd, begin, page);
		begin = page + PAGE;
	}
	return r ? r : begin < a->to ? write_run(fd, begin, a->to) : 0;
}

static void ask_kernel(void)
{
	RP_RAW2(SYS_arch_prctl, ARCH_GET_FS, &image.fs);
	RP_RAW2(SYS_arch_prctl, ARCH_GET_GS, &image.gs);
	RP_RAW2(SYS_prctl, PR_GET_TID_ADDRESS, &image.tid_word);
	RP_RAW3(SYS_get_robust_list, 0, &image.robust_list, &image.robust_bytes);
	RP_RAW2(SYS_prctl, PR_GET_NAME, image.name);
	image.brk = (uint64_t)RP_RAW1(SYS_brk, 0);
}

/* The tables come first, and their sizes are known last: the pages begin behind the longest ones. */
static long write_image(int fd)
{
	uint64_t tables = RP_IMAGE_AT + sizeof(image);
	struct rp_file head;
	int n = 0;
	long r = rp_lines("/proc/self/maps", add_area, &n);

	if (r < 0 || too_many)
		return r < 0 ? r : -E2BIG;
	image.areas = (uint32_t)n;
	image.runs = 0;
	ask_kernel();
	end = (tables + sizeof(areas) + sizeof(runs) + PAGE - 1) & ~(PAGE - 1);
	for (int i = 0; i < n && r == 0; i++)
		r = write_pages(fd, &areas[i]);
	image.bytes = end - RP_IMAGE_AT;
	if (r == 0)
		r = write_all(fd, &image, sizeof(image), RP_IMAGE_AT);
	if (r == 0)
		r = write_all(fd, areas, image.areas * sizeof(areas[0]), tables);
	if (r == 0)
		r = write_all(fd, runs, image.runs * sizeof(runs[0]), tables + image.areas * sizeof(areas[0]));
	if (r == 0 && RP_RAW4(SYS_pread64, fd, &head, sizeof(head), 0) != sizeof(head))
		r = -EIO;
	if (r == 0)
		r = RP_RAW2(SYS_ftruncate, fd, end + head.limit);
	return r ? r : write_all(fd, &end, sizeof(end), offsetof(struct rp_file, events_at));
}

int64_t rp_image(int fd)
{
	int64_t resumed = rp_image_mark(&image);

	return resumed ? resumed : write_image(fd);
}

uint64_t rp_image_brk(void)
{
	return image.brk;
}

void rp_image_resume(void)
{
	RP_RAW1(SYS_set_tid_address, image.tid_word);
	RP_RAW2(SYS_set_robust_list, image.robust_list, image.robust_bytes);
	RP_RAW2(SYS_prctl, PR_SET_NAME, image.name);
}
