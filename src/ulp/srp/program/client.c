/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/program/client.h"
#include "ulp/srp/program/id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (4u << 20)
#define LUNS 256

/* What a verb works with. */
struct work {
	const struct srp_options *o;
	struct srp_disk *d;
	uint8_t *at, *other;            /* of PIECE octets */
	int fd;
};

static int failed(const struct srp_options *o, const char *why)
{
	char text[ULP_ADDR_TEXT_MAX];

	fprintf(stderr, "dapple srp: target %s: %s: %s is not done; correct that, and try again (dapple why names failures of RDMA)\n",
		ulp_addr_text(text, &o->disk.to), why, o->verb);
	return 1;
}

static int file_failed(const struct srp_options *o, int err)
{
	fprintf(stderr, "dapple srp: file %s: %s: %s ends here; correct that, and try again\n", o->file, strerror(err), o->verb);
	return 1;
}

/* --- what there is --- */

static const char *channels(enum wire_srp_channels c)
{
	return c == WIRE_SRP_CHANNELS_ENDED ? "ended by this login" : c == WIRE_SRP_CHANNELS_KEPT ? "kept" : "none";
}

static int login(struct work *w)
{
	const struct srp_agreed *a = srp_session_agreed(srp_disk_session(w->d));

	printf("request limit      %u\n", a->limit);
	printf("information units  %u octets to the target, %u from it\n", a->it_length, a->ti_length);
	printf("immediate data     %s\n", a->immediate ? "yes" : "no");
	printf("other channels     %s\n", channels(a->channels));
	return 0;
}

static const char *type_text(uint8_t type)
{
	static const char *const names[] = { "disk", "tape", "printer", "processor", "write-once", "CD/DVD", "scanner", "optical memory",
					     "medium changer" };

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "device of another kind";
}

static int capacity(struct work *w)
{
	const struct srp_disk_facts *f = srp_disk_facts(w->d);
	char text[24];

	printf("capacity  %llu blocks of %u octets, %llu octets (%s)\n", (unsigned long long)f->blocks, f->block,
	       (unsigned long long)(f->blocks * f->block), srp_size_text(text, f->blocks * f->block));
	return 0;
}

static int inquiry(struct work *w)
{
	const struct srp_disk_facts *f = srp_disk_facts(w->d);

	printf("device    %s, %s %s, revision %s\n", type_text(f->type), f->vendor, f->product, f->revision);
	printf("serial    %s\n", *f->serial ? f->serial : "none");
	if (f->type)
		return 0;
	capacity(w);
	printf("writes    %s\n", f->read_only ? "protected" : "yes");
	printf("unmap     %s%s\n", f->unmap_max ? "yes" : "no", f->unmap_max && f->zeroes ? ", reads as zeroes" : "");
	return 0;
}

static unsigned lun_number(uint64_t lun)
{
	return (unsigned)(lun >> 48) & 0x3fff;
}

static int luns(struct work *w)
{
	struct srp_disk_conf conf = w->o->disk;
	char why[SRP_DISK_WHY_MAX], text[24];
	uint64_t list[LUNS];
	int n = srp_disk_luns(w->d, list, LUNS);

	if (n < 0)
		return failed(w->o, srp_disk_why());
	conf.session.multi = true; /* beside the session that is there */
	for (int i = 0; i < n; i++) {
		struct srp_disk *d;

		conf.lun = list[i];
		d = srp_disk_open(&conf, why);
		if (!d) {
			printf("%-5u %s\n", lun_number(list[i]), why);
			continue;
		}
		printf("%-5u %s %s, %s, %s\n", lun_number(list[i]), srp_disk_facts(d)->vendor, srp_disk_facts(d)->product,
		       type_text(srp_disk_facts(d)->type), srp_size_text(text, srp_disk_facts(d)->blocks * srp_disk_facts(d)->block));
		srp_disk_close(d);
	}
	return 0;
}

/* --- data --- */

static int open_file(struct work *w, int flags)
{
	if (!strcmp(w->o->file, "-"))
		w->fd = dup(flags == O_RDONLY ? 0 : 1);
	else
		w->fd = open(w->o->file, flags | O_CLOEXEC, 0666);
	return w->fd < 0 ? file_failed(w->o, errno) : 0;
}

/* Octets of a file, fewer at its end. Returns them, or a negative errno. */
static ssize_t read_file(int fd, uint8_t *at, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, at + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int write_file(int fd, const uint8_t *at, size_t len)
{
	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static uint64_t disk_len(const struct work *w)
{
	return srp_disk_facts(w->d)->blocks * srp_disk_facts(w->d)->block;
}

static int check_range(const struct work *w, uint64_t *ret_len)
{
	uint32_t block = srp_disk_facts(w->d)->block;
	uint64_t all = disk_len(w);

	if (w->o->offset > all || (w->o->has_len && w->o->len > all - w->o->offset))
		return failed(w->o, "the offset or the length is beyond the end of the disk");
	*ret_len = w->o->has_len ? w->o->len : all - w->o->offset;
	if (w->o->offset % block || *ret_len % block)
		return failed(w->o, "the offset or the length is no multiple of the disk's blocks");
	return 0;
}

static int read_disk(struct work *w)
{
	uint64_t left, at = w->o->offset;
	int r = check_range(w, &left);

	if (!r)
		r = open_file(w, O_WRONLY | O_CREAT | O_TRUNC);
	while (!r && left) {
		size_t n = left < PIECE ? (size_t)left : PIECE;

		if (srp_disk_read(w->d, w->at, n, at))
			return failed(w->o, srp_disk_why());
		r = write_file(w->fd, w->at, n);
		if (r)
			return file_failed(w->o, -r);
		at += n;
		left -= n;
	}
	return r;
}

/* The octets of the file that are next, with zeroes behind the last ones up to a whole block. */
static ssize_t next_piece(struct work *w, uint64_t left)
{
	uint32_t block = srp_disk_facts(w->d)->block;
	ssize_t n = read_file(w->fd, w->at, left < PIECE ? (size_t)left : PIECE);
	size_t more = n > 0 && (size_t)n % block ? block - (size_t)n % block : 0;

	if (more)
		memset(w->at + n, 0, more);
	return n < 0 ? n : n + (ssize_t)more;
}

/* Whether the file ends where the range does. */
static bool has_more(const struct work *w)
{
	uint8_t octet;

	return !w->o->has_len && read_file(w->fd, &octet, 1) > 0;
}

/* Calls `piece` for each piece of the file and its place on the disk. Returns 0 if the range and the file end together, what
 * `piece` returned, or 1 and the cause is said. */
static int each_piece(struct work *w, int (*piece)(struct work *w, size_t n, uint64_t at), uint64_t *ret_octets)
{
	uint64_t left, at = w->o->offset;
	int r = check_range(w, &left);
	ssize_t n = 1;

	if (!r)
		r = open_file(w, O_RDONLY);
	while (!r && left && (n = next_piece(w, left)) > 0) {
		r = piece(w, (size_t)n, at);
		at += (uint64_t)n;
		left -= (uint64_t)n;
	}
	if (n < 0)
		return file_failed(w->o, (int)-n);
	if (!r && !left && has_more(w))
		return file_failed(w->o, EFBIG);
	*ret_octets = at - w->o->offset;
	return r;
}

static int write_piece(struct work *w, size_t n, uint64_t at)
{
	return srp_disk_write(w->d, w->at, n, at, false) ? failed(w->o, srp_disk_why()) : 0;
}

static int write_disk(struct work *w)
{
	uint64_t octets;
	int r = each_piece(w, write_piece, &octets);

	if (!r && srp_disk_flush(w->d))
		return failed(w->o, srp_disk_why());
	if (!r)
		printf("%llu octets are written\n", (unsigned long long)octets);
	return r;
}

static int verify_piece(struct work *w, size_t n, uint64_t at)
{
	size_t i = 0;

	if (srp_disk_read(w->d, w->other, n, at))
		return failed(w->o, srp_disk_why());
	if (!memcmp(w->at, w->other, n))
		return 0;
	while (w->at[i] == w->other[i])
		i++;
	printf("octet %llu differs: %02x in the file, %02x on the disk\n", (unsigned long long)(at + i), w->at[i], w->other[i]);
	return 1;
}

static int verify_disk(struct work *w)
{
	uint64_t octets;
	int r = each_piece(w, verify_piece, &octets);

	if (!r)
		printf("%llu octets are equal\n", (unsigned long long)octets);
	return r;
}

static int unmap_disk(struct work *w)
{
	uint64_t len;
	int r = check_range(w, &len);

	if (!r && !w->o->has_len)
		r = failed(w->o, "the length is missing");
	if (!r && srp_disk_unmap(w->d, len, w->o->offset))
		r = failed(w->o, srp_disk_why());
	if (!r)
		printf("%llu octets are unmapped\n", (unsigned long long)len);
	return r;
}

/* --- verbs --- */

static const struct verb {
	const char *name;
	int (*run)(struct work *w);
	bool session_only, disk_only;
} verbs[] = {
	{ "login", login, true, false },
	{ "luns", luns, true, false },
	{ "inquiry", inquiry, false, false },
	{ "capacity", capacity, false, true },
	{ "read", read_disk, false, true },
	{ "write", write_disk, false, true },
	{ "verify", verify_disk, false, true },
	{ "unmap", unmap_disk, false, true },
};

/* Beside the octets that may go to standard output. */
static void print_count(const char *name, uint64_t n)
{
	dprintf(STDERR_FILENO, "%-18s %llu\n", name, (unsigned long long)n);
}

static void print_counts(const struct work *w)
{
	const struct srp_session *s = srp_disk_session(w->d);
	const struct srp_counts *c = s ? srp_session_counts(s) : NULL;

	if (!w->o->counts || !c)
		return;
	print_count("commands", c->commands);
	print_count("direct", c->direct);
	print_count("indirect", c->indirect);
	print_count("immediate", c->immediate);
	print_count("reconnects", srp_disk_reconnects(w->d));
}

int srp_client(const struct srp_options *o)
{
	struct work w = { .o = o, .fd = -1, .at = malloc(PIECE), .other = malloc(PIECE) };
	const struct verb *v = verbs;
	char why[SRP_DISK_WHY_MAX];
	int r;

	while (strcmp(v->name, o->verb))
		v++;
	w.d = v->session_only ? srp_disk_open_session(&o->disk, why) : srp_disk_open(&o->disk, why);
	if (!w.d || !w.at || !w.other)
		r = failed(o, w.d ? strerror(ENOMEM) : why);
	else if (v->disk_only && srp_disk_facts(w.d)->type)
		r = failed(o, "the logical unit is no disk");
	else
		r = v->run(&w);
	if (w.d) {
		print_counts(&w);
		srp_disk_close(w.d);
	}
	if (w.fd >= 0 && close(w.fd) && !r)
		r = file_failed(o, errno);
	free(w.at);
	free(w.other);
	return r;
}
