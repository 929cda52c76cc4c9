/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "needs.h"

#include "run.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_OBJECTS 512
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* Every place in the file is checked against its size: the file is not ours. */
struct elf {
	const char *base;
	size_t size;
	const ElfW(Shdr) *sections;
	unsigned count;
};

struct walk {
	const char *libdir;
	char *paths[MAX_OBJECTS]; /* found so far, the first `done` of them checked */
	unsigned found, done;
	unsigned linked; /* of those, the first ones are linked; the others are plug-ins, and libraries behind them */
	unsigned said;
};

/* Libraries that load others later, and where: beside themselves, or in the folder that the variable names. */
static const struct {
	const char *library, *files, *variable;
} loaders[] = {
	{ "libucs.so.", "ucx/*.so.[0-9]*", "UCX_MODULE_DIR" },
	{ "libfabric.so.", "libfabric/*.so", "FI_PROVIDER_PATH" },
	{ "libopen-pal.so.", "openmpi/lib/openmpi*/*.so", NULL },
};

/* --- reading --- */

static const void *bytes(const struct elf *e, uint64_t at, uint64_t length)
{
	return at <= e->size && length <= e->size - at ? e->base + at : NULL;
}

static void elf_close(struct elf *e)
{
	if (e->base)
		munmap((void *)e->base, e->size);
}

static bool is_native(const ElfW(Ehdr) *h)
{
	const int class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;

	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == class &&
	       h->e_shentsize == sizeof(ElfW(Shdr));
}

static bool elf_open(struct elf *e, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ElfW(Ehdr) *h;
	struct stat st;
	void *map;

	*e = (struct elf){ 0 };
	if (fd < 0)
		return false;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(*h)) {
		close(fd);
		return false;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	*e = (struct elf){ .base = map, .size = (size_t)st.st_size };
	h = map;
	if (is_native(h) && h->e_shoff % sizeof(void *) == 0)
		e->sections = bytes(e, h->e_shoff, (uint64_t)h->e_shnum * sizeof(*e->sections));
	if (!e->sections) {
		elf_close(e);
		return false;
	}
	e->count = h->e_shnum;
	return true;
}

static const ElfW(Shdr) *section(const struct elf *e, uint32_t type)
{
	for (unsigned i = 0; i < e->count; i++)
		if (e->sections[i].sh_type == type)
			return &e->sections[i];
	return NULL;
}

static const void *contents(const struct elf *e, const ElfW(Shdr) *s)
{
	return s && s->sh_offset % 2 == 0 ? bytes(e, s->sh_offset, s->sh_size) : NULL;
}

/* The string at `offset` of the strings that belong to section `s`, or NULL. */
static const char *text(const struct elf *e, const ElfW(Shdr) *s, uint64_t offset)
{
	const ElfW(Shdr) *strings = s->sh_link < e->count ? &e->sections[s->sh_link] : NULL;
	const char *start = strings ? bytes(e, strings->sh_offset, strings->sh_size) : NULL;

	if (!start || offset >= strings->sh_size || !memchr(start + offset, '\0', strings->sh_size - offset))
		return NULL;
	return start + offset;
}

/* A record of verneed or verdef at `offset` of its section, or NULL. */
static const void *entry(const struct elf *e, const ElfW(Shdr) *s, uint64_t offset, size_t size)
{
	if (offset > s->sh_size || size > s->sh_size - offset || (s->sh_offset + offset) % 4)
		return NULL;
	return bytes(e, s->sh_offset + offset, size);
}

/* --- versions --- */

/* The node that the library `e` defines under `index`, or NULL. */
static const char *defined_node(const struct elf *e, unsigned index)
{
	const ElfW(Shdr) *s = section(e, SHT_GNU_verdef);
	const ElfW(Verdef) *def;
	const ElfW(Verdaux) *aux;
	uint64_t at = 0;

	while (s && (def = entry(e, s, at, sizeof(*def)))) {
		if (def->vd_ndx == index) {
			aux = entry(e, s, at + def->vd_aux, sizeof(*aux));
			return aux ? text(e, s, aux->vda_name) : NULL;
		}
		if (!def->vd_next)
			break;
		at += def->vd_next;
	}
	return NULL;
}

/* The node that `e` needs under `index`, with the library in *file, or NULL. */
static const char *needed_node(const struct elf *e, unsigned index, const char **file)
{
	const ElfW(Shdr) *s = section(e, SHT_GNU_verneed);
	const ElfW(Verneed) *need;
	const ElfW(Vernaux) *aux;
	uint64_t at = 0, in;

	while (s && (need = entry(e, s, at, sizeof(*need)))) {
		in = at + need->vn_aux;
		while ((aux = entry(e, s, in, sizeof(*aux)))) {
			if ((aux->vna_other & 0x7fff) == index) {
				*file = text(e, s, need->vn_file);
				return *file ? text(e, s, aux->vna_name) : NULL;
			}
			if (!aux->vna_next)
				break;
			in += aux->vna_next;
		}
		if (!need->vn_next)
			break;
		at += need->vn_next;
	}
	return NULL;
}

struct symbols {
	const ElfW(Shdr) *section;
	const ElfW(Sym) *table;
	const ElfW(Half) *versions;
	size_t count;
};

static bool symbols_of(const struct elf *e, struct symbols *ret)
{
	const ElfW(Shdr) *versions = section(e, SHT_GNU_versym);

	*ret = (struct symbols){ .section = section(e, SHT_DYNSYM) };
	ret->table = contents(e, ret->section);
	ret->versions = contents(e, versions);
	if (!ret->table || !ret->versions || ret->section->sh_offset % sizeof(void *))
		return false;
	ret->count = ret->section->sh_size / sizeof(*ret->table);
	return versions->sh_size / sizeof(*ret->versions) >= ret->count;
}

static bool defines(const struct elf *lib, const char *name, const char *node)
{
	const char *has, *at;
	struct symbols s;

	if (!symbols_of(lib, &s))
		return true;
	for (size_t i = 1; i < s.count; i++) {
		if (s.table[i].st_shndx == SHN_UNDEF)
			continue;
		has = text(lib, s.section, s.table[i].st_name);
		if (!has || strcmp(has, name) != 0)
			continue;
		at = defined_node(lib, s.versions[i] & 0x7fff);
		if (at && strcmp(at, node) == 0)
			return true;
	}
	return false;
}

/* --- the program and its libraries --- */

static void say_missing(bool linked, const char *path, const char *name, const char *node, const char *file)
{
	if (!linked) {
		run_say("%s: it needs %s@%s of %s, which no rdma-core from 28 to 65 has: programs that look for this plug-in go "
			"without it; use the plug-in of one of these releases, or install a newer Dapple", path, name, node, file);
		return;
	}
	run_say("%s: it needs %s@%s of %s, which no rdma-core from 28 to 65 has: the program does not load, or ends "
		"at that call; install a newer Dapple, or build the program against one of these releases", path, name, node, file);
}

/* Files that are not ours, of which an object needs most of its symbols: each is looked for once. */
struct absent {
	const char *file[16];
	size_t n;
};

static bool is_absent(const struct absent *a, const char *file)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->file[i], file) == 0)
			return true;
	return false;
}

static bool open_ours(const struct walk *w, const char *file, struct absent *a, struct elf *ret)
{
	char ours[PATH_MAX];

	if (is_absent(a, file) || snprintf(ours, sizeof(ours), "%s/%s", w->libdir, file) >= (int)sizeof(ours))
		return false;
	if (elf_open(ret, ours))
		return true;
	if (a->n < sizeof(a->file) / sizeof(a->file[0]))
		a->file[a->n++] = file;
	return false;
}

/* Prints at most one sentence for an object. */
static void check_object(struct walk *w, const struct elf *e, const char *path)
{
	const char *name, *node, *file;
	struct absent absent = { .n = 0 };
	struct symbols s;
	struct elf lib;
	bool has;

	if (!symbols_of(e, &s))
		return;
	for (size_t i = 1; i < s.count; i++) {
		if (s.table[i].st_shndx != SHN_UNDEF || s.table[i].st_info >> 4 == STB_WEAK)
			continue;
		name = text(e, s.section, s.table[i].st_name);
		node = needed_node(e, s.versions[i] & 0x7fff, &file);
		if (!name || !node || strchr(file, '/') || !open_ours(w, file, &absent, &lib))
			continue;
		has = defines(&lib, name, node);
		elf_close(&lib);
		if (has)
			continue;
		say_missing(w->done < w->linked, path, name, node, file);
		w->said++;
		return;
	}
}

static bool add(struct walk *w, const char *path)
{
	struct elf e;

	if (w->found == MAX_OBJECTS || !elf_open(&e, path))
		return false;
	elf_close(&e);
	w->paths[w->found] = strdup(path);
	if (!w->paths[w->found])
		return false;
	w->found++;
	return true;
}

static bool have(const struct walk *w, const char *name)
{
	const char *last;

	for (unsigned i = 0; i < w->found; i++) {
		last = strrchr(w->paths[i], '/');
		if (strcmp(last ? last + 1 : w->paths[i], name) == 0)
			return true;
	}
	return false;
}

/* Looks in a list of folders as the loader's; $ORIGIN is the folder of `user`. */
static bool add_from(struct walk *w, const char *list, const char *name, const char *user)
{
	const char *slash = strrchr(user, '/');
	char path[PATH_MAX];
	int n, length, skip;

	for (; list && *list; list += length + (list[length] != '\0')) {
		length = (int)strcspn(list, ":;");
		skip = strncmp(list, "$ORIGIN", 7) == 0 ? 7 : strncmp(list, "${ORIGIN}", 9) == 0 ? 9 : 0;
		if (skip > length || (skip && !slash))
			continue;
		n = snprintf(path, sizeof(path), "%.*s%.*s/%s", skip ? (int)(slash - user) : 0, user, length - skip,
			     list + skip, name);
		if (n < (int)sizeof(path) && add(w, path))
			return true;
	}
	return false;
}

/* The folders that the loader searches without being told; this process has the same ones. */
static bool add_default(struct walk *w, const char *name)
{
	void *self = dlopen(NULL, RTLD_LAZY);
	Dl_serinfo size, *info;
	bool found = false;

	if (!self || dlinfo(self, RTLD_DI_SERINFOSIZE, &size) || !(info = malloc(size.dls_size)))
		return false;
	if (dlinfo(self, RTLD_DI_SERINFOSIZE, info) == 0 && dlinfo(self, RTLD_DI_SERINFO, info) == 0)
		for (unsigned i = 0; i < info->dls_cnt && !found; i++)
			found = add_from(w, info->dls_serpath[i].dls_name, name, "");
	free(info);
	return found || add_from(w, "/usr/local/lib:/usr/local/lib64", name, "");
}

static void add_needed(struct walk *w, const struct elf *e, const char *path)
{
	const ElfW(Shdr) *s = section(e, SHT_DYNAMIC);
	const ElfW(Dyn) *dyn = s && s->sh_offset % sizeof(void *) == 0 ? contents(e, s) : NULL;
	size_t count = dyn ? s->sh_size / sizeof(*dyn) : 0;
	const char *name, *list = NULL;

	for (size_t i = 0; i < count; i++)
		if (dyn[i].d_tag == DT_RUNPATH || (dyn[i].d_tag == DT_RPATH && !list))
			list = text(e, s, dyn[i].d_un.d_val);
	for (size_t i = 0; i < count; i++) {
		name = dyn[i].d_tag == DT_NEEDED ? text(e, s, dyn[i].d_un.d_val) : NULL;
		if (!name || have(w, name))
			continue;
		if (strchr(name, '/'))
			add(w, name);
		else if (!add_from(w, list, name, path) && !add_from(w, getenv("LD_LIBRARY_PATH"), name, path))
			add_default(w, name);
	}
}

/* Several names of a file are several links; the file itself is taken. */
static void add_plugins(struct walk *w, const char *path)
{
	const char *slash = strrchr(path, '/'), *own, *pattern;
	char files[PATH_MAX];
	struct stat st;
	glob_t found;

	for (size_t i = 0; slash && i < sizeof(loaders) / sizeof(loaders[0]); i++) {
		if (strncmp(slash + 1, loaders[i].library, strlen(loaders[i].library)) != 0)
			continue;
		own = loaders[i].variable ? getenv(loaders[i].variable) : NULL;
		pattern = own ? strrchr(loaders[i].files, '/') + 1 : loaders[i].files;
		if (snprintf(files, sizeof(files), "%.*s/%s", own ? (int)strlen(own) : (int)(slash - path), own ? own : path,
			     pattern) >= (int)sizeof(files) || glob(files, 0, NULL, &found) != 0)
			continue;
		for (size_t n = 0; n < found.gl_pathc; n++)
			if (lstat(found.gl_pathv[n], &st) == 0 && S_ISREG(st.st_mode))
				add(w, found.gl_pathv[n]);
		globfree(&found);
	}
}

static void walk(struct walk *w)
{
	struct elf e;

	for (; w->done < w->found; w->done++) {
		if (!elf_open(&e, w->paths[w->done]))
			continue;
		check_object(w, &e, w->paths[w->done]);
		add_needed(w, &e, w->paths[w->done]);
		elf_close(&e);
	}
}

unsigned run_needs_check(const char *libdir, const char *program)
{
	const char *path = getenv("PATH");
	struct walk *w = calloc(1, sizeof(*w));
	unsigned said;

	if (!w)
		return 0;
	w->libdir = libdir;
	w->linked = MAX_OBJECTS;
	if (strchr(program, '/'))
		add(w, program);
	else
		add_from(w, path ? path : DEFAULT_PATH, program, "");
	walk(w);
	w->linked = w->found;
	for (unsigned i = 0; i < w->linked; i++)
		add_plugins(w, w->paths[i]);
	walk(w);
	said = w->said;
	for (unsigned i = 0; i < w->found; i++)
		free(w->paths[i]);
	free(w);
	return said;
}
