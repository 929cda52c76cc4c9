/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stand-in for a default container: runs a command under a seccomp filter that refuses the calls
 * that container engines refuse by default.
 *
 *   jail 1 COMMAND...   no namespaces, mounts, pidfd_getfd, io_uring
 *   jail 2 COMMAND...   besides no process_vm_readv, process_vm_writev
 *   jail 1|2 --proof    exit 0 if the filter refuses each of these
 *
 * The engines answer clone3 with ENOSYS, since a filter cannot look into its argument, and libc
 * then falls back to clone; so do we.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define NEW_SPACES (CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | \
		    CLONE_NEWUTS | CLONE_NEWCGROUP)

struct refused {
	const char *name;
	long nr;
	int error;
	int level;
};

static const struct refused refused[] = {
	{ "unshare", SYS_unshare, EPERM, 1 },
	{ "setns", SYS_setns, EPERM, 1 },
	{ "mount", SYS_mount, EPERM, 1 },
	{ "umount2", SYS_umount2, EPERM, 1 },
	{ "pivot_root", SYS_pivot_root, EPERM, 1 },
	{ "pidfd_getfd", SYS_pidfd_getfd, EPERM, 1 },
	{ "io_uring_setup", SYS_io_uring_setup, EPERM, 1 },
	{ "io_uring_enter", SYS_io_uring_enter, EPERM, 1 },
	{ "io_uring_register", SYS_io_uring_register, EPERM, 1 },
	{ "clone3", SYS_clone3, ENOSYS, 1 },
	{ "process_vm_readv", SYS_process_vm_readv, EPERM, 2 },
	{ "process_vm_writev", SYS_process_vm_writev, EPERM, 2 },
};

#define N_REFUSED (sizeof(refused) / sizeof(refused[0]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, n)
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

#ifdef ARCH
static int install(int level)
{
	struct sock_filter prog[16 + 2 * N_REFUSED];
	struct sock_fprog f = { .filter = prog };
	unsigned short n = 0;

	prog[n++] = (struct sock_filter)LOAD(arch);
	prog[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	prog[n++] = (struct sock_filter)ANSWER(ENOSYS);
	prog[n++] = (struct sock_filter)LOAD(nr);
	for (size_t i = 0; i < N_REFUSED; i++) {
		if (refused[i].level > level)
			continue;
		prog[n++] = (struct sock_filter)SKIP_UNLESS(refused[i].nr, 1);
		prog[n++] = (struct sock_filter)ANSWER(refused[i].error);
	}
	/* clone is for threads and forks, and its flags are its first argument. */
	prog[n++] = (struct sock_filter)SKIP_UNLESS(SYS_clone, 3);
	prog[n++] = (struct sock_filter)LOAD(args[0]);
	prog[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_SPACES, 0, 1);
	prog[n++] = (struct sock_filter)ANSWER(EPERM);
	prog[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f) < 0 ? -errno : 0;
}
#endif

/* With arguments that do nothing where the filter lets them through. */
static int proof(int level)
{
	int faults = 0;

	for (size_t i = 0; i < N_REFUSED; i++) {
		const struct refused *r = &refused[i];

		if (r->level > level)
			continue;
		errno = 0;
		if (syscall(r->nr, -1L, 0L, -1L, 0L, 0L, 0L) != -1 || errno != r->error) {
			printf("%s is not refused: %s\n", r->name, strerror(errno));
			faults++;
		}
	}
	return faults != 0;
}

int main(int argc, char **argv)
{
	int level = argc > 2 ? atoi(argv[1]) : 0, r;

	if (level < 1 || level > 2) {
		fputs("usage: jail 1|2 COMMAND...\n       jail 1|2 --proof\n", stderr);
		return 2;
	}
#ifdef ARCH
	r = install(level);
	if (r < 0) {
		printf("this kernel takes no seccomp filter: %s\n", strerror(-r));
		return 77;
	}
#else
	puts("the filter is not written for this processor");
	return 77;
#endif
	if (strcmp(argv[2], "--proof") == 0)
		return proof(level);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
