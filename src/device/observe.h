/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Observers of the adapters of this process. An adapter gets one when it is attached and a reader waits for it - that
 * of DAPPLE_CAPTURE, or one for all processes - or when a reader asks for it by the control socket. It goes with the
 * reader's session.
 */
#ifndef DEVICE_OBSERVE_H
#define DEVICE_OBSERVE_H

#include "observe/session.h"
#include "util/lock.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dev_adapter;

/* The adapter has its link: gets an observer if a reader waits for it. dev.lock held. */
void dev_observe_attached(struct dev_adapter *a);
/* Takes the observer away. dev.lock held. */
void dev_observe_end(struct dev_adapter *a);
/* In a child of fork(): closes the session. */
void dev_observe_forget(struct dev_adapter *a);

/* For the control socket; dev_process_lock held. All adapters, also those that come, give their rings to the reader
 * at this path; writes the reply. Those of another reader too if replace is given. */
void dev_observe_start(const char *path, bool replace, FILE *out);
/* The reader of this adapter has left. */
void dev_observe_left(uint64_t serial);

#endif
