/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters as files: sums over processes, in place, whatever else the tree does; other releases' lines stay. */
#include "device/sysfs/counts.h"
#include "device/sysfs/tree.h"
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[] = "/tmp/unit-counts-XXXXXX";

static const char *path_of(const char *below)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, below);
	return path;
}

static uint64_t read_fd(int fd)
{
	char text[32] = "";

	CHECK(pread(fd, text, sizeof(text) - 1, 0) > 0);
	CHECK(strchr(text, '\n'));
	return strtoull(text, NULL, 10);
}

static uint64_t value(const char *file)
{
	char below[128];
	uint64_t v;
	int fd;

	snprintf(below, sizeof(below), "class/infiniband/dpl_t/ports/1/%s", file);
	fd = open(path_of(below), O_RDONLY);
	CHECK(fd >= 0);
	v = read_fd(fd);
	close(fd);
	return v;
}

static void write_tree(uint32_t lid)
{
	struct dev_tree_port port = { .state = "4: ACTIVE", .phys_state = "5: LinkUp", .rate = "10 Gb/sec (4X SDR)",
				      .link_layer = "Ethernet", .lid = lid, .counted = true };
	struct dev_tree_entry e = { .name = "dpl_t", .node_type = "1: CA", .ports = &port, .nports = 1 };

	CHECK(dev_tree_update(root, root, &e, 1) == 0);
}

static void names_of_the_kernel(void)
{
	uint64_t delta[ENG_C_COUNT] = { [ENG_C_tx_bytes] = 4000, [ENG_C_direct_tx_bytes] = 400, [ENG_C_tx_pkts] = 7,
					[ENG_C_rx_icrc_errors] = 2, [ENG_C_rnr_nak_sent] = 3 };

	CHECK(value("counters/port_xmit_data") == 0);
	CHECK(dev_counts_add(root, "dpl_t", delta, true) == 0);
	CHECK(value("counters/port_xmit_data") == 1100); /* units of four octets */
	CHECK(value("counters/port_xmit_packets") == 7);
	CHECK(value("counters/port_rcv_errors") == 2);
	CHECK(value("counters/symbol_error") == 0);
	CHECK(value("hw_counters/sent_pkts") == 7);
	CHECK(value("hw_counters/tx_pkts") == 7);
	CHECK(value("hw_counters/send_rnr_err") == 3);
	CHECK(value("hw_counters/out_of_buffer") == 3);
	CHECK(value("hw_counters/lifespan") == DEV_TREE_LIFESPAN_MS);
	CHECK(dev_counts_add(root, "dpl_u", delta, true) == -ENOENT);
}

/* perftest keeps the descriptor for its whole run. */
static void descriptor_stays(void)
{
	uint64_t delta[ENG_C_COUNT] = { [ENG_C_tx_pkts] = 100000000000 };
	int fd = open(path_of("class/infiniband/dpl_t/ports/1/counters/port_xmit_packets"), O_RDONLY);
	uint64_t before;

	CHECK(fd >= 0);
	before = read_fd(fd);
	CHECK(dev_counts_add(root, "dpl_t", delta, true) == 0);
	CHECK(read_fd(fd) == before + 100000000000);
	write_tree(5); /* the device's folder is another one now */
	CHECK(dev_counts_add(root, "dpl_t", delta, true) == 0);
	CHECK(read_fd(fd) == before + 200000000000);
	CHECK(value("counters/port_xmit_packets") == before + 200000000000);
	close(fd);
}

static void many_processes(void)
{
	uint64_t delta[ENG_C_COUNT] = { [ENG_C_rx_pkts] = 1 }, before = value("hw_counters/rx_pkts"), last = before, now;
	int status, left = 6;

	for (int i = 0; i < 6; i++)
		if (fork() == 0) {
			for (int k = 0; k < 50; k++)
				while (dev_counts_add(root, "dpl_t", delta, true) == -EAGAIN)
					;
			_exit(0);
		}
	/* A reader beside them sees numbers that only grow. */
	while (left) {
		now = value("hw_counters/rx_pkts");
		CHECK(now >= last && now <= before + 300);
		last = now;
		while (waitpid(-1, &status, WNOHANG) > 0) {
			CHECK(status == 0);
			left--;
		}
	}
	CHECK(value("hw_counters/rx_pkts") == before + 300);
}

/* A writer that holds the lock, stopped for instance, is not waited for without end; nothing is lost. */
static void lock_is_held(void)
{
	uint64_t delta[ENG_C_COUNT] = { [ENG_C_tx_pkts] = 1 }, before = value("hw_counters/tx_pkts");
	int fd = open(path_of(DEV_TREE_COUNTERS "/dpl_t/sum"), O_RDWR);

	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	CHECK(dev_counts_add(root, "dpl_t", delta, false) == -EAGAIN);
	CHECK(dev_counts_add(root, "dpl_t", delta, true) == -EAGAIN);
	close(fd);
	CHECK(value("hw_counters/tx_pkts") == before);
	CHECK(dev_counts_add(root, "dpl_t", delta, false) == 0);
	CHECK(value("hw_counters/tx_pkts") == before + 1);
}

/* The sum is text of another process, and of another release. */
static void foreign_lines(void)
{
	static const char foreign[] = "of_a_later_release 17\nnonsense\ntx_pkts 5\ntx_pkts 9\n 3\n";
	uint64_t delta[ENG_C_COUNT] = { [ENG_C_tx_pkts] = 1 };
	char text[8192] = "";
	int fd = open(path_of(DEV_TREE_COUNTERS "/dpl_t/sum"), O_RDWR | O_TRUNC);

	CHECK(fd >= 0 && write(fd, foreign, sizeof(foreign) - 1) == (ssize_t)sizeof(foreign) - 1);
	CHECK(dev_counts_add(root, "dpl_t", delta, true) == 0);
	CHECK(pread(fd, text, sizeof(text) - 1, 0) > 0);
	CHECK(strstr(text, "of_a_later_release 17\n") && strstr(text, "\ntx_pkts 6\n"));
	close(fd);
}

static void gone_device(void)
{
	CHECK(dev_tree_update(root, root, NULL, 0) == 0);
	CHECK(access(path_of("class/infiniband/dpl_t"), F_OK) < 0);
	CHECK(access(path_of(DEV_TREE_COUNTERS "/dpl_t"), F_OK) < 0);
	write_tree(0);
	CHECK(value("counters/port_xmit_packets") == 0);
}

int main(void)
{
	CHECK(mkdtemp(root));
	write_tree(0);
	names_of_the_kernel();
	descriptor_stays();
	many_processes();
	lock_is_held();
	foreign_lines();
	gone_device();
	CHECK(dev_tree_remove(root) == 0);
	return 0;
}
