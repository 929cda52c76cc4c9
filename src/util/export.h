/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What leaves a shared library. Everything is compiled -fvisibility=hidden; a function that the
 * ABI shells call in libdapple.so.0, and every function of a shell's own ABI, carries UT_EXPORT.
 * The version script next to the library names it besides, so that a forgotten mark shows up as
 * an undefined symbol and a forgotten name as a failing export check.
 */
#ifndef UTIL_EXPORT_H
#define UTIL_EXPORT_H

#define UT_EXPORT __attribute__((visibility("default")))

/*
 * A versioned symbol, for instance an old twin: UT_SYMVER("ibv_alloc_pd@IBVERBS_1.0"). As an
 * attribute and not as an assembler line, since the latter goes astray under link-time
 * optimisation. clang has no such attribute; it may read the shells but not build them.
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
