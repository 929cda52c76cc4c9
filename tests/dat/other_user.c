/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two users on one address of a RoCE adapter: the second one's open fails for lack of a resource, not as if there
 * were no such address. Needs root, to be two users.
 */
#include "mem_pair.h"

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static DAT_RETURN open_ia(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_open((char *)mp_ia_name(), 8, &async, &ia);
}

static int second(int go)
{
	char byte;

	CHECK(read(go, &byte, 1) == 1);
	CHECK(!setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY));
	unsetenv("DAPPLE_RUNTIME_DIR"); /* the first user's */
	unsetenv("XDG_RUNTIME_DIR");
	WANT(open_ia(), ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE));
	return 0;
}

int main(void)
{
	int go[2], status;
	pid_t child;

	if (geteuid())
		SKIP("%s", "only root can be two users");
	CHECK(!pipe(go));
	child = fork();
	if (!child)
		_exit(second(go[0]));
	OK(open_ia());
	CHECK(write(go[1], "", 1) == 1);
	CHECK(waitpid(child, &status, 0) == child && !status);
	return 0;
}
