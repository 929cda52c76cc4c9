/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attached processes over the model of mgmt/fabric.h. The upcalls of struct fab_ops call attach_model_deliver() and
 * attach_model_changed(); port->user belongs to this file.
 */
#ifndef FABRIC_ATTACH_MODEL_H
#define FABRIC_ATTACH_MODEL_H

#include "attachments.h"
#include "mgmt/fabric.h"

/* As attachments_open(). */
int attach_model_open(struct attachments **ret, struct loop *loop, const char *dir, struct fab *f, char why[ATT_WHY_MAX]);
/* fab_ops.deliver: gives the MAD to an agent, or answers it. */
void attach_model_deliver(struct attachments *a, struct fab_port *port, const struct mad *m);
/* fab_ops.changed */
void attach_model_changed(struct attachments *a, struct fab_port *port, unsigned what);
/* Before fab_node_remove(): ends the attachments of the node. */
void attach_model_removed(struct attachments *a, struct fab_node *node);

#endif
