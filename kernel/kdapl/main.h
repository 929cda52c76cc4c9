/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What lives as long as the module. */
#ifndef KDAPL_MAIN_H
#define KDAPL_MAIN_H

struct workqueue_struct;

/* Ends of connections, upcalls that may sleep, timeouts. */
extern struct workqueue_struct *kdp_wq;

#endif
