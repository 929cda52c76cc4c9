/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/attend.h"

#include "device/adapter.h"
#include "device/process.h"

/* Polls in a row, in units of dev_yielding.idle_polls, that a program makes which is about to drive. */
#define POLLS_IN_A_ROW (int)(DEV_POLLS_TO_DRIVE * DEV_POLL_WEIGHT)

static int polls_of(struct dev_adapter *a)
{
	return atomic_load_explicit(&a->yielding.idle_polls, memory_order_relaxed);
}

static bool is_driven(struct dev_adapter *a)
{
	return atomic_load_explicit(&a->driver.current, memory_order_relaxed) == DEV_DRIVER_THREAD;
}

/* Returns the number of things, or -EAGAIN: this adapter's rings are for rounds alone. */
static int look(struct dev_adapter *a)
{
	int n;

	/* An application thread that has the lock looks by itself. */
	if (!is_driven(a) || !ut_trylock_quick(&a->dev.lock))
		return 0;
	n = dev_run_rings(a);
	eng_dev_unlock(&a->dev);
	/* It may have been woken for what a look has taken in before, which is no descriptor without reason. */
	if (n > 0)
		a->driver.idle_wakes = 0;
	return n;
}

bool dev_attend_begin(void)
{
	struct dev_adapter *a;
	bool any = false;

	ut_lock(&dev_process_lock);
	ut_list_each(a, &dev_process_adapters, node) {
		a->driver.attended = is_driven(a) && look(a) >= 0 && dev_driver_attend(a, true);
		a->driver.polls_then = polls_of(a);
		any |= a->driver.attended;
	}
	ut_unlock(&dev_process_lock);
	return any;
}

/* Writers wake this thread from here on; what came before that is taken in. */
static int leave(struct dev_adapter *a)
{
	int n;

	a->driver.attended = false;
	if (!dev_driver_attend(a, false))
		return 0;
	ut_lock(&a->dev.lock);
	n = dev_run(a, DEV_BY_THREAD);
	eng_dev_unlock(&a->dev);
	return n;
}

int dev_attend_look(void)
{
	struct dev_adapter *a;
	int done = 0, n;

	ut_lock(&dev_process_lock);
	ut_list_each(a, &dev_process_adapters, node)
		if (a->driver.attended) {
			n = look(a);
			done += n < 0 ? leave(a) : n;
		}
	ut_unlock(&dev_process_lock);
	return done;
}

bool dev_attend_is_beside(void)
{
	struct dev_adapter *a;
	bool beside = false;

	ut_lock(&dev_process_lock);
	ut_list_each(a, &dev_process_adapters, node) {
		int polls = polls_of(a);

		/* Less than 0: behind a yield beside strangers. */
		beside |= is_driven(a) && polls != a->driver.polls_then && (polls < 0 || polls >= POLLS_IN_A_ROW);
		a->driver.polls_then = polls;
	}
	ut_unlock(&dev_process_lock);
	return beside;
}

void dev_attend_end(void)
{
	struct dev_adapter *a;

	ut_lock(&dev_process_lock);
	ut_list_each(a, &dev_process_adapters, node)
		if (a->driver.attended)
			leave(a);
	ut_unlock(&dev_process_lock);
}
