/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Subnet managers of a fabric: Debian's opensm as child processes of the fabric process, each on one node. Files of
 * one, its log among them, are in the folder opensm-NODE of the fabric's directory. A child ends with the fabric
 * process.
 *
 *	opensm --> its log, flushed after each line (-d 2) --> inotify(7) --> "SUBNET UP", "Errors during initialization"
 *
 * From the first of these lines on its SA answers. Its exit status says nothing.
 */
#ifndef FABRIC_OPENSM_H
#define FABRIC_OPENSM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "loop.h"

struct opensm;

struct opensm_spec {
	const char *fabric, *node;	/* DAPPLE_FABRIC */
	const char *dir;		/* the fabric's */
	uint64_t port_guid;
	char *const *words;		/* further options, ends with NULL; NULL: none */
};

/* Returns true if opensm can be found in PATH or where distributions put it. */
bool opensm_is_there(void);

/* Starts one. ended() is called once, when it has ended. Returns NULL with errno set. */
struct opensm *opensm_start(struct loop *loop, const struct opensm_spec *spec,
			    void (*ended)(void *arg, struct opensm *sm), void *arg);
/* Ends and frees it; its files stay. */
void opensm_stop(struct opensm *sm);

const char *opensm_node(const struct opensm *sm);
pid_t opensm_pid(const struct opensm *sm);
/* True once it has ended; ret_status as of waitpid(2). */
bool opensm_has_ended(const struct opensm *sm, int *ret_status);
/* What its first sweep as the master has come to. UNKNOWN: its log cannot be read. */
enum opensm_sweep { OPENSM_SWEEPS, OPENSM_SUBNET_UP, OPENSM_HAS_ERRORS, OPENSM_UNKNOWN };
enum opensm_sweep opensm_sweep(const struct opensm *sm);
/* Returns the option of opensm among the words that a child of the fabric process cannot have (-B), or NULL. */
const char *opensm_refused_option(char *const *words);
/* Writes the last lines of its output, and the path of its log. */
void opensm_print_output(const struct opensm *sm, FILE *to);

#endif
