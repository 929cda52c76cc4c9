/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program is told when its process, or the kernel for it, lacks something. A call on an RDS socket needs descriptors and files that the
 * same call of Linux does not need, so their errors mean nothing to its program; ENOBUFS means a congested port there, and EPIPE raises a signal.
 */
#ifndef ULP_RDS_PRELOAD_SHORTAGE_H
#define ULP_RDS_PRELOAD_SHORTAGE_H

/* The error for the program: -ENOMEM for a shortage of memory, buffers, or room in a file; each other one, and -EMFILE and -ENFILE, as it is. */
int rds_told(int error);
/* The same, and -ENOMEM for a shortage of descriptors: of calls by which a program gets none. */
int rds_told_no_fd(int error);

#endif
