/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The background thread attends to the adapters that it drives while it spins (spin.h): it looks at the rings of the
 * host, and their writers need not wake it. Packets of sockets show at its epoll set as before.
 *
 * No message is lost between: as before each sleep of a driver (driver.h), the word that asks writers to wake it is stored
 * first, and then a round looks at the rings.
 */
#ifndef DEVICE_PROGRESS_ATTEND_H
#define DEVICE_PROGRESS_ATTEND_H

#include <stdbool.h>

/* Begins, with a look. Returns false if no adapter has rings to look at. Called by the background thread without locks, as
 * the others. */
bool dev_attend_begin(void);
/* Takes in what has come through shared memory. Returns the number of things. */
int dev_attend_look(void);
/* Returns true if an application thread polls an adapter meanwhile, as it has not yet taken it over: two threads that look
 * would only get into each other's way. */
bool dev_attend_is_beside(void);
/* Ends, with a round for each adapter that was attended to. */
void dev_attend_end(void);

#endif
