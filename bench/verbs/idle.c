/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cost of idle connections: wake-ups, processor time, memory. */
#include "measure.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../limits/limit.h"
#include "ends.h"

/*
 * Voluntary context switches and processor time in ns of all threads of a process but the calling
 * one.
 */
static void sum_up(pid_t pid, double *switches, double *ns)
{
	char path[600], line[256];
	struct dirent *d;
	double on;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	ends_need(dir != NULL, path);
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.' || atoi(d->d_name) == gettid())
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, d->d_name);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (strstr(line, "voluntary_ctxt_switches:") == line)
				*switches += atof(strchr(line, ':') + 1);
		if (f)
			fclose(f);
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, d->d_name);
		f = fopen(path, "re");
		if (f && fscanf(f, "%lf", &on) == 1)
			*ns += on;
		if (f)
			fclose(f);
	}
	closedir(dir);
}

int measure_quiet(int argc, char **argv)
{
	int n = (int)lim_number(argc, argv, 0, 10);
	double seconds = lim_number(argc, argv, 1, 2), t, woken[2] = { 0 }, ns[2] = { 0 };
	int stay[2];
	struct ends e;
	char c;

	ends_need(!pipe(stay), "pipe");
	ends_open(&e, n, 64, 16, false);
	if (e.me == 1) {
		close(stay[1]);
		ends_need(read(stay[0], &c, 1) == 0, "pipe");
		ends_close(&e);
	}
	poll(NULL, 0, 1000); /* connecting leaves work behind for a moment */
	for (int i = 0; i < 2; i++) {
		sum_up(getpid(), &woken[i], &ns[i]);
		sum_up(e.other, &woken[i], &ns[i]);
		t = i ? lim_now() - t : lim_now();
		if (!i)
			poll(NULL, 0, (int)(seconds * 1000));
	}
	printf("%.3f\ncpu %.4f\n", (woken[1] - woken[0]) / t, (ns[1] - ns[0]) * 1e-6 / t);
	close(stay[1]);
	return ends_close(&e);
}

static double resident_kib(void)
{
	long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	ends_need(f && fscanf(f, "%ld %ld", &size, &pages) == 2, "statm");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static struct ibv_context *open_first(void)
{
	int n = 0;
	struct ibv_device **all = ibv_get_device_list(&n);

	ends_need(all && n > 0, "no device");
	return ibv_open_device(all[0]);
}

static void to_ready(struct ibv_qp *qp, uint32_t to)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	union ibv_gid gid;

	ends_need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				 IBV_QP_ACCESS_FLAGS), "INIT");
	ends_need(!ibv_query_gid(qp->context, 1, 0, &gid), "GID");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = to, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .hop_limit = 64 } } };
	ends_need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				 IBV_QP_MIN_RNR_TIMER), "RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1 };
	ends_need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

/* Pairs within this process, with queues of one entry, so that "beside its queues" is all of it. */
int measure_memory(int argc, char **argv)
{
	int n = ((int)lim_number(argc, argv, 0, 1000) + 1) / 2 * 2;
	struct ibv_context *c = open_first();
	struct ibv_pd *pd = c ? ibv_alloc_pd(c) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(c, 64, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp[2];
	double before = 0;

	ends_need(cq != NULL, "device");
	for (int i = 0; i < n + 2; i += 2) {
		if (i == 2)
			before = resident_kib();
		for (int k = 0; k < 2; k++)
			ends_need((qp[k] = ibv_create_qp(pd, &a)) != NULL, "queue pair");
		to_ready(qp[0], qp[1]->qp_num);
		to_ready(qp[1], qp[0]->qp_num);
	}
	printf("%.3f\n", (resident_kib() - before) / n);
	return 0; /* nothing is destroyed: the process ends */
}
