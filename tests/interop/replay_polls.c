/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One thread polls memory that another one writes: no system call says when. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int done;

static void *finish(void *arg)
{
	nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	done = 1;
	return arg;
}

int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, finish, NULL))
		return 2;
	while (!done)
		;
	return 0;
}
