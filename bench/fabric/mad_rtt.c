/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Round trips of MADs through libibumad, one after the other: NodeInfo by a directed route of one hop, from port 1 of the
 * first adapter to the switch and back. The same program runs on a soft fabric and on ibsim (LD_PRELOAD of umad2sim).
 *
 *	bench-mad-rtt [COUNT]		median and 99th percentile in microseconds, processor time of each in ns
 */
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAD 256
#define QP0 0
#define CLASS_DIRECTED 0x81
#define NODE_INFO 0x11
#define TIMEOUT_MS 5000

static double clock_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void fail(const char *what)
{
	fprintf(stderr, "bench-mad-rtt: %s\n", what);
	exit(1);
}

/* Fields of IBTA vol 1, 14.2.1.2: one hop, out by port 1. */
static void fill(uint8_t *mad, uint32_t tid)
{
	memset(mad, 0, MAD);
	mad[0] = 1;
	mad[1] = CLASS_DIRECTED;
	mad[2] = 1;
	mad[3] = 1;
	mad[7] = 1;		/* HopCount */
	memcpy(mad + 12, &tid, sizeof(tid));
	mad[17] = NODE_INFO;
	memset(mad + 32, 0xff, 4);
	mad[129] = 1;		/* InitialPath[1] */
}

static double round_trip(int port, int agent, void *umad, uint32_t tid)
{
	uint8_t *mad = umad_get_mad(umad);
	double begun = clock_us(CLOCK_MONOTONIC);
	int length = MAD;

	fill(mad, tid);
	umad_set_addr(umad, 0xffff, QP0, 0, 0);
	if (umad_send(port, agent, umad, MAD, TIMEOUT_MS, 0) < 0)
		fail("a MAD cannot be sent");
	if (umad_recv(port, umad, &length, TIMEOUT_MS) < 0 || umad_status(umad) || !(mad[3] & 0x80) || mad[64 + 2] != 2)
		fail("no answer of a switch has come");
	return clock_us(CLOCK_MONOTONIC) - begun;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 20000, i;
	double *us = calloc(n ? n : 1, sizeof(*us)), cpu;
	int port, agent;
	void *umad;

	if (umad_init() < 0)
		fail("libibumad cannot be used");
	port = umad_open_port(NULL, 0);
	agent = port < 0 ? -1 : umad_register(port, CLASS_DIRECTED, 1, 0, NULL);
	umad = umad_alloc(1, umad_size() + MAD);
	if (agent < 0 || !umad || !us || !n)
		fail("the port cannot be opened");
	for (i = 0; i < 100; i++)
		round_trip(port, agent, umad, i + 1);
	cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	for (i = 0; i < n; i++)
		us[i] = round_trip(port, agent, umad, i + 101);
	cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	qsort(us, n, sizeof(*us), by_value);
	printf("%.2f %.2f %.0f\n", us[n / 2], us[n - 1 - n / 100], cpu * 1e3 / n);
	return 0;
}
