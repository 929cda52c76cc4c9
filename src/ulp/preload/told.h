/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program is told of an error of a preload, which it knows nothing of. A call on such a socket needs descriptors, files and local
 * sockets that the same call of Linux does not need: an error of these is a shortage of memory to the program, which can make its call again.
 *
 *   error                           of a request    of a stream     of a call
 *   ENOBUFS, ENOSPC, ETOOMANYREFS   ENOMEM          ENOMEM                          ENOBUFS means a congested port to a program of RDS
 *   EAGAIN                          ENOMEM                                          of a stream: there is nothing, or no room
 *   EPIPE                           ENOMEM          ECONNRESET                      the carrier has ended; EPIPE would need a signal
 *   EMFILE, ENFILE                                                  ENOMEM
 */
#ifndef ULP_PRELOAD_TOLD_H
#define ULP_PRELOAD_TOLD_H

enum rsp_told_of {
	RSP_OF_REQUEST = 1,             /* one to the carrier, and what is made for it */
	RSP_OF_STREAM = 2,              /* the local socket that stands for the program's */
	RSP_OF_CALL = 4,                /* a whole call, by which the program gets no descriptor */
};

/* The error for the program; 0, a result, and each error that is not in the table stay. of: one of the columns, or several. */
int rsp_told(int of, int error);

#endif
