/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DEVICE_SYSFS_TEXT_H
#define DEVICE_SYSFS_TEXT_H

/*
 * The contents of the files of the device tree, apart from how they get on disk: a walk describes
 * one object as a row of (path, content) pairs to a sink, which hashes them and, if it has a
 * directory, writes them.
 */

#include <stddef.h>
#include <stdint.h>

struct dev_tree_entry;

struct dev_tree_sink {
	uint64_t hash;		/* FNV-1a over all paths and contents */
	const char *base;	/* directory to write below; NULL: only hash */
	const char *former;	/* the object that it takes the place of: files that are equal are those; NULL: none */
	const char *counts;	/* root of the tree that has the counters */
	int error;		/* the first error; later calls do nothing */
};

/* A port of a device: object of dev_tree_walk_mad(). */
struct dev_tree_mad {
	const struct dev_tree_entry *entry;
	unsigned port;		/* index in entry->ports */
};

/* An interface that has adapters: object of dev_tree_walk_netdev(). */
struct dev_tree_netdev {
	const struct dev_tree_entry *entries;
	unsigned n;
	const char *ifname;
};

typedef void dev_tree_walk_fn(struct dev_tree_sink *s, const void *object);

dev_tree_walk_fn dev_tree_walk_device;	/* struct dev_tree_entry */
dev_tree_walk_fn dev_tree_walk_verbs;	/* struct dev_tree_entry */
dev_tree_walk_fn dev_tree_walk_mad;	/* struct dev_tree_mad */
dev_tree_walk_fn dev_tree_walk_netdev;	/* struct dev_tree_netdev */

void dev_tree_hash(struct dev_tree_sink *s, const char *bytes, size_t n);

/* All walks: paths and files below the object. Return 0 or negative errno. */
int dev_tree_join(char *ret, size_t size, const char *a, const char *b);
int dev_tree_write_file(const char *path, const char *text, size_t len);

#endif
