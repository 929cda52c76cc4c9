/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/sysfs/counts.h"

#include "device/sys.h"
#include "device/sysfs/tree.h"
#include "util/filesize.h"
#include "util/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUM_MAX 8192 /* octets of a sum file */
#define LOCK_WAIT_MS 100
#define LINE_STEP 8 /* octets by which the file of a number grows */
#define LINE_MAX_LEN 24
#define PATH_ROOM (UT_RUNDIR_MAX + 160)

#define C(name) ENG_C_##name
static const struct dev_count_row rows[] = {
	/* IBTA tables 247 and 256 (PortCounters, PortCountersExtended), under the kernel's names. */
	{ "port_xmit_data", false, 2, 4, { C(tx_bytes), C(direct_tx_bytes) } },
	{ "port_rcv_data", false, 2, 4, { C(rx_bytes), C(direct_rx_bytes) } },
	{ "port_xmit_packets", false, 1, 1, { C(tx_pkts) } },
	{ "port_rcv_packets", false, 1, 1, { C(rx_pkts) } },
	{ "port_rcv_errors", false, 2, 1, { C(rx_short), C(rx_icrc_errors) } },
	{ "port_rcv_constraint_errors", false, 1, 1, { C(rx_bad_pkey) } },
	{ "port_xmit_discards", false, 1, 1, { C(tx_faults) } },
	/* What a port without a physical layer, virtual lanes and credits of its own has none of. */
	{ "VL15_dropped", false, 0, 1, { 0 } },
	{ "excessive_buffer_overrun_errors", false, 0, 1, { 0 } },
	{ "link_error_recovery", false, 0, 1, { 0 } },
	{ "local_link_integrity_errors", false, 0, 1, { 0 } },
	{ "port_rcv_remote_physical_errors", false, 0, 1, { 0 } },
	{ "port_rcv_switch_relay_errors", false, 0, 1, { 0 } },
	{ "port_xmit_constraint_errors", false, 0, 1, { 0 } },
	{ "port_xmit_wait", false, 0, 1, { 0 } },
	{ "symbol_error", false, 0, 1, { 0 } },
	/* rdma_rxe */
	{ "sent_pkts", true, 1, 1, { C(tx_pkts) } },
	{ "rcvd_pkts", true, 1, 1, { C(rx_pkts) } },
	{ "out_of_seq_request", true, 1, 1, { C(out_of_sequence) } },
	{ "rcvd_rnr_err", true, 1, 1, { C(rnr_nak_retry_err) } },
	{ "send_rnr_err", true, 1, 1, { C(rnr_nak_sent) } },
	{ "rcvd_seq_err", true, 1, 1, { C(packet_seq_err) } },
	{ "ack_deferred", true, 1, 1, { C(acks_deferred) } },
	{ "send_err", true, 1, 1, { C(tx_faults) } },
	/* mlx5_ib */
	{ "out_of_buffer", true, 2, 1, { C(rnr_nak_sent), C(rx_no_wqe) } },
	{ "rx_icrc_encapsulated", true, 1, 1, { C(rx_icrc_errors) } },
};
#undef C
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

const struct dev_count_row *dev_count_row(unsigned i, struct dev_count_row *buf)
{
	if (i < N_ROWS)
		return &rows[i];
	if (i - N_ROWS >= ENG_C_COUNT)
		return NULL;
	*buf = (struct dev_count_row){ .file = eng_counter_rows[i - N_ROWS].name, .hw = true, .n = 1, .divisor = 1,
				       .from = { (enum eng_counter)(i - N_ROWS) } };
	return buf;
}

static uint64_t value_of(const struct dev_count_row *r, const uint64_t sum[ENG_C_COUNT])
{
	uint64_t v = 0;

	for (unsigned i = 0; i < r->n; i++)
		v += sum[r->from[i]];
	return v / r->divisor;
}

/* --- files --- */

static int folder_of(char ret[PATH_ROOM], const char *root, const char *dev)
{
	int n = snprintf(ret, PATH_ROOM, "%s/" DEV_TREE_COUNTERS "/%s", root, dev);

	return n < 0 || n >= PATH_ROOM - 100 ? -ENAMETOOLONG : 0;
}

static int open_in(const char *folder, const struct dev_count_row *r, int flags)
{
	char path[PATH_ROOM + 100];

	snprintf(path, sizeof(path), "%s/%s/%s", folder, r ? r->hw ? "h" : "p" : ".", r ? r->file : "sum");
	return (int)DEV_SYS(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
}

static int write_at_start(int fd, const char *text, size_t n)
{
	long r = DEV_SYS(SYS_pwrite64, fd, text, n, 0);

	return r < 0 ? (int)r : r == (long)n ? 0 : -ENOSPC;
}

/* A file that grew with its number would show a reader beside the writer the first digits alone. So it has room ahead:
 * the number, and line ends up to a multiple of LINE_STEP. Returns the length. */
static size_t line(char text[LINE_MAX_LEN], uint64_t v)
{
	int n = snprintf(text, LINE_MAX_LEN, "%" PRIu64, v);

	memset(text + n, '\n', LINE_MAX_LEN - (size_t)n);
	return ((size_t)n + LINE_STEP) / LINE_STEP * LINE_STEP;
}

static int make_folder(const char *folder, const char *part)
{
	char path[PATH_ROOM + 100];

	snprintf(path, sizeof(path), "%s%s", folder, part);
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int make_file(const char *folder, const struct dev_count_row *r)
{
	int fd = open_in(folder, r, O_WRONLY | O_CREAT | O_EXCL), n = 0;
	char text[LINE_MAX_LEN];
	size_t len = line(text, 0);

	if (fd < 0)
		return fd == -EEXIST ? 0 : fd;
	if (r)
		n = write_at_start(fd, text, r->n ? len : strlen("0\n")); /* without sources it stays zero */
	ut_close(fd);
	return n;
}

int dev_counts_prepare(const char *root, const char *dev)
{
	char folder[PATH_ROOM];
	struct dev_count_row buf;
	const struct dev_count_row *row;
	int r = folder_of(folder, root, dev);

	if (r == 0)
		r = make_folder(root, "/" DEV_TREE_COUNTERS);
	if (r == 0)
		r = make_folder(folder, "");
	if (r == 0)
		r = make_folder(folder, "/p");
	if (r == 0)
		r = make_folder(folder, "/h");
	if (r == 0)
		r = make_file(folder, NULL);
	for (unsigned i = 0; r == 0 && (row = dev_count_row(i, &buf)); i++)
		r = make_file(folder, row);
	return r;
}

/* --- the sum --- */

struct sum {
	uint64_t old[ENG_C_COUNT], now[ENG_C_COUNT];
	bool known[ENG_C_COUNT]; /* has a line */
	char text[SUM_MAX];
	size_t len;
};

static int index_of(const char *name, size_t n)
{
	for (int i = 0; i < ENG_C_COUNT; i++)
		if (strlen(eng_counter_rows[i].name) == n && !memcmp(eng_counter_rows[i].name, name, n))
			return i;
	return -1;
}

static void add_line(struct sum *s, const char *name, size_t n, uint64_t value)
{
	int k = snprintf(s->text + s->len, SUM_MAX - s->len, "%.*s %" PRIu64 "\n", (int)n, name, value);

	if (k > 0 && (size_t)k < SUM_MAX - s->len)
		s->len += (size_t)k;
}

/* Lines of other releases stay as they are. */
static void merge(struct sum *s, const char *old, const uint64_t delta[ENG_C_COUNT])
{
	while (*old) {
		const char *end = strchrnul(old, '\n'), *blank = memchr(old, ' ', (size_t)(end - old));
		int i = blank ? index_of(old, (size_t)(blank - old)) : -1;

		if (i >= 0 && !s->known[i]) {
			s->known[i] = true;
			s->old[i] = strtoull(blank + 1, NULL, 10);
			s->now[i] = s->old[i] + delta[i];
			add_line(s, old, (size_t)(blank - old), s->now[i]);
		} else if (blank && i < 0) {
			add_line(s, old, (size_t)(blank - old), strtoull(blank + 1, NULL, 10));
		}
		old = *end ? end + 1 : end;
	}
	for (int i = 0; i < ENG_C_COUNT; i++)
		if (!s->known[i]) {
			s->now[i] = delta[i];
			add_line(s, eng_counter_rows[i].name, strlen(eng_counter_rows[i].name), s->now[i]);
		}
}

static int read_sum(int fd, char text[SUM_MAX])
{
	long n = DEV_SYS(SYS_pread64, fd, text, SUM_MAX - 1, 0);

	if (n < 0)
		return (int)n;
	text[n] = 0;
	return 0;
}

static void show(const char *folder, const struct dev_count_row *r, const struct sum *s)
{
	char text[LINE_MAX_LEN];
	uint64_t v = value_of(r, s->now);
	size_t was = line(text, value_of(r, s->old)), n = line(text, v);
	int fd;

	if (v == value_of(r, s->old))
		return;
	fd = open_in(folder, r, O_WRONLY);
	if (fd < 0)
		return;
	if (n > was)
		DEV_SYS(SYS_pwrite64, fd, text + was, n - was, was);
	write_at_start(fd, text, n);
	ut_close(fd);
}

static int add(const char *folder, int fd, const uint64_t delta[ENG_C_COUNT])
{
	char old[SUM_MAX];
	struct dev_count_row buf;
	const struct dev_count_row *row;
	struct sum s = { .len = 0 };
	int r = read_sum(fd, old);

	if (r < 0)
		return r;
	merge(&s, old, delta);
	r = ut_file_fits(s.len) ? write_at_start(fd, s.text, s.len) : -EFBIG;
	if (r == 0 && s.len < strlen(old)) /* lines of no form are left out */
		r = (int)DEV_SYS(SYS_ftruncate, fd, s.len);
	for (unsigned i = 0; r == 0 && (row = dev_count_row(i, &buf)); i++)
		show(folder, row, &s);
	return r;
}

/* A stopped process may hold the lock: the wait has an end. */
static int lock_sum(int fd, bool wait)
{
	const struct timespec step = { 0, 1000000 };
	long r = DEV_SYS(SYS_flock, fd, LOCK_EX | LOCK_NB);

	for (int i = 0; r == -EAGAIN && wait && i < LOCK_WAIT_MS; i++) {
		DEV_SYS(SYS_nanosleep, &step, NULL);
		r = DEV_SYS(SYS_flock, fd, LOCK_EX | LOCK_NB);
	}
	return (int)r;
}

int dev_counts_add(const char *root, const char *dev, const uint64_t delta[ENG_C_COUNT], bool wait)
{
	char folder[PATH_ROOM];
	int r = folder_of(folder, root, dev), fd;

	if (r < 0)
		return r;
	fd = open_in(folder, NULL, O_RDWR);
	if (fd < 0)
		return fd;
	r = lock_sum(fd, wait);
	if (r == 0)
		r = add(folder, fd, delta);
	ut_close(fd);
	return r;
}
