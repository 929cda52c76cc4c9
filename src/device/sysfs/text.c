/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/sysfs/text.h"

#include "device/sysfs/counts.h"
#include "device/sysfs/tree.h"
#include "util/filesize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void dev_tree_hash(struct dev_tree_sink *s, const char *p, size_t n)
{
	while (n--)
		s->hash = (s->hash ^ (unsigned char)*p++) * UINT64_C(0x100000001b3);
}

int dev_tree_join(char *out, size_t size, const char *a, const char *b)
{
	int n = snprintf(out, size, "%s/%s", a, b);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Makes every directory between base and the last component of path. */
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

int dev_tree_write_file(const char *path, const char *text, size_t len)
{
	int fd, r = 0;

	if (!ut_file_fits(len))
		return -EFBIG;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
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

/* A file system without hard links shows zeros. */
static int make_link(const struct dev_tree_sink *s, const char *target, const char *path)
{
	char from[PATH_MAX];
	int r = dev_tree_join(from, sizeof(from), s->counts, target);

	if (r < 0 || link(from, path) == 0 || errno == EEXIST)
		return r;
	return dev_tree_write_file(path, "0\n", 2);
}

static int make_entry(const struct dev_tree_sink *s, const char *path, const char *content, size_t len)
{
	switch (content[0]) {
	case '/':
		return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
	case '@':
		return symlink(content + 1, path) < 0 && errno != EEXIST ? -errno : 0;
	case '&':
		return make_link(s, content + 1, path);
	default:
		return dev_tree_write_file(path, content, len);
	}
}

/* A file that says the same already becomes this one as well: inodes are dear on some file systems. */
static bool take_over(const struct dev_tree_sink *s, const char *name, const char *path, const char *content, size_t len)
{
	char from[PATH_MAX], have[512];
	ssize_t n;
	int fd;

	if (!s->former || len >= sizeof(have) || strchr("/@&", content[0]) || dev_tree_join(from, sizeof(from), s->former, name) < 0)
		return false;
	fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	n = read(fd, have, sizeof(have));
	close(fd);
	return n == (ssize_t)len && !memcmp(have, content, len) && link(from, path) == 0;
}

/* content "/" makes a directory, "@target" a symbolic link, "&target" a hard link to a file below the root. */
static void put_raw(struct dev_tree_sink *s, const char *name, const char *content, size_t len)
{
	char path[PATH_MAX];
	int r;

	dev_tree_hash(s, name, strlen(name) + 1);
	dev_tree_hash(s, content, len + 1);
	if (!s->base || s->error)
		return;
	r = dev_tree_join(path, sizeof(path), s->base, name);
	if (r == 0)
		r = take_over(s, name, path, content, len) ? 0 : make_entry(s, path, content, len);
	/* The first file of a directory finds that it is not there. */
	if (r == -ENOENT) {
		r = make_parents(path, strlen(s->base));
		r = r < 0 ? r : make_entry(s, path, content, len);
	}
	s->error = r;
}

__attribute__((format(printf, 3, 4)))
static void put(struct dev_tree_sink *s, const char *name, const char *fmt, ...)
{
	char text[1100];
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

/* An optional line: no file without a value. */
static void put_line(struct dev_tree_sink *s, const char *name, const char *line)
{
	if (line)
		put(s, name, "%s\n", line);
}

static void put_guid(struct dev_tree_sink *s, const char *name, uint64_t g)
{
	put(s, name, "%04x:%04x:%04x:%04x\n", (unsigned)(g >> 48) & 0xffff,
	    (unsigned)(g >> 32) & 0xffff, (unsigned)(g >> 16) & 0xffff, (unsigned)g & 0xffff);
}

static void walk_gids(struct dev_tree_sink *s, const struct dev_tree_port *p, unsigned num)
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

static void walk_counters(struct dev_tree_sink *s, const char *dev, unsigned num)
{
	const struct dev_count_row *row;
	struct dev_count_row buf;
	char name[128];

	for (unsigned i = 0; (row = dev_count_row(i, &buf)); i++) {
		snprintf(name, sizeof(name), "ports/%u/%s/%s", num, row->hw ? "hw_counters" : "counters", row->file);
		put(s, name, "&" DEV_TREE_COUNTERS "/%s/%c/%s", dev, row->hw ? 'h' : 'p', row->file);
	}
	snprintf(name, sizeof(name), "ports/%u/hw_counters/lifespan", num);
	put(s, name, "%u\n", DEV_TREE_LIFESPAN_MS);
}

static void walk_port(struct dev_tree_sink *s, const char *dev, const struct dev_tree_port *p, unsigned num)
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
	if (p->counted)
		walk_counters(s, dev, num);
}

void dev_tree_walk_device(struct dev_tree_sink *s, const void *object)
{
	const struct dev_tree_entry *e = object;
	char name[300];
	unsigned i;

	put_line(s, "node_type", e->node_type);
	if (e->node_desc_file)
		put(s, "node_desc", "@%s", e->node_desc_file);
	else
		put_line(s, "node_desc", e->node_desc);
	put_line(s, "fw_ver", e->fw_ver);
	put_line(s, "hw_rev", e->hw_rev);
	put_line(s, "hca_type", e->hca_type);
	put_line(s, "board_id", e->board_id);
	put_guid(s, "node_guid", e->node_guid);
	put_guid(s, "sys_image_guid", e->sys_image_guid);
	/* hwloc shows a device whose `device` is a symbolic link, and not one into /sys/devices/virtual. */
	put(s, "device", "@.device");
	put(s, ".device/numa_node", "-1\n");
	if (e->ndev) {
		snprintf(name, sizeof(name), ".device/net/%s", e->ndev);
		put_raw(s, name, "/", 1);
	}
	for (i = 0; i < e->nports; i++)
		walk_port(s, e->name, &e->ports[i], i + !e->is_switch);
}

void dev_tree_walk_verbs(struct dev_tree_sink *s, const void *object)
{
	const struct dev_tree_entry *e = object;

	put_line(s, "ibdev", e->name);
	put_line(s, "abi_version", "1");
	put_line(s, "dev", "1:3");	/* the node stands for /dev/null */
}

void dev_tree_walk_mad(struct dev_tree_sink *s, const void *object)
{
	const struct dev_tree_mad *m = object;

	put_line(s, "ibdev", m->entry->name);
	put(s, "port", "%u\n", m->port + !m->entry->is_switch);
	put_line(s, "dev", "1:3");
}

/* One interface may have adapters of several kinds. */
void dev_tree_walk_netdev(struct dev_tree_sink *s, const void *object)
{
	const struct dev_tree_netdev *nd = object;
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
