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
	FIND(read);
	FIND(write);
	FIND(readv);
	FIND(writev);
	FIND(recv);
	FIND(send);
	FIND(sendto);
	FIND(sendmsg);
	FIND(shutdown);
	FIND(close);
	FIND(_exit);
	FIND(_Exit);
	FIND(dup2);
	FIND(dup3);
	FIND(ioctl);
	FIND(poll);
	FIND(ppoll);
	FIND(select);
	FIND(pselect);
	FIND(epoll_wait);
	FIND(epoll_pwait);
#undef FIND
	atomic_store(&known, true);
}

const struct rsp_real *rsp_real(void)
{
	if (!atomic_load(&known))
		look_up();
	return &real;
}
