/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control socket of the process (observe/place.h), which the background thread serves: one request of words and
 * one reply for each connection. The reply is text in a memfd, so that no reader that is slow delays the thread; its
 * first line is "ok", or "error: " and a sentence.
 *
 *      capture PATH     the observers of all adapters give their rings to the reader at PATH (observe.h)
 *      sample PATH      the same of adapters that have no reader
 *
 *      fault RULES      these rules of faults (faults.h); none: without any; fault-show: those there are
 *
 *      show WHAT        lines of the objects of this kind (show.h)
 *
 * The socket is there from the first open device on until the thread ends; a program that is not to be observed has
 * none.
 */
#ifndef DEVICE_CONTROL_H
#define DEVICE_CONTROL_H

#include <stdint.h>

/* Opens it. Returns the epoll set for the thread, or -1: there is no socket. */
int dev_control_open(void);
/* Serves what is due, for the background thread. dev_process_lock held. */
void dev_control_serve(void);
/* Ends it, in the process that has opened it; in a child of fork() the descriptors alone. */
void dev_control_close(void);
/* The epoll set reports the end of this session of the adapter. Returns 0 or -errno. */
int dev_control_watch(int session, uint64_t serial);

#endif
