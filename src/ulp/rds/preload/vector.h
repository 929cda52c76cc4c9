/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A part of a program's buffers, behind the head of a record. */
#ifndef ULP_RDS_PRELOAD_VECTOR_H
#define ULP_RDS_PRELOAD_VECTOR_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define RDS_VECTOR_MAX 1023             /* buffers of a program: IOV_MAX with the head */

struct rds_record;

struct rds_vector {
	struct iovec iov[RDS_VECTOR_MAX + 1];
	int nr;
	size_t len;                     /* of the program's buffers in it */
};

/* The head, unless it is NULL, and at most `most` octets of the message's buffers behind the first `skip`. */
void rds_vector(struct rds_vector *ret, const struct rds_record *head, const struct msghdr *m, size_t skip, size_t most);

#endif
