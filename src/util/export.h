/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Symbols that a shared library exports. Everything is compiled -fvisibility=hidden; a function of
 * libdapple.so.0 that the ABI shells call, and every function of a shell's ABI, carries UT_EXPORT.
 * The version script next to the library names it as well, so that a forgotten mark shows up as an
 * undefined symbol and a forgotten name as a failing export check.
 */
#ifndef UTIL_EXPORT_H
#define UTIL_EXPORT_H

#define UT_EXPORT __attribute__((visibility("default")))

/*
 * A versioned symbol, for instance of an older ABI: UT_SYMVER("ibv_alloc_pd@IBVERBS_1.0"). It is an
 * attribute because link-time optimisation loses assembler lines. clang has no such attribute: it
 * can check the shells but not build them.
 */
#if defined(__has_attribute)
#if __has_attribute(symver)
#define UT_SYMVER(versioned) __attribute__((symver(versioned)))
#endif
#endif
#ifndef UT_SYMVER
#define UT_SYMVER(versioned)
#endif

#endif
