/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* doctor: what processes of one host need of the kernel to do without its network. */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void doctor_check_memfd(struct doctor_finding *f)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, fd;

	fd = memfd_create("dapple-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		doctor_say(f, DOCTOR_FAIL, "memfd_create is refused: %s", strerror(errno));
		doctor_remedy(f, "permit memfd_create in the seccomp profile of the container");
		return;
	}
#ifdef F_SEAL_FUTURE_WRITE
	seals |= F_SEAL_FUTURE_WRITE;
#endif
	if (ftruncate(fd, 4096) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
		doctor_say(f, DOCTOR_WARN, "shared memory cannot be sealed (%s): processes of this host talk over UDP and TCP only",
		    strerror(errno));
	else
		doctor_say(f, DOCTOR_OK, "shared memory by memfd_create, with seals: processes of this host do without UDP and TCP");
	close(fd);
}

void doctor_check_pidfd(struct doctor_finding *f)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0) {
		doctor_say(f, DOCTOR_WARN, "pidfd_open is refused (%s): the death of a peer process shows only by timeouts",
		    strerror(errno));
		doctor_remedy(f, "permit pidfd_open in the seccomp profile of the container");
		return;
	}
	close(fd);
	doctor_say(f, DOCTOR_OK, "death of peer processes is seen by pidfd");
}

void doctor_check_direct(struct doctor_finding *f)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		doctor_say(f, DOCTOR_WARN, "/proc/self/mem cannot be opened (%s): Reads and Writes within this host need the help of the other process",
		    strerror(errno));
		doctor_remedy(f, "mount /proc of this process's own namespace, or start the program as one that may be dumped");
		return;
	}
	close(fd);
	doctor_say(f, DOCTOR_OK, "Reads and Writes within this host need no help of the other process (/proc/self/mem)");
}

static int ptrace_scope(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	if (file)
		fclose(file);
	return scope;
}

void doctor_check_fetch(struct doctor_finding *f)
{
	char from = 1, to = 0;
	struct iovec there = { &from, 1 }, here = { &to, 1 };
	int scope = ptrace_scope();

	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1) {
		doctor_say(f, DOCTOR_WARN, "process_vm_readv is refused (%s): large messages within this host are copied twice",
		    strerror(errno));
		doctor_remedy(f, "permit process_vm_readv in the seccomp profile of the container");
	} else if (scope > 0 && geteuid() != 0) {
		doctor_say(f, DOCTOR_WARN, "kernel.yama.ptrace_scope is %d: large messages within this host are copied twice", scope);
		doctor_remedy(f, "sysctl kernel.yama.ptrace_scope=0, or DAPPLE_SHARE=1 for programs that suit it");
	} else {
		doctor_say(f, DOCTOR_OK, "large messages within this host are copied once (process_vm_readv)");
	}
}
