/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The background thread attends to the adapters that it drives while it spins (spin.h): it looks at the rings of the
 * host, and their writers need not wake it; and it asks the sockets in steady use, which have left its epoll set, since the
 * kernel would tell that set of each datagram, inside the sender's call (link_ops.attend).
 *
 * No message is lost between: as before each sleep of a driver (driver.h), the word that asks writers to wake it is stored
 * first, and the sockets return to the set, which is level-triggered; and then a round looks at both. A driver that takes
 * the adapter over meanwhile calls sleep(), which returns the sockets as well.
 */
#ifndef DEVICE_PROGRESS_ATTEND_H
#define DEVICE_PROGRESS_ATTEND_H

#include <stdbool.h>

/* Begins, or goes on, with a look. Returns false if no adapter has rings to look at. Called by the background thread without
 * locks, as the others. */
bool dev_attend_begin(void);
/* Takes in what has come through shared memory. Returns the number of things. */
int dev_attend_look(void);
/* Takes in what has come to sockets that the epoll set does not show. Returns the number of things. */
int dev_attend_ask(void);
/* Returns true if an application thread polls an adapter meanwhile, as it has not yet taken it over: two threads that look
 * would only get into each other's way. */
bool dev_attend_is_beside(void);
/* The thread has other things to do, and goes on soon: the writers of rings wake it meanwhile. With a round for each adapter
 * whose rings were looked at. */
void dev_attend_leave_rings(void);
/* Ends, with a round for each adapter that was attended to: before the thread sleeps. */
void dev_attend_end(void);

#endif
