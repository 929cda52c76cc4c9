/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/local/wakefd.h"

#include "link/local/stream.h"
#include "util/alloc.h"
#include "util/rights.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* --- our wake fd --- */

static int written(struct link_watch *w, uint64_t now)
{
	struct local_place *p = ut_container(w, struct local_place, wake_fd);
	struct local_shm *n;

	(void)now;
	ut_list_each(n, &p->on_wake_fd, wake_fd_node)
		local_stream_todo(n->s);
	local_wakefd_taken(p);
	return local_stream_run(&p->todo);
}

void local_wakefd_open(struct local_place *p)
{
	p->wake_fd = (struct link_watch){ .fd = -1, .edge = true, .ready = written };
	if (UT_SYS(SYS_getrandom, &p->wake_fd_id, sizeof(p->wake_fd_id), 0) != sizeof(p->wake_fd_id)) {
		p->wake_fd_id = 0;
		return;
	}
	p->wake_fd.fd = (int)UT_SYS(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake_fd.fd >= 0 && p->ops->watch(p->lower, &p->wake_fd) < 0)
		ut_close_fd(&p->wake_fd.fd);
	if (p->wake_fd.fd < 0)
		p->wake_fd_id = 0;
}

void local_wakefd_fini(struct local_place *p)
{
	if (p->wake_fd.fd < 0)
		return;
	p->ops->unwatch(p->lower, &p->wake_fd);
	ut_close_fd(&p->wake_fd.fd);
}

void local_wakefd_forget(struct local_place *p)
{
	struct local_wakefd *b;

	ut_close_fd(&p->wake_fd.fd);
	ut_list_each(b, &p->peer_wake_fds, node)
		ut_close_fd(&b->fd);
}

unsigned local_wakefd_attend(struct local_stream *s)
{
	struct local_place *p = local_place_of(s);

	if (local_wakefd_is_attended(s->shm))
		return SHM_PIPE_WAKE_FD;
	if (!p->wake_fd_id || p->n_on_wake_fd == LOCAL_WAKE_FD_MOST)
		return 0;
	ut_list_add_tail(&p->on_wake_fd, &s->shm->wake_fd_node);
	p->n_on_wake_fd++;
	return SHM_PIPE_WAKE_FD;
}

void local_wakefd_leave(struct local_shm *n)
{
	if (!local_wakefd_is_attended(n))
		return;
	ut_list_del(&n->wake_fd_node);
	local_place_of(n->s)->n_on_wake_fd--;
}

/* A write for a sleep that is over already was nevertheless sent for the next one: no other will be, so that is over too. */
void local_wakefd_taken(struct local_place *p)
{
	struct local_shm *n, *next;

	ut_list_each_safe(n, next, &p->on_wake_fd, wake_fd_node)
		local_stream_stir(n->s);
}

void local_wakefd_take(struct local_place *p)
{
	uint64_t writes;

	if (UT_SYS(SYS_read, p->wake_fd.fd, &writes, sizeof(writes)) == sizeof(writes))
		local_wakefd_taken(p);
}

/* --- the peer's --- */

static int pid_of(int rendezvous)
{
	struct ucred c = { 0 };
	socklen_t n = sizeof(c);

	return UT_SYS(SYS_getsockopt, rendezvous, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0 ? -1 : c.pid;
}

static struct local_wakefd *find(struct local_place *p, uint64_t id, int pid)
{
	struct local_wakefd *b;

	ut_list_each(b, &p->peer_wake_fds, node)
		if (b->id == id && b->pid == pid)
			return b;
	return NULL;
}

void local_wakefd_keep(struct local_stream *s, int fd, int rendezvous)
{
	struct local_place *p = local_place_of(s);
	uint64_t id = s->shm->pipe.peer->wake_fd;
	int pid = fd < 0 || !id || !ut_rights_may_wake(fd) ? -1 : pid_of(rendezvous);
	struct local_wakefd *b = pid < 0 ? NULL : find(p, id, pid);

	if (pid >= 0 && !b) {
		b = ut_zalloc(sizeof(*b));
		if (b) {
			*b = (struct local_wakefd){ .id = id, .pid = pid, .fd = fd };
			ut_list_add_tail(&p->peer_wake_fds, &b->node);
			fd = -1;
		}
	}
	if (b)
		b->streams++;
	s->shm->wake_fd = b;
	ut_close_fd(&fd);
}

void local_wakefd_drop(struct local_shm *n)
{
	struct local_wakefd *b = n->wake_fd;

	n->wake_fd = NULL;
	if (!b || --b->streams)
		return;
	ut_list_del(&b->node);
	ut_close_fd(&b->fd);
	free(b);
}

/* A wake fd that is full, or a descriptor that is no eventfd, takes no write: the byte is sent. */
bool local_wakefd_write(struct local_shm *n)
{
	const uint64_t one = 1;

	return n->wake_fd && UT_SYS(SYS_write, n->wake_fd->fd, &one, sizeof(one)) == sizeof(one);
}
