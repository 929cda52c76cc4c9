/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A driver for fuzz targets where there is no libFuzzer: any target, any compiler.
 *
 *	target [--seed N] [--runs N] [--max-len N] FILE|FOLDER ...
 *
 * Replays every file, then runs N mutations of them. The same seed gives the same inputs, `random`
 * takes a seed from the kernel. If an input crashes the target, the last line has seed and run, and
 * the input is in crash-RUN.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
	__attribute__((weak));

enum { MAX_SEEDS = 4096, MAX_LEN = 1 << 16 };

struct seed {
	uint8_t *data;
	size_t size;
};

static struct seed seeds[MAX_SEEDS];
static size_t nr_seeds;
static size_t max_len = 4096;
static uint64_t rng_state;

/* The present input, for the report of a crash. */
static uint8_t input[MAX_LEN];
static volatile size_t input_len;
static volatile uint64_t run_now, seed_now;

static uint64_t rng(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void on_crash(int sig)
{
	char name[40], text[120];
	int fd, n;

	/* Not safe in a signal handler, but the process ends here in any case. */
	snprintf(name, sizeof(name), "crash-%llu", (unsigned long long)run_now);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0 && write(fd, input, input_len) < 0)
		name[0] = 0;
	n = snprintf(text, sizeof(text), "signal %d in run %llu of seed %llu, input in %s\n", sig,
		     (unsigned long long)run_now, (unsigned long long)seed_now, name);
	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static int load_file(const char *path)
{
	FILE *f = fopen(path, "rbe");
	struct seed *s = &seeds[nr_seeds];

	if (!f || nr_seeds == MAX_SEEDS) {
		perror(path);
		if (f)
			fclose(f);
		return -1;
	}
	s->data = malloc(MAX_LEN);
	s->size = s->data ? fread(s->data, 1, MAX_LEN, f) : 0;
	fclose(f);
	if (!s->data)
		return -1;
	nr_seeds++;
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Folders in order of names, so that a seed gives the same inputs on each machine. */
static int load(const char *path)
{
	struct dirent **entries;
	struct stat st;
	int n, err = 0;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return load_file(path);
	n = scandir(path, &entries, NULL, by_name);
	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && load_file(file))
			err = -1;
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return n < 0 ? -1 : err;
}

/* Without knowledge of the format: flip, set, cut, grow, copy a piece of another seed over this one. */
static size_t mutate_bytes(uint8_t *data, size_t size, size_t max)
{
	const struct seed *other = &seeds[rng() % nr_seeds];
	size_t at = size ? rng() % size : 0, n;

	switch (rng() % 5) {
	case 0:
		if (size)
			data[at] ^= (uint8_t)(1 << rng() % 8);
		return size;
	case 1:
		if (size)
			data[at] = (uint8_t)rng();
		return size;
	case 2:
		return at;
	case 3:
		n = rng() % 64;
		for (; n && size < max; n--)
			data[size++] = (uint8_t)rng();
		return size;
	default:
		n = other->size ? rng() % other->size : 0;
		if (n > size - at)
			n = size - at;
		memcpy(data + at, other->data, n);
		return size;
	}
}

static void run_mutation(void)
{
	const struct seed *s = &seeds[rng() % nr_seeds];
	size_t len = s->size < max_len ? s->size : max_len;

	memcpy(input, s->data, len);
	for (unsigned k = 1 + rng() % 4; k; k--) {
		if (LLVMFuzzerCustomMutator && rng() % 2)
			len = LLVMFuzzerCustomMutator(input, len, max_len, (unsigned)rng());
		else
			len = mutate_bytes(input, len, max_len);
	}
	input_len = len;
	LLVMFuzzerTestOneInput(input, len);
}

static int usage(const char *self)
{
	fprintf(stderr, "usage: %s [--seed N] [--runs N] [--max-len N] FILE|FOLDER ...\n", self);
	return 2;
}

static void random_seed(void)
{
	uint32_t v = 0;

	if (getrandom(&v, sizeof(v), 0) != sizeof(v))
		v = (uint32_t)getpid();
	rng_state = v;
	printf("seed %u\n", v);
	fflush(stdout);
}

/* Reads options and files. Returns 0, or -1 on a usage or file error. */
static int arguments(int argc, char **argv, uint64_t *runs)
{
	for (int i = 1; i < argc; i++) {
		uint64_t *number = NULL, len = 0;
		char *end;

		if (!strcmp(argv[i], "--seed"))
			number = &rng_state;
		else if (!strcmp(argv[i], "--runs"))
			number = runs;
		else if (!strcmp(argv[i], "--max-len"))
			number = &len;
		else if (argv[i][0] == '-' || load(argv[i]))
			return -1;
		if (!number)
			continue;
		if (++i == argc)
			return -1;
		if (number == &rng_state && !strcmp(argv[i], "random")) {
			random_seed();
			continue;
		}
		*number = strtoull(argv[i], &end, 0);
		if (end == argv[i] || *end)
			return -1;
		if (len)
			max_len = len < MAX_LEN ? len : MAX_LEN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	uint64_t runs = 0;

	if (arguments(argc, argv, &runs))
		return usage(argv[0]);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		signal(fatal[i], on_crash);
	seed_now = rng_state;
	for (size_t i = 0; i < nr_seeds; i++) {
		run_now = i;
		memcpy(input, seeds[i].data, seeds[i].size);
		input_len = seeds[i].size;
		LLVMFuzzerTestOneInput(input, input_len);
	}
	if (!nr_seeds)
		seeds[nr_seeds++] = (struct seed){ calloc(1, MAX_LEN), 64 };
	if (!seeds[0].data)
		return 1;
	for (run_now = 0; run_now < runs; run_now++)
		run_mutation();
	printf("%zu files, %llu mutations, seed %llu\n", nr_seeds, (unsigned long long)runs,
	       (unsigned long long)seed_now);
	for (size_t i = 0; i < nr_seeds; i++)
		free(seeds[i].data);
	return 0;
}
