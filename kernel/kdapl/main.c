// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* kdapl.ko: the registry of kDAPL 2.0 and its provider for every RDMA device of the kernel. */
#include "kdapl/main.h"

#include "kdapl/ia.h"
#include "kdapl/obj.h"
#include "kdapl/registry.h"

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

struct workqueue_struct *kdp_wq;

static int __init kdapl_init(void)
{
	int err = kdp_obj_init();

	if (err)
		return err;
	err = -ENOMEM;
	kdp_wq = alloc_workqueue("kdapl", WQ_UNBOUND, 0);
	if (kdp_wq)
		err = kdp_devices_init();
	if (!err)
		return 0;
	if (kdp_wq)
		destroy_workqueue(kdp_wq);
	kdp_obj_exit();
	return err;
}

/* No consumer is left: each has a reference of this module. */
static void __exit kdapl_exit(void)
{
	kdp_devices_exit();
	destroy_workqueue(kdp_wq);
	kdp_registry_clear();
	kdp_obj_exit();
}

module_init(kdapl_init);
module_exit(kdapl_exit);

MODULE_DESCRIPTION("kDAPL 2.0 over RDMA devices");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("2.0");
