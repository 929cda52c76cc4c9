/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/attend.h"

#include "device/adapter.h"
#include "device/process.h"
#include "util/clock.h"

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
		a->driver.rings = is_driven(a) && look(a) >= 0;
		a->driver.attended = is_driven(a) && dev_driver_attend(a, a->driver.rings, true);
		a->driver.polls_then = polls_of(a);
		any |= a->driver.attended && a->driver.rings;
	}
	ut_unlock(&dev_process_lock);
	return any;
}

/* Writers wake this thread from here on, and so do sockets unless it goes on to ask them; what came before that is taken in. */
static int leave(struct dev_adapter *a, bool sockets)
{
	int n;

	a->driver.rings = false;
	a->driver.attended = sockets;
	if (!dev_driver_attend(a, false, sockets))
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
		if (a->driver.attended && a->driver.rings) {
			n = look(a);
			done += n < 0 ? leave(a, true) : n;
		}
	ut_unlock(&dev_process_lock);
	return done;
}

/* A round that finds nothing is no wake-up without reason. */
static int ask(struct dev_adapter *a)
{
	int n = dev_driver_serve(a, ut_now(), true);

	a->driver.idle_wakes = 0;
	return n;
}

int dev_attend_ask(void)
{
	struct dev_adapter *a;
	int done = 0;

	ut_lock(&dev_process_lock);
	ut_list_each(a, &dev_process_adapters, node)
		if (a->driver.attended && is_driven(a) && a->machine->hides(a))
			done += ask(a);
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

void dev_attend_leave_rings(void)
{
	struct dev_adapter *a;

	ut_lock(&dev_process_lock);
	ut_list_each(a, &dev_process_adapters, node)
		if (a->driver.attended && a->driver.rings)
			leave(a, true);
	ut_unlock(&dev_process_lock);
}

void dev_attend_end(void)
{
	struct dev_adapter *a;

	ut_lock(&dev_process_lock);
	ut_list_each(a, &dev_process_adapters, node)
		if (a->driver.attended)
			leave(a, false);
	ut_unlock(&dev_process_lock);
}
