// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * kdapltest.ko: the device by which the program kdapltest gives a command line, reads its output and gets its status.
 * Several may be open; what a run has made ends with its file.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "kdapltest/device.h"
#include "kdapltest/session.h"

enum { WORDS_BYTES = 1 << 14 };

static int dev_open(struct inode *inode, struct file *f)
{
	f->private_data = kdt_session_new();
	return f->private_data ? 0 : -ENOMEM;
}

static int dev_release(struct inode *inode, struct file *f)
{
	kdt_session_end(f->private_data);
	return 0;
}

static ssize_t dev_write(struct file *f, const char __user *from, size_t size, loff_t *at)
{
	struct kdt_session *s = f->private_data;
	char *words;
	int err;

	if (s->started)
		return -EBUSY;
	if (!size || size > WORDS_BYTES)
		return -E2BIG;
	words = kvmalloc(size, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	if (copy_from_user(words, from, size) || words[size - 1]) {
		kvfree(words);
		return -EINVAL;
	}
	err = kdt_session_start(s, words, size);
	return err ? err : size;
}

static size_t take(struct kdt_session *s, char *to, size_t most)
{
	size_t n = 0;

	spin_lock(&s->lock);
	while (n < most && s->tail != s->head)
		to[n++] = s->out[s->tail++ % KDT_OUTPUT];
	spin_unlock(&s->lock);
	return n;
}

/* Returns 0 at the end of the run. */
static ssize_t dev_read(struct file *f, char __user *to, size_t size, loff_t *at)
{
	struct kdt_session *s = f->private_data;
	char part[256];
	size_t n;

	if (!s->started)
		return -EINVAL;
	do {
		bool done = READ_ONCE(s->done);

		n = take(s, part, min(size, sizeof(part)));
		if (n || done)
			break;
		if (wait_event_interruptible(s->wq, READ_ONCE(s->done) || s->head != s->tail))
			return -ERESTARTSYS;
	} while (true);
	wake_up_all(&s->wq);
	return copy_to_user(to, part, n) ? -EFAULT : n;
}

static long dev_ioctl(struct file *f, unsigned int command, unsigned long arg)
{
	struct kdt_session *s = f->private_data;

	if (command != KDT_STATUS)
		return -ENOTTY;
	return READ_ONCE(s->done) ? s->status : -EBUSY;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = dev_open,
	.release = dev_release,
	.write = dev_write,
	.read = dev_read,
	.unlocked_ioctl = dev_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kdapltest",
	.fops = &operations,
	.mode = 0600,
};

module_misc_device(device);
MODULE_DESCRIPTION("dapltest in the kernel, over kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
