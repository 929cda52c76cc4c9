/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "clock.h"

#include "raw.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096u
#define CODE_BYTES 8

static const struct {
	const char *name;
	uint32_t nr;
} functions[] = {
	{ "__vdso_clock_gettime", SYS_clock_gettime }, { "__vdso_clock_getres", SYS_clock_getres },
	{ "__vdso_gettimeofday", SYS_gettimeofday }, { "__vdso_time", SYS_time }, { "__vdso_getcpu", SYS_getcpu },
	{ "__vdso_getrandom", SYS_getrandom },
};

struct image {
	uint8_t *base;
	const Elf64_Sym *symbols;
	const char *names;
	uint32_t n;
};

/* mov $nr, %eax; syscall; ret. The page is the process's own copy once it is written to. */
static int replace(uint8_t *at, uint32_t nr)
{
	uint8_t code[CODE_BYTES] = { 0xb8, (uint8_t)nr, (uint8_t)(nr >> 8), 0, 0, 0x0f, 0x05, 0xc3 };
	uint8_t *page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1));
	long r = RP_RAW3(SYS_mprotect, page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	long fd;

	if (r < 0)
		r = RP_RAW3(SYS_mprotect, page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (r >= 0) {
		memcpy(at, code, sizeof(code));
		return 0;
	}
	/* Sealed: as a debugger writes. */
	fd = RP_RAW4(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return (int)r;
	r = RP_RAW4(SYS_pwrite64, fd, code, sizeof(code), at);
	RP_RAW1(SYS_close, fd);
	return r == sizeof(code) ? 0 : -EPERM;
}

static void read_dynamic(struct image *i, const Elf64_Dyn *dyn)
{
	for (; dyn->d_tag != DT_NULL; dyn++) {
		const uint8_t *p = i->base + dyn->d_un.d_ptr;

		if (dyn->d_tag == DT_SYMTAB)
			i->symbols = (const void *)p;
		else if (dyn->d_tag == DT_STRTAB)
			i->names = (const void *)p;
		else if (dyn->d_tag == DT_HASH)
			i->n = ((const uint32_t *)(const void *)p)[1];
	}
	/* Newer kernels have DT_GNU_HASH alone; there the names follow the symbols. */
	if (!i->n && (const void *)i->names > (const void *)i->symbols)
		i->n = (uint32_t)(((const uint8_t *)i->names - (const uint8_t *)i->symbols) / (long)sizeof(Elf64_Sym));
}

static uint32_t number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].nr;
	return 0;
}

int rp_clock_begin(void)
{
	struct image i = { .base = (uint8_t *)getauxval(AT_SYSINFO_EHDR) };
	const Elf64_Ehdr *h = (const void *)i.base;
	const Elf64_Phdr *p;
	int r = 0;

	if (!h)
		return 0;
	p = (const void *)(i.base + h->e_phoff);
	for (int k = 0; k < h->e_phnum; k++)
		if (p[k].p_type == PT_DYNAMIC)
			read_dynamic(&i, (const void *)(i.base + p[k].p_offset));
	for (uint32_t k = 0; k < i.n && r == 0; k++) {
		uint32_t nr = i.symbols[k].st_shndx ? number_of(i.names + i.symbols[k].st_name) : 0;

		if (nr)
			r = replace(i.base + i.symbols[k].st_value, nr);
	}
	return r;
}

long rp_now_ns(int clock)
{
	struct timespec t;

	RP_RAW2(SYS_clock_gettime, clock, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}
