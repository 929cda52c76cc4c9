/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * One walk describes the tree as a row of (path, content) pairs; it runs twice,
 * first into a hash, and only if the hash differs from the stamp of what is on
 * disk, into files.  A process start thus costs one small read.
 *
 * Layout below root:
 *   .lock .stamp .new-XXXXXX/           ours
 *   class/infiniband/<name>/...         an object: replaced as a whole
 *   class/infiniband_verbs/uverbsN/     an object
 *   class/infiniband_mad/umadN/         an object
 *   class/net/<if>/device/infiniband/   an object per interface
 *   dev/infiniband/{uverbsN,umadN}      empty files, shown as /dev/null
 */

static const char *const rooms[] = {
	"class", "class/infiniband", "class/infiniband_verbs", "class/infiniband_mad",
	"class/net", "dev", "dev/infiniband",
};

#define N_ROOMS (sizeof(rooms) / sizeof(rooms[0]))

/* How long a writer waits for another: a stopped process may hold the lock. */
#define LOCK_WAIT_MS 2000

struct sink {
	uint64_t hash;		/* FNV-1a over all paths and contents */
	const char *base;	/* directory to write below; NULL: only hash */
	int error;		/* first one, sticky */
};

static void hash_bytes(struct sink *s, const char *p, size_t n)
{
	while (n--)
		s->hash = (s->hash ^ (unsigned char)*p++) * UINT64_C(0x100000001b3);
}

static int join(char *out, size_t size, const char *a, const char *b)
{
	int n = snprintf(out, size, "%s/%s", a, b);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* mkdir -p of everything between base and the last component of path. */
static int make_parents(const char *path, size_t base_len)
{
	char part[PATH_MAX];
	size_t i;

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	strcpy(part, path);
	for (i = base_len + 1; part[i]; i++) {
		if (part[i] != '/')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
		part[i] = '/';
	}
	return 0;
}

static int write_file(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	int r = 0;

	if (fd < 0)
		return -errno;
	while (len && r == 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			r = -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	close(fd);
	return r;
}

/* content "/" makes a directory, "@target" a symbolic link. */
static void put_raw(struct sink *s, const char *name, const char *content, size_t len)
{
	char path[PATH_MAX];
	int r;

	hash_bytes(s, name, strlen(name) + 1);
	hash_bytes(s, content, len + 1);
	if (!s->base || s->error)
		return;
	r = join(path, sizeof(path), s->base, name);
	if (r == 0)
		r = make_parents(path, strlen(s->base));
	if (r == 0 && content[0] == '/')
		r = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
	else if (r == 0 && content[0] == '@')
		r = symlink(content + 1, path) < 0 && errno != EEXIST ? -errno : 0;
	else if (r == 0)
		r = write_file(path, content, len);
	s->error = r;
}

__attribute__((format(printf, 3, 4)))
static void put(struct sink *s, const char *name, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text)) {
		s->error = s->error ? s->error : -EMSGSIZE;
		return;
	}
	put_raw(s, name, text, (size_t)n);
}

/* An optional line: no file when there is nothing to say. */
static void put_line(struct sink *s, const char *name, const char *line)
{
	if (line)
		put(s, name, "%s\n", line);
}

static void put_guid(struct sink *s, const char *name, uint64_t g)
{
	put(s, name, "%04x:%04x:%04x:%04x\n", (unsigned)(g >> 48) & 0xffff,
	    (unsigned)(g >> 32) & 0xffff, (unsigned)(g >> 16) & 0xffff, (unsigned)g & 0xffff);
}

static void walk_gids(struct sink *s, const struct dev_tree_port *p, unsigned num)
{
	char name[96], text[40];
	unsigned i, k;

	for (i = 0; i < p->ngids; i++) {
		const uint8_t *g = p->gids[i].raw;

		for (k = 0; k < 8; k++)
			snprintf(text + 5 * k, 6, "%02x%02x%s", g[2 * k], g[2 * k + 1],
				 k < 7 ? ":" : "");
		snprintf(name, sizeof(name), "ports/%u/gids/%u", num, i);
		put(s, name, "%s\n", text);
		snprintf(name, sizeof(name), "ports/%u/gid_attrs/types/%u", num, i);
		put_line(s, name, p->gids[i].type);
		snprintf(name, sizeof(name), "ports/%u/gid_attrs/ndevs/%u", num, i);
		put_line(s, name, p->gids[i].ndev);
	}
}

static void walk_port(struct sink *s, const struct dev_tree_port *p, unsigned num)
{
	const struct { const char *file, *line; } lines[] = {
		{ "state", p->state }, { "phys_state", p->phys_state },
		{ "rate", p->rate }, { "link_layer", p->link_layer },
	};
	const struct { const char *file, *fmt; uint32_t value; } numbers[] = {
		{ "lid", "0x%x\n", p->lid }, { "lid_mask_count", "%u\n", p->lid_mask_count },
		{ "sm_lid", "0x%x\n", p->sm_lid }, { "sm_sl", "%u\n", p->sm_sl },
		{ "cap_mask", "0x%08x\n", p->cap_mask },
	};
	char name[96], text[32];
	unsigned i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(name, sizeof(name), "ports/%u/%s", num, lines[i].file);
		put_line(s, name, lines[i].line);
	}
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(name, sizeof(name), "ports/%u/%s", num, numbers[i].file);
		snprintf(text, sizeof(text), numbers[i].fmt, numbers[i].value);
		put(s, name, "%s", text);
	}
	walk_gids(s, p, num);
	for (i = 0; i < p->npkeys; i++) {
		snprintf(name, sizeof(name), "ports/%u/pkeys/%u", num, i);
		put(s, name, "0x%04x\n", p->pkeys[i]);
	}
	for (i = 0; i < p->ncounters; i++) {
		snprintf(name, sizeof(name), "ports/%u/counters/%s", num, p->counters[i].name);
		put(s, name, "%" PRIu64 "\n", p->counters[i].value);
	}
}

static void walk_device(struct sink *s, const void *object)
{
	const struct dev_tree_entry *e = object;
	char name[300];
	unsigned i;

	put_line(s, "node_type", e->node_type);
	put_line(s, "node_desc", e->node_desc);
	put_line(s, "fw_ver", e->fw_ver);
	put_line(s, "hw_rev", e->hw_rev);
	put_line(s, "hca_type", e->hca_type);
	put_line(s, "board_id", e->board_id);
	put_guid(s, "node_guid", e->node_guid);
	put_guid(s, "sys_image_guid", e->sys_image_guid);
	put(s, "device/numa_node", "-1\n");
	if (e->ndev) {
		snprintf(name, sizeof(name), "device/net/%s", e->ndev);
		put_raw(s, name, "/", 1);
	}
	for (i = 0; i < e->nports; i++)
		walk_port(s, &e->ports[i], i + 1);
}

static void walk_verbs(struct sink *s, const void *object)
{
	const struct dev_tree_entry *e = object;

	put_line(s, "ibdev", e->name);
	put_line(s, "abi_version", "1");
	put_line(s, "dev", "1:3");	/* the node is shown as /dev/null */
}

static void walk_mad(struct sink *s, const void *object)
{
	const struct dev_tree_entry *e = object;

	put_line(s, "ibdev", e->name);
	put_line(s, "port", "1");
	put_line(s, "dev", "1:3");
}

struct netdev {
	const struct dev_tree_entry *entries;
	unsigned n;
	const char *ifname;
};

/* One interface may carry adapters of several kinds. */
static void walk_netdev(struct sink *s, const void *object)
{
	const struct netdev *nd = object;
	char name[300], target[300];
	unsigned i;

	for (i = 0; i < nd->n; i++) {
		const struct dev_tree_entry *e = &nd->entries[i];

		if (!e->ndev || strcmp(e->ndev, nd->ifname) != 0)
			continue;
		snprintf(name, sizeof(name), "device/infiniband/%s", e->name);
		snprintf(target, sizeof(target), "@../../../../infiniband/%s", e->name);
		put_raw(s, name, target, strlen(target));
	}
}

/* --- objects on disk --- */

static int remove_at(int dirfd, const char *name)
{
	struct dirent *d;
	int fd, r = 0;
	DIR *dir;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			r = remove_at(fd, d->d_name);
	closedir(dir);
	if (r == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

/* Puts the finished directory fresh in the place of path, in one step where
 * the file system can exchange names. */
static int swap_in(const char *fresh, const char *path)
{
	char old[PATH_MAX];

	if (rename(fresh, path) == 0)
		return 0;
	if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
		return -errno;
	if (renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
		return remove_at(AT_FDCWD, fresh);
	if (join(old, sizeof(old), fresh, "../.new-old") < 0)
		return -ENAMETOOLONG;
	remove_at(AT_FDCWD, old);
	if (rename(path, old) < 0 || rename(fresh, path) < 0)
		return -errno;
	return remove_at(AT_FDCWD, old);
}

typedef void walk_fn(struct sink *s, const void *object);

static int store(struct sink *total, const char *root, const char *room, const char *name,
		 walk_fn *walk, const void *object)
{
	char fresh[PATH_MAX], path[PATH_MAX], where[300];
	struct sink s = { .hash = total->hash };
	int r;

	hash_bytes(&s, room, strlen(room) + 1);
	hash_bytes(&s, name, strlen(name) + 1);
	if (!root) {
		walk(&s, object);
		total->hash = s.hash;
		return s.error;
	}
	snprintf(where, sizeof(where), "%s/%s", room, name);
	if (join(fresh, sizeof(fresh), root, ".new-XXXXXX") < 0 ||
	    join(path, sizeof(path), root, where) < 0)
		return -ENAMETOOLONG;
	if (!mkdtemp(fresh))
		return -errno;
	s.base = fresh;
	walk(&s, object);
	r = s.error ? s.error : swap_in(fresh, path);
	if (r < 0)
		remove_at(AT_FDCWD, fresh);
	return r;
}

static int store_node(struct sink *total, const char *root, const char *name)
{
	char path[PATH_MAX], where[64];
	int fd;

	hash_bytes(total, name, strlen(name) + 1);
	if (!root)
		return 0;
	snprintf(where, sizeof(where), "dev/infiniband/%s", name);
	if (join(path, sizeof(path), root, where) < 0)
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Names become path components: nothing may climb or hide. */
static bool name_ok(const char *name)
{
	return name && *name && *name != '.' && strlen(name) < 64 && !strchr(name, '/');
}

/* root NULL: only hash. */
static int store_all(struct sink *total, const char *root, const struct dev_tree_entry *e,
		     unsigned n)
{
	char uverbs[32], umad[32];
	unsigned i;
	int r = 0;

	for (i = 0; i < n && r == 0; i++) {
		struct netdev nd = { e, n, e[i].ndev };

		if (!name_ok(e[i].name) || (e[i].ndev && !name_ok(e[i].ndev)))
			return -EINVAL;
		snprintf(uverbs, sizeof(uverbs), "uverbs%u", e[i].index);
		snprintf(umad, sizeof(umad), "umad%u", e[i].index);
		r = store(total, root, "class/infiniband", e[i].name, walk_device, &e[i]);
		if (r == 0)
			r = store(total, root, "class/infiniband_verbs", uverbs, walk_verbs, &e[i]);
		if (r == 0)
			r = store(total, root, "class/infiniband_mad", umad, walk_mad, &e[i]);
		if (r == 0 && e[i].ndev)
			r = store(total, root, "class/net", e[i].ndev, walk_netdev, &nd);
		if (r == 0)
			r = store_node(total, root, uverbs);
		if (r == 0)
			r = store_node(total, root, umad);
	}
	return r;
}

static bool wanted(const char *room, const char *name, const struct dev_tree_entry *e, unsigned n)
{
	char uverbs[32], umad[32];
	unsigned i;

	if (strcmp(name, "abi_version") == 0)
		return true;
	for (i = 0; i < n; i++) {
		snprintf(uverbs, sizeof(uverbs), "uverbs%u", e[i].index);
		snprintf(umad, sizeof(umad), "umad%u", e[i].index);
		if (strcmp(room, "class/infiniband") == 0 && strcmp(name, e[i].name) == 0)
			return true;
		if (strcmp(room, "class/net") == 0 && e[i].ndev && strcmp(name, e[i].ndev) == 0)
			return true;
		if (strcmp(name, uverbs) == 0 || strcmp(name, umad) == 0)
			return true;
	}
	return false;
}

/* A device leaves its room by one rename before it is taken apart. */
static int discard(const char *root, const char *room_path, const char *name)
{
	char path[PATH_MAX], gone[PATH_MAX];

	if (join(path, sizeof(path), room_path, name) < 0 ||
	    join(gone, sizeof(gone), root, ".new-gone") < 0)
		return -ENAMETOOLONG;
	remove_at(AT_FDCWD, gone);
	if (rename(path, gone) < 0)
		return errno == ENOENT ? 0 : -errno;
	return remove_at(AT_FDCWD, gone);
}

static int sweep_room(const char *root, const char *room, const struct dev_tree_entry *e,
		      unsigned n)
{
	char path[PATH_MAX];
	struct dirent *d;
	int r = 0;
	DIR *dir;

	if (join(path, sizeof(path), root, room) < 0)
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (r == 0 && (d = readdir(dir))) {
		bool ours = *room ? d->d_name[0] != '.' : strncmp(d->d_name, ".new-", 5) == 0;

		if (ours && !wanted(room, d->d_name, e, n))
			r = discard(root, path, d->d_name);
	}
	closedir(dir);
	return r;
}

/* Stale devices, and what a writer that died left half made (room ""). */
static int sweep(const char *root, const struct dev_tree_entry *e, unsigned n)
{
	static const char *const swept[] = {
		"", "class/infiniband", "class/infiniband_verbs", "class/infiniband_mad",
		"class/net", "dev/infiniband",
	};
	size_t i;
	int r = 0;

	for (i = 0; i < sizeof(swept) / sizeof(swept[0]) && r == 0; i++)
		r = sweep_room(root, swept[i], e, n);
	return r;
}

/* --- lock and stamp --- */

static int lock_tree(const char *root)
{
	char path[PATH_MAX];
	int fd, waited = 0, step = 1;

	if (join(path, sizeof(path), root, ".lock") < 0)
		return -ENAMETOOLONG;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		struct timespec ts = { .tv_nsec = step * 1000000L };

		if (errno != EWOULDBLOCK && errno != EINTR) {
			int r = -errno;

			close(fd);
			return r;
		}
		if (waited > LOCK_WAIT_MS) {
			close(fd);
			return -EAGAIN;
		}
		nanosleep(&ts, NULL);
		waited += step;
		step = step < 32 ? step * 2 : step;
	}
	return fd;
}

static bool stamp_matches(const char *path, const char *stamp)
{
	char have[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, have, sizeof(have) - 1);
	close(fd);
	return n > 0 && strcmp(have, stamp) == 0;
}

static int write_abi(const char *root)
{
	static const char *const file[][2] = {
		{ "class/infiniband_verbs/abi_version", "6\n" },
		{ "class/infiniband_mad/abi_version", "5\n" },
	};
	char path[PATH_MAX];
	size_t i;
	int r = 0;

	for (i = 0; i < 2 && r == 0; i++) {
		r = join(path, sizeof(path), root, file[i][0]);
		if (r == 0 && access(path, F_OK) < 0)
			r = write_file(path, file[i][1], 2);
	}
	return r;
}

int dev_tree_prepare(const char *root)
{
	char path[PATH_MAX];
	size_t i;

	if (mkdir(root, 0755) < 0 && errno != EEXIST)
		return -errno;
	for (i = 0; i < N_ROOMS; i++) {
		if (join(path, sizeof(path), root, rooms[i]) < 0)
			return -ENAMETOOLONG;
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return write_abi(root);
}

static int update_locked(const char *root, const char *stamp_path, const char *stamp,
			 const struct dev_tree_entry *entries, unsigned n)
{
	struct sink files = { 0 };
	int r;

	if (stamp_matches(stamp_path, stamp))
		return 0;
	/* From here until the new stamp the tree vouches for nothing: a writer
	 * that dies in between makes the next one write everything. */
	if (unlink(stamp_path) < 0 && errno != ENOENT)
		return -errno;
	r = dev_tree_prepare(root);
	if (r == 0)
		r = sweep(root, entries, n);
	if (r == 0)
		r = store_all(&files, root, entries, n);
	return r < 0 ? r : write_file(stamp_path, stamp, strlen(stamp));
}

int dev_tree_update(const char *root, const struct dev_tree_entry *entries, unsigned n)
{
	struct sink sum = { .hash = UINT64_C(0xcbf29ce484222325) };
	char stamp_path[PATH_MAX], stamp[64];
	int r, lock, saved = errno;

	r = store_all(&sum, NULL, entries, n);
	if (r == 0)
		r = join(stamp_path, sizeof(stamp_path), root, ".stamp");
	if (r < 0)
		return r;
	snprintf(stamp, sizeof(stamp), "1 %016" PRIx64 " %u\n", sum.hash, n);
	if (stamp_matches(stamp_path, stamp))
		goto out;
	if (mkdir(root, 0755) < 0 && errno != EEXIST) {
		r = -errno;
		goto out;
	}
	lock = lock_tree(root);
	if (lock < 0) {
		r = lock;
		goto out;
	}
	r = update_locked(root, stamp_path, stamp, entries, n);
	close(lock);
out:
	errno = saved;
	return r;
}

int dev_tree_remove(const char *root)
{
	int saved = errno, r = remove_at(AT_FDCWD, root);

	errno = saved;
	return r;
}
