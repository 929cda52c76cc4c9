/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The start of a replay: a program without libraries, at an address where no other one is, that becomes the recorded process.
 * It takes all memory away but its own, makes that of struct rp_image, and jumps to where the recorder was.
 *
 * The descriptors of struct rp_control and of the file are in RP_ENV, as for the recorder.
 */
#include "../format.h"

#include <asm/prctl.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

#define STACK 65536
#define REFUSED 125
#define LINE 256
#define USER_TO (1ull << 47)

__attribute__((aligned(16), used)) static uint8_t stack[STACK];
static int control, file;
static bool stays;
static struct rp_file head;
static const struct rp_image *image;
static const struct rp_area *areas;
static const struct rp_run *runs;

static long call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}

#define CALL1(nr, a) call((nr), (long)(a), 0, 0, 0, 0, 0)
#define CALL2(nr, a, b) call((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(nr, a, b, c) call((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(nr, a, b, c, d) call((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL6(nr, a, b, c, d, e, f) call((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static void tell(const void *p, size_t n, size_t at)
{
	CALL4(SYS_pwrite64, control, p, n, at);
}

/* The command tells it: `why` with what the kernel refused, and the address. */
static _Noreturn void refuse(uint32_t why, const char *what, int64_t number)
{
	size_t n = 0;

	while (what[n])
		n++;
	tell(what, n + 1, offsetof(struct rp_control, text));
	tell(&number, sizeof(number), offsetof(struct rp_control, number));
	tell(&why, sizeof(why), offsetof(struct rp_control, stop));
	for (;;)
		CALL1(SYS_exit_group, REFUSED);
}

/* --- words and lines --- */

static bool begins_with(const char *s, const char *with)
{
	while (*with)
		if (*s++ != *with++)
			return false;
	return true;
}

static uint64_t read_number(const char **p, unsigned base)
{
	uint64_t v = 0;
	unsigned digit;

	for (;; (*p)++) {
		char c = **p;

		digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : base;
		if (digit >= base)
			return v;
		v = v * base + digit;
	}
}

static int read_descriptor(const char **p)
{
	while (**p == ' ')
		(*p)++;
	return (int)read_number(p, 10);
}

static bool read_environment(char **env)
{
	const char *p = NULL;

	for (; *env && !p; env++)
		if (begins_with(*env, RP_ENV "="))
			p = *env + sizeof(RP_ENV);
	if (!p)
		return false;
	stays = begins_with(p, RP_STAY);
	p += sizeof(RP_STAY) - 1;
	control = read_descriptor(&p);
	file = read_descriptor(&p);
	return true;
}

/* --- memory --- */

static void map_image(void)
{
	uint64_t bytes = sizeof(*image);
	long r = RP_LOADER_IMAGE_AT;

	if (CALL4(SYS_pread64, file, &head, sizeof(head), 0) != sizeof(head))
		refuse(RP_SETUP, "pread", 5);
	for (int i = 0; i < 2 && r == (long)RP_LOADER_IMAGE_AT; i++) {
		r = CALL6(SYS_mmap, RP_LOADER_IMAGE_AT, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, RP_IMAGE_AT);
		image = (const void *)RP_LOADER_IMAGE_AT;
		if (r == (long)RP_LOADER_IMAGE_AT)
			bytes += image->areas * sizeof(*areas) + image->runs * sizeof(*runs);
	}
	if (r != (long)RP_LOADER_IMAGE_AT)
		refuse(RP_SETUP, "mmap", -r);
	areas = (const void *)(image + 1);
	runs = (const void *)(areas + image->areas);
}

static bool is_wanted(uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < image->areas; i++)
		if (from < areas[i].to && to > areas[i].from)
			return true;
	return false;
}

/* Of what the kernel has given this program, the vdso may be sealed: it stays, where it is not in the way. */
static void drop(const char *line)
{
	const char *p = line;
	uint64_t from = read_number(&p, 16), to;

	if (*p++ != '-')
		return;
	to = read_number(&p, 16);
	if (from >= USER_TO || (from >= RP_LOADER_FROM && from < RP_PLACES_TO))
		return;
	if (CALL2(SYS_munmap, from, to - from) < 0 && is_wanted(from, to))
		refuse(RP_PLACE, "munmap", (int64_t)from);
}

static void drop_all(void)
{
	static char text[1 << 16], line[LINE];
	long fd = CALL4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY, 0), n, all = 0;
	size_t used = 0;

	if (fd < 0)
		refuse(RP_SETUP, "/proc/self/maps", -fd);
	while (all < (long)sizeof(text) && (n = CALL3(SYS_read, fd, text + all, sizeof(text) - (size_t)all)) > 0)
		all += n;
	CALL1(SYS_close, fd);
	for (long i = 0; i < all; i++) {
		if (text[i] != '\n') {
			line[used] = text[i];
			used += used < LINE - 1;
			continue;
		}
		line[used] = '\0';
		used = 0;
		drop(line);
	}
}

static void make_areas(void)
{
	for (uint32_t i = 0; i < image->areas; i++) {
		const struct rp_area *a = &areas[i];
		long r = CALL6(SYS_mmap, a->from, a->to - a->from, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

		if (r == (long)a->from)
			continue;
		if (r > 0)
			CALL2(SYS_munmap, r, a->to - a->from);
		refuse(RP_OTHER_ADDRESS, "mmap", (int64_t)a->from);
	}
}

static void fill_areas(void)
{
	for (uint32_t i = 0; i < image->runs; i++)
		for (uint64_t done = 0; done < runs[i].bytes;) {
			long r = CALL4(SYS_pread64, file, runs[i].address + done, runs[i].bytes - done, runs[i].at + done);

			if (r <= 0)
				refuse(RP_SETUP, "pread", r < 0 ? -r : 5);
			done += (uint64_t)r;
		}
	for (uint32_t i = 0; i < image->areas; i++) {
		long r = CALL3(SYS_mprotect, areas[i].from, areas[i].to - areas[i].from, areas[i].protection);

		if (r < 0)
			refuse(RP_SETUP, "mprotect", -r);
	}
}

/* --- the start --- */

/* Registers as rp_image_mark() has kept them; rdi: what it is to return. */
__asm__(".text\n"
	"go_on:\n"
	"	mov %rdi, %rax\n"
	"	mov 16(%rsi), %rbx\n"
	"	mov 24(%rsi), %rbp\n"
	"	mov 32(%rsi), %r12\n"
	"	mov 40(%rsi), %r13\n"
	"	mov 48(%rsi), %r14\n"
	"	mov 56(%rsi), %r15\n"
	"	mov 64(%rsi), %rsp\n"
	"	jmp *72(%rsi)\n"
	".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	lea stack(%rip), %rsp\n"
	"	add $65536, %rsp\n"
	"	call become\n"
	"	hlt\n");
_Noreturn void go_on(uint64_t result, const struct rp_image *with);
_Noreturn void become(char **words);

_Noreturn void become(char **words)
{
	long n = *(long *)words;

	if (!read_environment(words + 1 + n + 1))
		CALL1(SYS_exit_group, REFUSED);
	map_image();
	drop_all();
	make_areas();
	fill_areas();
	CALL2(SYS_arch_prctl, ARCH_SET_FS, image->fs);
	if (image->gs)
		CALL2(SYS_arch_prctl, ARCH_SET_GS, image->gs);
	go_on(RP_RESUMED(stays, control, file), image);
}
