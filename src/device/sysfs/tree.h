/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DEVICE_SYSFS_TREE_H
#define DEVICE_SYSFS_TREE_H

/*
 * The stand-in for /sys/class/infiniband*, and /dev/infiniband: a directory
 * tree per network namespace below the runtime directory, with the files that
 * libibumad, UCX, hwloc and the shell scripts read themselves.
 *
 * Readers take no lock.  A device appears, changes and disappears by one
 * rename, so no reader sees half of one; the directories above the devices are
 * never replaced, so that a bind mount on them stays true.  Writers take turns
 * by a lock file.  The description must be of all devices of the namespace
 * whatever the process shows to its program: what is missing in it is removed
 * as stale. A program that is shown less reads a view (util/rundir.h), a tree of the same form below this one.
 */

#include <stdbool.h>
#include <stdint.h>

#define DEV_TREE_LIFESPAN_MS 5000u /* how old a counter may be (hw_counters/lifespan) */
#define DEV_TREE_COUNTERS ".counters" /* below root; counts.h */

struct dev_tree_gid {
	uint8_t raw[16];
	const char *type;	/* "RoCE v2", "IB/RoCE v1" */
	const char *ndev;	/* interface of this GID, or NULL */
};

struct dev_tree_port {
	const char *state;	/* "4: ACTIVE" */
	const char *phys_state;	/* "5: LinkUp" */
	const char *rate;	/* "10 Gb/sec (4X SDR)" */
	const char *link_layer;	/* "Ethernet", "InfiniBand" */
	uint32_t lid, lid_mask_count, sm_lid, sm_sl;
	uint32_t cap_mask;
	const struct dev_tree_gid *gids;
	unsigned ngids;
	const uint16_t *pkeys;
	unsigned npkeys;
	bool counted; /* has the files of counts.h */
	const char *issm;	/* the file to which issmN leads, or NULL: a port without a subnet manager */
};

struct dev_tree_entry {
	const char *name;	/* dpl_roce_lo */
	unsigned index;		/* N of uverbsN, and of umadN and issmN of the first port; unique */
	const char *node_type;	/* "1: CA", "4: RNIC" */
	uint64_t node_guid;	/* host order */
	uint64_t sys_image_guid;
	const char *node_desc;
	const char *node_desc_file;	/* what node_desc leads to, so that it can be written; NULL: it has node_desc itself */
	const char *fw_ver, *hw_rev, *hca_type, *board_id;	/* NULL: no such file */
	const char *ndev;	/* interface below, or NULL */
	bool is_switch;		/* its one port is port 0 */
	const struct dev_tree_port *ports;	/* ports[0] is port 1 */
	unsigned nports;
};

/*
 * Makes the tree at root (an absolute path; its parent exists) agree with the description. Cheap if
 * it does already. whole: root itself, or, for a view of it, the tree whose counters it shows, which is up to date.
 * Returns 0, -EAGAIN if another writer did not finish in two seconds, or another
 * negative errno; then the former tree is whole, device by device.
 */
int dev_tree_update(const char *root, const char *whole, const struct dev_tree_entry *entries, unsigned n);

/* Makes only the empty directories, for launchers that bind or show them. Returns 0 or -errno. */
int dev_tree_prepare(const char *root);

/* Removes the tree with everything in it.  Returns 0 or -errno. */
int dev_tree_remove(const char *root);

#endif
