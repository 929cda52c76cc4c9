/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * confined PROGRAM ARGUMENT...
 *
 * Runs it where no process may reach into another one's memory, as in many containers: a
 * filter refuses process_vm_readv() and process_vm_writev(). Exit 77 where filters are refused.
 */
#include "refuse.h"

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: confined PROGRAM ARGUMENT...\n");
		return 2;
	}
	if (!refuse_process_vm()) {
		printf("this machine refuses filters of system calls\n");
		return 77;
	}
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
