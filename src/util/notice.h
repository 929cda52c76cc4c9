/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sentences for `dapple why` have a level. A room below the device room, which keeps them, and without an adapter at
 * hand (engine/dev.h: why) says a notice here.
 */
#ifndef UTIL_NOTICE_H
#define UTIL_NOTICE_H

enum ut_say {
	UT_SAY_FAILURE, /* something was refused, or ended as the program did not intend */
	UT_SAY_NOTICE,  /* works, but not as the user would expect */
	UT_SAY_END,     /* a normal end, of interest to a user who looks for the end of a connection */
};

/* Writes a warning to the log, and hands the sentence over. Called from any thread, with any lock held. */
void ut_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Notices go to this function from now on; before, and after NULL, only to the log. */
void ut_notice_to(void (*keep)(enum ut_say level, const char *sentence));

#endif
