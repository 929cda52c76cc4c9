/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

/*
 * Writes device trees for the tests of the preload and of --isolate:
 *
 *   tool_tree ROOT N        two ports' worth of N adapters
 *   tool_tree ROOT race     many processes write different trees at once while
 *                           one reads; no reader may see half a device
 *   tool_tree rundir        prints the runtime directory, or why not (status 1)
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/sysfs/tree.h"
#include "util/rundir.h"

#define MAX 4

static struct dev_tree_gid gid = { .type = "RoCE v2", .ndev = "lo" };
static const uint16_t pkeys[] = { 0xffff };

static int write_tree(const char *root, unsigned n, uint32_t lid)
{
	struct dev_tree_port port = {
		.state = "4: ACTIVE", .phys_state = "5: LinkUp", .rate = "10 Gb/sec (4X SDR)",
		.link_layer = "Ethernet", .lid = lid, .gids = &gid, .ngids = 1, .pkeys = pkeys,
		.npkeys = 1, .counted = true,
	};
	struct dev_tree_entry e[MAX];
	char names[MAX][16];
	unsigned i;

	gid.raw[10] = gid.raw[11] = 0xff;
	gid.raw[12] = 127;
	gid.raw[15] = 1;
	for (i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "dpl_t%u", i);
		e[i] = (struct dev_tree_entry){
			.name = names[i], .index = i, .node_type = "1: CA",
			.node_guid = 0x0200000000000000 + i, .node_desc = "dapple",
			.ndev = "lo", .ports = &port, .nports = 1,
		};
	}
	return dev_tree_update(root, root, e, n);
}

/* A device that is there is whole.  One that was replaced while we looked is
 * being taken apart, and does not count: it is no longer at its path. */
static int look(const char *root)
{
	struct stat here, there;
	char path[512];
	int all;

	snprintf(path, sizeof(path), "%s/class/infiniband/dpl_t0", root);
	if (chdir(path) < 0) {
		fprintf(stderr, "a device that is never removed is not there\n");
		return 1;
	}
	all = access("node_type", F_OK) == 0 && access("device/net/lo", F_OK) == 0 &&
	      access("ports/1/counters/port_xmit_packets", F_OK) == 0;
	if (all || stat(".", &here) < 0 || stat(path, &there) < 0 || here.st_ino != there.st_ino)
		return 0;
	fprintf(stderr, "a device that is not whole\n");
	return 1;
}

/* Another writer may keep the lock too long for us: that is said, not hidden. */
static int write_patiently(const char *root, unsigned n, uint32_t lid)
{
	int r;

	do
		r = write_tree(root, n, lid);
	while (r == -EAGAIN);
	if (r < 0)
		fprintf(stderr, "writing failed: %s\n", strerror(-r));
	return r;
}

static int race(const char *root)
{
	int fault = 0, i, k, status;
	char path[512];

	if (write_tree(root, 1, 0) != 0)
		return 1;
	for (i = 0; i < 4; i++)
		if (fork() == 0) {
			for (k = 0; k < 15; k++)
				if (write_patiently(root, 1 + (unsigned)(i + k) % 3, (uint32_t)k) != 0)
					_exit(1);
			_exit(0);
		}
	if (fork() == 0) {
		for (k = 0; k < 500 && !fault; k++)
			fault = look(root);
		_exit(fault);
	}
	for (i = 0; i < 5; i++)
		if (wait(&status) < 0 || status != 0)
			fault = 1;
	if (write_patiently(root, 2, 77) != 0)
		fault = 1;
	snprintf(path, sizeof(path), "%s/class/infiniband/dpl_t2", root);
	if (access(path, F_OK) == 0) {
		fprintf(stderr, "a stale device is left\n");
		fault = 1;
	}
	return fault;
}

int main(int argc, char **argv)
{
	char path[UT_RUNDIR_MAX], why[300];
	int n;

	if (argc == 2 && strcmp(argv[1], "rundir") == 0) {
		n = ut_rundir(path, sizeof(path), why, sizeof(why));
		puts(n < 0 ? why : path);
		return n < 0;
	}
	if (argc != 3)
		return 2;
	if (strcmp(argv[2], "race") == 0)
		return race(argv[1]);
	n = atoi(argv[2]);
	return n < 0 || n > MAX || write_tree(argv[1], (unsigned)n, 0) != 0;
}
