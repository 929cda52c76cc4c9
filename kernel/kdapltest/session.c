// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/module.h>

/* Waits may be long, so they are idle: the kernel takes other waits of two minutes for hung tasks. */
#include "kdapltest/session.h"

#include "dapltest/ends.h"

static DECLARE_WAIT_QUEUE_HEAD(locks); /* of all mutexes and conditions: there are few, and they are held briefly */

static struct kdt_thread *self(void)
{
	return kthread_data(current);
}

/* --- output --- */

static bool append(struct kdt_session *s, const char *text, unsigned int n)
{
	unsigned int i;
	bool room;

	spin_lock(&s->lock);
	room = KDT_OUTPUT - (s->head - s->tail) >= n;
	for (i = 0; room && i < n; i++)
		s->out[s->head++ % KDT_OUTPUT] = text[i];
	spin_unlock(&s->lock);
	if (room)
		wake_up_all(&s->wq);
	return room;
}

int kdt_printf(const char *format, ...)
{
	struct kdt_session *s = self()->s;
	char *line = kmalloc(1024, GFP_KERNEL);
	va_list list;
	int n;

	if (!line)
		return -1;
	va_start(list, format);
	n = vscnprintf(line, 1024, format, list);
	va_end(list);
	wait_event_idle(s->wq, s->stop || append(s, line, n));
	kfree(line);
	return n;
}

/* --- threads --- */

static int thread_main(void *arg)
{
	struct kdt_thread *t = arg;
	struct kdt_session *s = t->s;
	bool detached = t->detached;

	t->run(t->arg);
	if (detached)
		kfree(t);
	else
		smp_store_release(&t->done, true);
	/* under the lock, for kdt_session_end frees s as soon as it has seen the last thread go */
	spin_lock(&s->lock);
	atomic_dec(&s->threads);
	wake_up_all(&s->wq);
	spin_unlock(&s->lock);
	module_put_and_kthread_exit(0);
}

static int start(struct kdt_session *s, bool detached, void *(*run)(void *), void *arg, struct kdt_thread **ret)
{
	struct kdt_thread *t = kzalloc(sizeof(*t), GFP_KERNEL);
	struct task_struct *task;

	if (!t)
		return -ENOMEM;
	t->s = s;
	t->run = run;
	t->arg = arg;
	t->detached = detached;
	t->getopt.index = 1;
	atomic_inc(&s->threads);
	__module_get(THIS_MODULE);
	task = kthread_run(thread_main, t, "kdapltest");
	if (!IS_ERR(task)) {
		if (ret)
			*ret = t;
		return 0;
	}
	module_put(THIS_MODULE);
	atomic_dec(&s->threads);
	kfree(t);
	return PTR_ERR(task);
}

int kdt_thread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return start(self()->s, attr && attr->detached, run, arg, ret) ? -EAGAIN : 0;
}

void kdt_thread_join(pthread_t t)
{
	struct kdt_session *s = t->s;

	wait_event_idle(s->wq, READ_ONCE(t->done));
	kfree(t);
}

void kdt_lock(pthread_mutex_t *m)
{
	wait_event_idle(locks, !atomic_cmpxchg(&m->held, 0, 1));
}

void kdt_unlock(pthread_mutex_t *m)
{
	atomic_set(&m->held, 0);
	wake_up_all(&locks);
}

void kdt_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	int turns = atomic_read(&c->turns);

	kdt_unlock(m);
	wait_event_idle(locks, atomic_read(&c->turns) != turns);
	kdt_lock(m);
}

void kdt_cond_broadcast(pthread_cond_t *c)
{
	atomic_inc(&c->turns);
	wake_up_all(&locks);
}

/* --- time --- */

void kdt_clock(int clock, struct kdt_timespec *ts)
{
	u64 ns = clock == CLOCK_PROCESS_CPUTIME_ID ? current->se.sum_exec_runtime : ktime_get_ns();
	u32 rest;

	ts->tv_sec = div_u64_rem(ns, NSEC_PER_SEC, &rest);
	ts->tv_nsec = rest;
}

void kdt_sleep(const struct kdt_timespec *ts)
{
	msleep(ts->tv_sec * 1000 + ts->tv_nsec / 1000000);
}

/* --- words and numbers --- */

char *kdt_text(void)
{
	struct kdt_thread *t = self();

	return t->text[t->turn++ % ARRAY_SIZE(t->text)];
}

struct kdt_getopt *kdt_getopt_state(void)
{
	return &self()->getopt;
}

/* Options before all other words, as POSIX has it. */
int kdt_getopt(int argc, char **argv, const char *letters)
{
	struct kdt_thread *t = self();
	struct kdt_getopt *g = &t->getopt;
	const char *known;
	char letter;

	if (!t->next || !*t->next) {
		if (g->index >= argc || argv[g->index][0] != '-' || !argv[g->index][1])
			return -1;
		t->next = argv[g->index++] + 1;
	}
	letter = *t->next++;
	known = letter == ':' || letter == '+' ? NULL : strchr(letters, letter);
	if (!known) {
		kdt_printf("kdapltest: option -%c is unknown: no test runs; see the usage\n", letter);
		return '?';
	}
	if (known[1] != ':')
		return letter;
	g->arg = *t->next ? t->next : g->index < argc ? argv[g->index++] : NULL;
	t->next = NULL;
	if (g->arg)
		return letter;
	kdt_printf("kdapltest: option -%c lacks its value: no test runs; see the usage\n", letter);
	return '?';
}

long kdt_strtol(const char *text, char **end, int base)
{
	char *rest;
	long v = simple_strtol(text, &rest, base);

	if (end)
		*end = rest;
	return v;
}

int kdt_getaddrinfo(const char *host, struct addrinfo **ret)
{
	struct addrinfo *a = kzalloc(sizeof(*a), GFP_KERNEL);
	struct sockaddr_in *in;
	struct sockaddr_in6 *in6;

	if (!a)
		return -ENOMEM;
	in = (struct sockaddr_in *)&a->storage;
	in6 = (struct sockaddr_in6 *)&a->storage;
	a->ai_addr = (struct sockaddr *)&a->storage;
	*ret = a;
	if (in4_pton(host, -1, (u8 *)&in->sin_addr, -1, NULL)) {
		in->sin_family = AF_INET;
		a->ai_addrlen = sizeof(*in);
		return 0;
	}
	if (in6_pton(host, -1, (u8 *)&in6->sin6_addr, -1, NULL)) {
		in6->sin6_family = AF_INET6;
		a->ai_addrlen = sizeof(*in6);
		return 0;
	}
	kfree(a);
	return -EINVAL;
}

/* --- events --- */

struct waiter {
	struct list_head link;
	wait_queue_head_t wq;
	bool there;
};

static void on_event(DAT_PVOID data, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	struct waiter *w = data;

	WRITE_ONCE(w->there, true);
	wake_up(&w->wq);
}

DAT_RETURN kdt_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
			  DAT_EVD_HANDLE *evd)
{
	struct waiter *w = kzalloc(sizeof(*w), GFP_KERNEL);
	DAT_UPCALL_OBJECT up = { w, on_event };
	struct kdt_session *s = self()->s;
	DAT_RETURN r;

	if (!w)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	init_waitqueue_head(&w->wq);
	r = dat_evd_kcreate(ia, qlen, DAT_UPCALL_NOTIFY, &up, flags, evd);
	if (r) {
		kfree(w);
		return r;
	}
	dat_set_consumer_context(*evd, (DAT_CONTEXT){ .as_ptr = w });
	/* freed with the EVD, or at the end of the run if an abrupt close freed that */
	spin_lock(&s->lock);
	list_add(&w->link, &s->evds);
	spin_unlock(&s->lock);
	return DAT_SUCCESS;
}

static struct waiter *waiter_of(DAT_EVD_HANDLE evd)
{
	DAT_CONTEXT c;

	return dat_get_consumer_context(evd, &c) ? NULL : c.as_ptr;
}

DAT_RETURN kdt_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_COUNT threshold, DAT_EVENT *ev, DAT_COUNT *more)
{
	struct kdt_session *s = self()->s;
	struct waiter *w = waiter_of(evd);
	u64 end = ktime_get_ns() + (u64)us * NSEC_PER_USEC, now;
	DAT_RETURN r;

	if (!w)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	*more = 0;
	for (;;) {
		WRITE_ONCE(w->there, false);
		r = dat_evd_dequeue(evd, ev);
		if (DAT_GET_TYPE(r) != DAT_QUEUE_EMPTY)
			return r;
		now = ktime_get_ns();
		if (now >= end)
			return DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
		if (READ_ONCE(s->stop))
			return DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE);
		wait_event_timeout(w->wq, READ_ONCE(w->there) || READ_ONCE(s->stop),
				   min_t(long, nsecs_to_jiffies(end - now) + 1, HZ / 5));
	}
}

DAT_RETURN kdt_evd_free(DAT_EVD_HANDLE evd)
{
	struct kdt_session *s = self()->s;
	struct waiter *w = evd ? waiter_of(evd) : NULL;
	DAT_RETURN r = kdat_evd_free(evd);

	if (r || !w)
		return r;
	spin_lock(&s->lock);
	list_del(&w->link);
	spin_unlock(&s->lock);
	kfree(w);
	return r;
}

/* --- the run --- */

static int dispatch(const struct dtt_options *o)
{
	switch (o->kind) {
	case 'S': return dtt_server(o);
	case 'L': return dtt_limit(o);
	case 'F': return dtt_fft(o);
	case 'I': kdt_printf("kdapltest: -T I is of user space: no test runs; use dapple-dapltest\n"); return -1;
	default: return dtt_client(o);
	}
}

static void *main_thread(void *arg)
{
	struct kdt_session *s = arg;
	struct dtt_options *o = kzalloc(sizeof(*o), GFP_KERNEL);
	int r = o ? dtt_options_parse(s->argc, s->argv, o) : -1;

	if (!r)
		r = dispatch(o);
	kfree(o);
	s->status = r < 0 ? 1 : 0;
	WRITE_ONCE(s->done, true);
	wake_up_all(&s->wq);
	return NULL;
}

struct kdt_session *kdt_session_new(void)
{
	struct kdt_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	init_waitqueue_head(&s->wq);
	spin_lock_init(&s->lock);
	INIT_LIST_HEAD(&s->evds);
	atomic_set(&s->threads, 0);
	s->out = kvmalloc(KDT_OUTPUT, GFP_KERNEL);
	if (s->out)
		return s;
	kfree(s);
	return NULL;
}

int kdt_session_start(struct kdt_session *s, char *words, size_t size)
{
	size_t at;

	s->words = words;
	s->started = true;
	for (at = 0; at < size; at += strlen(words + at) + 1) {
		if (s->argc == KDT_WORDS)
			return -E2BIG;
		s->argv[s->argc++] = words + at;
	}
	return start(s, true, main_thread, s, NULL);
}

void kdt_session_end(struct kdt_session *s)
{
	struct waiter *w, *next;

	WRITE_ONCE(s->stop, true);
	wake_up_all(&s->wq);
	wait_event_idle(s->wq, !atomic_read(&s->threads));
	spin_lock(&s->lock);
	spin_unlock(&s->lock);
	list_for_each_entry_safe(w, next, &s->evds, link)
		kfree(w);
	kvfree(s->words);
	kvfree(s->out);
	kfree(s);
}
