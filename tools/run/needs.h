/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_NEEDS_H
#define RUN_NEEDS_H

/*
 * Reads what the program and the libraries behind it link from the libraries in `libdir`, by symbol and version
 * node, and prints a sentence for each of these objects that needs a symbol which the library there lacks: the
 * loader names the node alone, or ends the process at the first call. LD_LIBRARY_PATH is as the program gets it.
 * So are the plug-ins of UCX, libfabric and Open MPI, where the program links these: without its symbol a plug-in
 * is left out in silence. Returns the number of sentences. A script, a file of another machine and other libraries
 * that are loaded later (dlopen) are not checked.
 */
unsigned run_needs_check(const char *libdir, const char *program);

#endif
