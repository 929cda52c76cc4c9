/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/sysfs/tree.h"

#include "device/sysfs/counts.h"
#include "device/sysfs/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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
 *   .lock .stamp .new-XXXXXX/           the writers' own
 *   class/infiniband/<name>/...         an object: replaced as a whole
 *   class/infiniband_verbs/uverbsN/     an object
 *   class/infiniband_mad/umadN/         an object
 *   class/net/<if>/device/infiniband/   an object per interface
 *   .counters/<name>/                   counts.h
 *   class/infiniband_mad/issmN/         an object, of ports that a subnet manager may have
 *   dev/infiniband/{uverbsN,umadN}      empty files, shown as /dev/null
 *   dev/infiniband/issmN                symbolic links to the files of subnet managers
 */

static const char *const rooms[] = {
	"class", "class/infiniband", "class/infiniband_verbs", "class/infiniband_mad",
	"class/net", "dev", "dev/infiniband",
};

#define N_ROOMS (sizeof(rooms) / sizeof(rooms[0]))

/* Time limit for the lock: a stopped process may hold it. */
#define LOCK_WAIT_MS 2000

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
	if (dev_tree_join(old, sizeof(old), fresh, "../.new-old") < 0)
		return -ENAMETOOLONG;
	remove_at(AT_FDCWD, old);
	if (rename(path, old) < 0 || rename(fresh, path) < 0)
		return -errno;
	return remove_at(AT_FDCWD, old);
}

static int store(struct dev_tree_sink *total, const char *root, const char *room, const char *name,
		 dev_tree_walk_fn *walk, const void *object)
{
	char fresh[PATH_MAX], path[PATH_MAX], where[300];
	struct dev_tree_sink s = { .hash = total->hash };
	int r;

	dev_tree_hash(&s, room, strlen(room) + 1);
	dev_tree_hash(&s, name, strlen(name) + 1);
	if (!root) {
		walk(&s, object);
		total->hash = s.hash;
		return s.error;
	}
	snprintf(where, sizeof(where), "%s/%s", room, name);
	if (dev_tree_join(fresh, sizeof(fresh), root, ".new-XXXXXX") < 0 ||
	    dev_tree_join(path, sizeof(path), root, where) < 0)
		return -ENAMETOOLONG;
	if (!mkdtemp(fresh))
		return -errno;
	s.counts = total->counts;
	s.base = fresh;
	s.former = access(path, F_OK) == 0 ? path : NULL;
	walk(&s, object);
	r = s.error ? s.error : swap_in(fresh, path);
	if (r < 0)
		remove_at(AT_FDCWD, fresh);
	return r;
}

static int store_node(struct dev_tree_sink *total, const char *root, const char *name)
{
	char path[PATH_MAX], where[64];
	int fd;

	dev_tree_hash(total, name, strlen(name) + 1);
	if (!root)
		return 0;
	snprintf(where, sizeof(where), "dev/infiniband/%s", name);
	if (dev_tree_join(path, sizeof(path), root, where) < 0)
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* A symbolic link, made anew if its target has changed. */
static int store_link(struct dev_tree_sink *total, const char *root, const char *name, const char *target)
{
	char path[PATH_MAX], where[64];

	dev_tree_hash(total, name, strlen(name) + 1);
	dev_tree_hash(total, target, strlen(target) + 1);
	if (!root)
		return 0;
	snprintf(where, sizeof(where), "dev/infiniband/%s", name);
	if (dev_tree_join(path, sizeof(path), root, where) < 0)
		return -ENAMETOOLONG;
	unlink(path);
	return symlink(target, path) < 0 ? -errno : 0;
}

/* umadN and issmN of a port. */
static int store_mad(struct dev_tree_sink *total, const char *root, const struct dev_tree_entry *e, unsigned port)
{
	struct dev_tree_mad object = { e, port };
	const char *issm = e->ports[port].issm;
	char umad[32], name[32];
	int r;

	snprintf(umad, sizeof(umad), "umad%u", e->index + port);
	snprintf(name, sizeof(name), "issm%u", e->index + port);
	r = store(total, root, "class/infiniband_mad", umad, dev_tree_walk_mad, &object);
	if (r == 0)
		r = store_node(total, root, umad);
	if (r == 0 && issm)
		r = store(total, root, "class/infiniband_mad", name, dev_tree_walk_mad, &object);
	if (r == 0 && issm)
		r = store_link(total, root, name, issm);
	return r;
}

/* Names become path components: none may lead upward or hide a file. */
static bool name_ok(const char *name)
{
	return name && *name && *name != '.' && strlen(name) < 64 && !strchr(name, '/');
}

/* Walks the objects; root NULL: only hashes. */
static int store_all(struct dev_tree_sink *total, const char *root, const struct dev_tree_entry *e,
		     unsigned n)
{
	char uverbs[32];
	unsigned i, port;
	int r = 0;

	for (i = 0; i < n && r == 0; i++) {
		struct dev_tree_netdev nd = { e, n, e[i].ndev };

		if (!name_ok(e[i].name) || (e[i].ndev && !name_ok(e[i].ndev)))
			return -EINVAL;
		if (root && total->counts == root)
			r = dev_counts_prepare(root, e[i].name);
		if (r < 0)
			break;
		snprintf(uverbs, sizeof(uverbs), "uverbs%u", e[i].index);
		r = store(total, root, "class/infiniband", e[i].name, dev_tree_walk_device, &e[i]);
		if (r == 0)
			r = store(total, root, "class/infiniband_verbs", uverbs, dev_tree_walk_verbs, &e[i]);
		for (port = 0; port < e[i].nports && r == 0; port++)
			r = store_mad(total, root, &e[i], port);
		if (r == 0 && e[i].ndev)
			r = store(total, root, "class/net", e[i].ndev, dev_tree_walk_netdev, &nd);
		if (r == 0)
			r = store_node(total, root, uverbs);
	}
	return r;
}

/* umadN or issmN of one of its ports. */
static bool is_mad_name(const char *name, const struct dev_tree_entry *e)
{
	char text[32];

	for (unsigned port = 0; port < e->nports; port++) {
		snprintf(text, sizeof(text), "umad%u", e->index + port);
		if (strcmp(name, text) == 0)
			return true;
		snprintf(text, sizeof(text), "issm%u", e->index + port);
		if (e->ports[port].issm && strcmp(name, text) == 0)
			return true;
	}
	return false;
}

static bool wanted(const char *room, const char *name, const struct dev_tree_entry *e, unsigned n)
{
	char uverbs[32];
	unsigned i;

	if (strcmp(name, "abi_version") == 0)
		return true;
	for (i = 0; i < n; i++) {
		snprintf(uverbs, sizeof(uverbs), "uverbs%u", e[i].index);
		if ((strcmp(room, "class/infiniband") == 0 || strcmp(room, DEV_TREE_COUNTERS) == 0) &&
		    strcmp(name, e[i].name) == 0)
			return true;
		if (strcmp(room, "class/net") == 0 && e[i].ndev && strcmp(name, e[i].ndev) == 0)
			return true;
		if (strcmp(name, uverbs) == 0 || is_mad_name(name, &e[i]))
			return true;
	}
	return false;
}

/* One rename takes a device out of its directory before its files are removed. */
static int discard(const char *root, const char *room_path, const char *name)
{
	char path[PATH_MAX], gone[PATH_MAX];

	if (dev_tree_join(path, sizeof(path), room_path, name) < 0 ||
	    dev_tree_join(gone, sizeof(gone), root, ".new-gone") < 0)
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

	if (dev_tree_join(path, sizeof(path), root, room) < 0)
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (r == 0 && (d = readdir(dir))) {
		bool ours = *room ? d->d_name[0] != '.' : strncmp(d->d_name, ".new-", 5) == 0;

		if (ours && !wanted(room, d->d_name, e, n))
			r = discard(root, path, d->d_name);
	}
	closedir(dir);
	return r;
}

/* Removes stale devices, and the half-made ones of a writer that died (room ""). */
static int sweep(const char *root, const struct dev_tree_entry *e, unsigned n)
{
	static const char *const swept[] = {
		"", "class/infiniband", "class/infiniband_verbs", "class/infiniband_mad",
		"class/net", "dev/infiniband", DEV_TREE_COUNTERS,
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

	if (dev_tree_join(path, sizeof(path), root, ".lock") < 0)
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
		step = step < 4 ? step * 2 : step;
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
		r = dev_tree_join(path, sizeof(path), root, file[i][0]);
		if (r == 0 && access(path, F_OK) < 0)
			r = dev_tree_write_file(path, file[i][1], 2);
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
		if (dev_tree_join(path, sizeof(path), root, rooms[i]) < 0)
			return -ENAMETOOLONG;
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return write_abi(root);
}

static int update_locked(const char *root, const char *whole, const char *stamp_path, const char *stamp,
			 const struct dev_tree_entry *entries, unsigned n)
{
	struct dev_tree_sink files = { .counts = whole };
	int r;

	if (stamp_matches(stamp_path, stamp))
		return 0;
	/* From here until the new stamp the tree counts as unknown: after a writer that dies in
	 * between, the next one writes everything. */
	if (unlink(stamp_path) < 0 && errno != ENOENT)
		return -errno;
	r = dev_tree_prepare(root);
	if (r == 0)
		r = sweep(root, entries, n);
	if (r == 0)
		r = store_all(&files, root, entries, n);
	return r < 0 ? r : dev_tree_write_file(stamp_path, stamp, strlen(stamp));
}

int dev_tree_update(const char *root, const char *whole, const struct dev_tree_entry *entries, unsigned n)
{
	struct dev_tree_sink sum = { .hash = UINT64_C(0xcbf29ce484222325) };
	char stamp_path[PATH_MAX], stamp[64];
	int r, lock, saved = errno;

	r = store_all(&sum, NULL, entries, n);
	if (r == 0)
		r = dev_tree_join(stamp_path, sizeof(stamp_path), root, ".stamp");
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
	r = update_locked(root, whole, stamp_path, stamp, entries, n);
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
