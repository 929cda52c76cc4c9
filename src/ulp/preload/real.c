/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Look-up of the C library's functions; writing the same pointers twice is harmless. */
#include "ulp/preload/real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>

static struct rsp_real real;
static atomic_bool known;

static void look_up(void)
{
#define FIND(name) real.name = (__typeof__(real.name))dlsym(RTLD_NEXT, #name)
	FIND(socket);
	FIND(bind);
	FIND(listen);
	FIND(accept);
	FIND(accept4);
	FIND(connect);
	FIND(getsockname);
	FIND(getpeername);
	FIND(getsockopt);
	FIND(setsockopt);
	FIND(recvfrom);
	FIND(recvmsg);
	FIND(epoll_ctl);
#undef FIND
	atomic_store(&known, true);
}

const struct rsp_real *rsp_real(void)
{
	if (!atomic_load(&known))
		look_up();
	return &real;
}
