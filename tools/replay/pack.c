/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pack.h"

#include "../run/run.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define PAGE 4096ull
#define UNPACKED_MOST (1ull << 40)

#ifdef HAVE_ZSTD

/* --- the files of the program --- */

struct bytes {
	const uint8_t *p;
	size_t n;
};

static struct bytes map_file(const char *path)
{
	struct bytes b = { NULL, 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > (off_t)sizeof(Elf64_Ehdr)) {
		b.p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		b.n = b.p == MAP_FAILED ? 0 : (size_t)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	return b;
}

static void unmap(struct bytes *b)
{
	if (b->n)
		munmap((void *)b->p, b->n);
	b->n = 0;
}

/* Returns program header i, or NULL behind the last one. */
static const Elf64_Phdr *header(const struct bytes *b, unsigned i)
{
	const Elf64_Ehdr *h = (const void *)b->p;

	if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 || i >= h->e_phnum ||
	    h->e_phoff > b->n || b->n - h->e_phoff < (i + 1) * sizeof(Elf64_Phdr) || h->e_phoff % 8)
		return NULL;
	return (const Elf64_Phdr *)(const void *)(b->p + h->e_phoff) + i;
}

static bool holds(const struct bytes *b, const Elf64_Phdr *p, const uint8_t *id)
{
	for (uint64_t at = 0; at + RP_OBJECT_ID <= p->p_filesz; at += 4)
		if (!memcmp(b->p + p->p_offset + at, id, RP_OBJECT_ID))
			return true;
	return false;
}

/* The file may have been built anew since. */
static bool is_same(const struct bytes *b, const struct rp_object *o)
{
	static const uint8_t none[RP_OBJECT_ID];
	const Elf64_Phdr *p;

	if (!memcmp(o->id, none, sizeof(none)))
		return true;
	for (unsigned i = 0; (p = header(b, i)); i++)
		if (p->p_type == PT_NOTE && p->p_offset < b->n && p->p_filesz <= b->n - p->p_offset && holds(b, p, o->id))
			return true;
	return false;
}

/* From where its instructions are mapped to what is added to its addresses. */
static bool find_base(const struct bytes *b, struct rp_object *o, int64_t offset)
{
	const Elf64_Phdr *p;

	for (unsigned i = 0; (p = header(b, i)); i++)
		if (p->p_type == PT_LOAD && p->p_flags & PF_X && (p->p_offset & ~(PAGE - 1)) == (uint64_t)offset) {
			o->at -= p->p_vaddr & ~(PAGE - 1);
			return true;
		}
	return false;
}

struct objects {
	struct rp_object *all;
	size_t n;
};

static void add(struct objects *l, const struct rp_object *o)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->all[i].name, o->name))
			return;
	l->all = realloc(l->all, (l->n + 1) * sizeof(*o));
	if (!l->all)
		abort();
	l->all[l->n++] = *o;
}

static void add_loaded(struct objects *l, const uint8_t *p, size_t n)
{
	struct rp_object o;
	uint32_t count;

	if (n < sizeof(count))
		return;
	memcpy(&count, p, sizeof(count));
	for (size_t at = sizeof(count); count && at + sizeof(o) <= n; at += sizeof(o), count--) {
		memcpy(&o, p + at, sizeof(o));
		add(l, &o);
	}
}

static void add_opened(struct objects *l, const uint8_t *p, size_t n, int64_t offset)
{
	struct rp_object o;
	struct bytes b;

	if (n < sizeof(o))
		return;
	memcpy(&o, p, sizeof(o));
	b = map_file(o.name);
	if (b.n && find_base(&b, &o, offset))
		add(l, &o);
	unmap(&b);
}

static void list_objects(const struct replay_run *r, const uint8_t *events, struct objects *l)
{
	const struct rp_event *e;

	for (uint64_t at = 0; at + sizeof(*e) <= r->head.used; at += e->bytes) {
		const uint8_t *body;

		e = (const void *)(events + at);
		body = (const void *)(e + 1);
		if (e->bytes < sizeof(*e) || e->bytes > r->head.used - at)
			return;
		if (e->kind == RP_OBJECTS)
			add_loaded(l, body, e->bytes - sizeof(*e));
		else if (e->kind == RP_MAPPED)
			add_opened(l, body, e->bytes - sizeof(*e), e->about);
	}
}

#endif

void replay_files(const struct replay_run *r, void (*take)(void *arg, const struct rp_object *o, const void *p, size_t n), void *arg)
{
	uint64_t from = r->head.events_at + r->head.used + sizeof(struct rp_event), bytes = from + r->head.files;
	uint8_t *p = r->head.files ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, r->file, 0) : MAP_FAILED;

	if (p == MAP_FAILED)
		return;
	for (uint64_t at = from; at + sizeof(struct rp_packed) <= bytes;) {
		struct rp_packed f;

		memcpy(&f, p + at, sizeof(f));
		at += sizeof(f);
		if (f.bytes > bytes - at)
			break;
		f.object.name[RP_OBJECT_NAME - 1] = '\0';
		take(arg, &f.object, p + at, f.bytes);
		at += (f.bytes + 7) & ~7ull;
	}
	munmap(p, bytes);
}

#ifdef HAVE_ZSTD

/* --- out --- */

struct out {
	FILE *f;
	ZSTD_CCtx *z;
	uint8_t room[1 << 17];
	bool good;
};

static void put(struct out *o, const void *p, size_t n, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { p, n, 0 };
	size_t left = 1;

	while (o->good && left && (in.pos < n || how == ZSTD_e_end)) {
		ZSTD_outBuffer out = { o->room, sizeof(o->room), 0 };

		left = ZSTD_compressStream2(o->z, &out, &in, how);
		o->good = !ZSTD_isError(left) && fwrite(o->room, 1, out.pos, o->f) == out.pos;
		if (how != ZSTD_e_end)
			left = 1;
	}
}

static uint64_t put_object(struct out *o, const struct replay_run *r, const struct rp_object *object)
{
	static const uint8_t zeros[8];
	struct rp_packed f = { .object = *object };
	struct bytes b = map_file(*f.object.name ? f.object.name : r->exe);
	uint64_t padding, all = 0;

	if (b.n && is_same(&b, object)) {
		f.bytes = b.n;
		padding = -f.bytes & 7;
		all = sizeof(f) + f.bytes + padding;
		put(o, &f, sizeof(f), ZSTD_e_continue);
		put(o, b.p, b.n, ZSTD_e_continue);
		put(o, zeros, padding, ZSTD_e_continue);
	}
	unmap(&b);
	return all;
}

/* Each library is there as pages and as a file: the window is as long as most records. */
static void begin_stream(struct out *o)
{
	ZSTD_CCtx_setParameter(o->z, ZSTD_c_compressionLevel, 3);
	ZSTD_CCtx_setParameter(o->z, ZSTD_c_enableLongDistanceMatching, 1);
	ZSTD_CCtx_setParameter(o->z, ZSTD_c_windowLog, 27);
}

static bool write_packed(struct replay_run *r, struct out *o)
{
	uint64_t content = r->head.events_at + r->head.used + sizeof(struct rp_event);
	uint8_t *p = mmap(NULL, content, PROT_READ, MAP_PRIVATE, r->file, 0);
	struct objects l = { NULL, 0 };
	struct rp_file head = r->head;

	if (p == MAP_FAILED)
		return false;
	head.packed = 1;
	o->good = fwrite(&head, sizeof(head), 1, o->f) == 1;
	begin_stream(o);
	put(o, p + sizeof(head), content - sizeof(head), ZSTD_e_continue);
	list_objects(r, p + r->head.events_at, &l);
	for (size_t i = 0; i < l.n; i++)
		head.files += put_object(o, r, &l.all[i]);
	put(o, NULL, 0, ZSTD_e_end);
	free(l.all);
	munmap(p, content);
	return o->good && fflush(o->f) == 0 && pwrite(fileno(o->f), &head, sizeof(head), 0) == sizeof(head);
}

void replay_pack(struct replay_run *r)
{
	struct out o = { .z = ZSTD_createCCtx() };
	char *path = NULL;
	int fd;

	if (asprintf(&path, "%s.XXXXXX", r->path) < 0)
		abort();
	fd = mkostemp(path, O_CLOEXEC);
	o.f = fd < 0 ? NULL : fdopen(fd, "w");
	if (o.f && o.z && (!write_packed(r, &o) || rename(path, r->path) < 0))
		unlink(path);
	if (o.f)
		fclose(o.f);
	ZSTD_freeCCtx(o.z);
	free(path);
}

/* --- in --- */

static bool write_all(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t k = write(fd, p, n);

		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

/* Returns false if it is not what was packed. */
static bool expand(const struct replay_run *r, int to)
{
	static uint8_t from[1 << 17], room[1 << 17];
	uint64_t want = r->head.events_at + r->head.used + sizeof(struct rp_event) + r->head.files, got = sizeof(r->head);
	ZSTD_DCtx *z = ZSTD_createDCtx();
	off_t at = sizeof(r->head);
	bool good = z && want < UNPACKED_MOST;
	ssize_t n;

	while (good && (n = pread(r->file, from, sizeof(from), at)) > 0) {
		ZSTD_inBuffer in = { from, (size_t)n, 0 };

		for (at += n; good && in.pos < in.size;) {
			ZSTD_outBuffer out = { room, sizeof(room), 0 };

			good = !ZSTD_isError(ZSTD_decompressStream(z, &out, &in)) && out.pos <= want - got && write_all(to, room, out.pos);
			got += out.pos;
		}
	}
	/* What is left in the stream's own room. */
	while (good && got < want) {
		ZSTD_inBuffer in = { from, 0, 0 };
		ZSTD_outBuffer out = { room, sizeof(room), 0 };

		good = !ZSTD_isError(ZSTD_decompressStream(z, &out, &in)) && out.pos && out.pos <= want - got && write_all(to, room, out.pos);
		got += out.pos;
	}
	ZSTD_freeDCtx(z);
	return good && got == want;
}

int replay_unpack(struct replay_run *r)
{
	int fd = memfd_create("dapple-record", MFD_CLOEXEC);

	r->head.packed = 0;
	if (fd < 0 || write(fd, &r->head, sizeof(r->head)) != sizeof(r->head) || !expand(r, fd)) {
		run_say("%s: it is damaged, or the memory is full: nothing is replayed; copy the file again", r->path);
		return REPLAY_REFUSED;
	}
	close(r->file);
	r->file = fd;
	return 0;
}

#else

void replay_pack(struct replay_run *r)
{
}

int replay_unpack(struct replay_run *r)
{
	run_say("%s: it is packed, and this dapple was built without libzstd: nothing is replayed; build it with libzstd-dev", r->path);
	return REPLAY_REFUSED;
}

#endif
