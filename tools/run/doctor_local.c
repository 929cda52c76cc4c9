/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple doctor: the local path, by which processes of one host exchange data in shared memory. */
#include "doctor.h"

#include "util/filesize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_ROOM (4u << 20) /* of the largest file in memory that an adapter makes */

void doctor_check_local(struct doctor_finding *f)
{
	static const struct { const char *value, *effect; } tests[] = {
		{ "messages", "direct access is off for RoCE" },
		{ "packets", "packets, not messages, go through shared memory for RoCE, and XRC domains are not shared" },
		{ "streams", "iWARP sockets that a program hands over use shared memory too" },
	};
	const char *v = getenv("DAPPLE_LOCAL");
	size_t i;

	if (!v || !*v || strcmp(v, "off") == 0) {
		doctor_say(f, DOCTOR_OK, v && *v ? "DAPPLE_LOCAL=off: processes of this host exchange data over UDP and TCP"
			   : "DAPPLE_LOCAL is not set: processes of this host exchange data in shared memory");
		return;
	}
	doctor_say(f, DOCTOR_WARN, "DAPPLE_LOCAL=%s is not a known value: direct access is off for RoCE, which is slower", v);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (strcmp(v, tests[i].value) == 0)
			doctor_say(f, DOCTOR_WARN, "DAPPLE_LOCAL=%s is a value for tests: %s", v, tests[i].effect);
	doctor_remedy(f, "unset DAPPLE_LOCAL; DAPPLE_LOCAL=off selects the wire");
}

void doctor_check_memfd(struct doctor_finding *f)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, fd;

	if (!ut_file_fits(FILE_ROOM)) {
		doctor_say(f, DOCTOR_FAIL, "the limit of file sizes (ulimit -f) is below %u KiB, and it counts for shared "
			   "memory: no adapter can be opened", FILE_ROOM >> 10);
		doctor_remedy(f, "raise the limit: ulimit -f unlimited");
		return;
	}
	fd = memfd_create("dapple-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		doctor_say(f, DOCTOR_FAIL, "memfd_create is refused (%s): no adapter can be opened", strerror(errno));
		doctor_remedy(f, "permit memfd_create in the seccomp profile of the container");
		return;
	}
#ifdef F_SEAL_FUTURE_WRITE
	seals |= F_SEAL_FUTURE_WRITE;
#endif
	if (ftruncate(fd, 4096) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
		doctor_say(f, DOCTOR_WARN, "a memfd cannot be sealed (%s): processes of this host exchange data over UDP and TCP, which is slower",
		    strerror(errno));
	else
		doctor_say(f, DOCTOR_OK, "sealed memfds: processes of this host exchange data in shared memory");
	close(fd);
}

void doctor_check_pidfd(struct doctor_finding *f)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0) {
		doctor_say(f, DOCTOR_WARN, "pidfd_open is refused (%s): the death of a peer process is noticed by timeouts only, and direct access is off",
		    strerror(errno));
		doctor_remedy(f, "permit pidfd_open in the seccomp profile of the container");
		return;
	}
	close(fd);
	doctor_say(f, DOCTOR_OK, "pidfd_open: the death of a peer process is noticed at once");
}

void doctor_check_direct(struct doctor_finding *f)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		doctor_say(f, DOCTOR_WARN, "/proc/self/mem cannot be opened (%s): Reads and Writes within this host wait for the responder process, which is slower",
		    strerror(errno));
		doctor_remedy(f, "mount the /proc of this pid namespace, or make the process dumpable (prctl PR_SET_DUMPABLE)");
		return;
	}
	close(fd);
	doctor_say(f, DOCTOR_OK, "/proc/self/mem: the requester executes Reads and Writes within this host by direct access");
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

void doctor_check_process_vm(struct doctor_finding *f)
{
	char from = 1, to = 0;
	struct iovec there = { &from, 1 }, here = { &to, 1 };
	int scope = ptrace_scope();

	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1) {
		doctor_say(f, DOCTOR_WARN, "process_vm_readv is refused (%s): long Reads and Writes within this host are copied twice, which is slower",
		    strerror(errno));
		doctor_remedy(f, "permit process_vm_readv in the seccomp profile of the container");
	} else if (scope > 0 && geteuid() != 0) {
		doctor_say(f, DOCTOR_WARN, "kernel.yama.ptrace_scope is %d: long Reads and Writes within this host are copied twice, which is slower", scope);
		doctor_remedy(f, "sysctl kernel.yama.ptrace_scope=0, or dapple run --share (see DAPPLE_SHARE in dapple(1))");
	} else {
		doctor_say(f, DOCTOR_OK, "process_vm_readv: long Reads and Writes within this host are copied once");
	}
}
