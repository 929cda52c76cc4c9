/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control socket of a fabric process: a command of words, and a file or none, go in; an exit code and text come
 * out. One message each way (SOCK_SEQPACKET), with the text in a memory file, so that neither end waits for the other
 * while it writes.
 *
 *	request  words, each with its final NUL; may carry one descriptor of a regular file
 *	reply    struct control_reply; carries the descriptor of the text
 */
#ifndef FABRIC_CONTROL_H
#define FABRIC_CONTROL_H

#include <stdio.h>

#include "loop.h"

#define CONTROL_SOCKET "control"
#define CONTROL_WORDS_MAX 256
#define CONTROL_REQUEST_MAX 16384
#define CONTROL_INPUT_MAX (256u << 20)	/* of a file */

struct control;

/*
 * Executes a command: words[0 .. n), words[n] is NULL; `input` is the file as text of `len` bytes, NULL if there is
 * none. Writes its text to out. Returns an exit code; the client prints the text of one that is not 0 to stderr.
 */
typedef int control_fn(void *arg, int n, char **words, const char *input, size_t len, FILE *out);

/* Makes the socket in dir. Returns NULL with errno set. */
struct control *control_open(const char *dir, struct loop *loop, control_fn *fn, void *arg);
void control_close(struct control *c);

/*
 * A client's call: connects to the fabric's process, sends, waits for the reply, prints its text. input: a descriptor
 * of a regular file, or -1. Returns the exit code, or 1 after a sentence.
 */
int control_call(const char *fabric, int n, char *const *words, int input);
/* The same with the text in *ret_text (to be freed) instead of printing it, and without a sentence. Returns the exit
 * code, or -errno if the fabric's process cannot be reached. */
int control_ask(const char *fabric, int n, char *const *words, int input, char **ret_text);

#endif
