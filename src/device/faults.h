/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules of faults (link/rules.h) for all adapters of this process: from DAPPLE_FAULT - the rules themselves, or @FILE -
 * or by the control socket. Each adapter has a copy, which counts for itself. An act leaves a sentence for dapple why.
 */
#ifndef DEVICE_FAULTS_H
#define DEVICE_FAULTS_H

#include "link/rules.h"

#include <stdio.h>

struct dev_adapter;
struct eng_dev;

/* The adapter has its link: gets the rules of the process. dev.lock held. */
void dev_faults_attached(struct dev_adapter *a);
/* The adapter's link is gone. dev.lock held. */
void dev_faults_end(struct dev_adapter *a);

/* For the control socket; dev_process_lock held. Gives these rules to all adapters, also those that come; text "":
 * takes them away. show: writes them with the numbers of their acts. */
void dev_faults_set(const char *text, FILE *out);
void dev_faults_show(FILE *out);

/* eng_dev.refuses. */
int dev_faults_call(struct eng_dev *dev, const char *function);

#endif
