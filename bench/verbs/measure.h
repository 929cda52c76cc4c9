/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The modes of bench-verbs; each gets the words after its name. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

int measure_lat(int argc, char **argv);
int measure_tail(int argc, char **argv);
int measure_passive(int argc, char **argv);
int measure_bw(int argc, char **argv);
int measure_rate(int argc, char **argv);
int measure_quiet(int argc, char **argv);
int measure_memory(int argc, char **argv);
int measure_rounds(int argc, char **argv);
int measure_spin(int argc, char **argv);

#endif
