/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What protects the datagrams of a trunk: authenticated encryption (XChaCha20-Poly1305 of libsodium) with a key that
 * both ends read from a file, and a window against replays.
 *
 *	datagram = magic 4, session of the sender 16, counter 8 | encrypted: session that the sender knows of the
 *	           receiver 16, body | tag 16
 *
 * Session and counter are the nonce: a sender draws a session when it starts and counts its datagrams. A datagram counts
 * as the peer's only if it names the receiver's own session, so one that was recorded in an earlier session is worth
 * nothing; without that name it is a greeting, which is answered and changes nothing. A session of the peer that another
 * one has followed never comes back.
 */
#ifndef FABRIC_TRUNK_CRYPT_H
#define FABRIC_TRUNK_CRYPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRUNK_KEY 32u
#define TRUNK_SESSION 16u
#define TRUNK_OVERHEAD (4u + TRUNK_SESSION + 8u + TRUNK_SESSION + 16u)
#define TRUNK_BODY_MAX 4608u	/* a packet of the greatest MTU with all its headers */
#define TRUNK_DATAGRAM_MAX (TRUNK_BODY_MAX + TRUNK_OVERHEAD)
#define TRUNK_FORMER_MAX 256u	/* so often the peer may start anew; then this end must */
#define TRUNK_WINDOW 1024u	/* datagrams that may overtake each other */

struct trunk_crypt {
	uint8_t key[TRUNK_KEY];
	uint8_t own[TRUNK_SESSION], peer[TRUNK_SESSION], greeter[TRUNK_SESSION];
	bool knows_peer;
	unsigned n_former;			/* sessions of the peer that have ended */
	uint8_t former[TRUNK_FORMER_MAX][TRUNK_SESSION];
	uint64_t sent, newest;			/* counters */
	uint8_t seen[TRUNK_WINDOW / 8];		/* of the peer's session, by counter modulo the window */
	uint64_t forged, replayed;
};

enum trunk_outcome {
	TRUNK_BODY,		/* the peer's: *ret_body is it */
	TRUNK_GREETING,		/* authentic, but it does not know this session: answer it */
	TRUNK_REFUSED,		/* forged, cut, replayed, or of another session: counted */
};

/* Draws a session. Returns 0, or -ENOSYS if this build has no libsodium. */
int trunk_crypt_init(struct trunk_crypt *c, const uint8_t key[TRUNK_KEY]);
/* Reads a key: a regular file of this user with mode 0600 or stricter, 16 to 4,096 bytes. Returns 0, or a negative errno
 * with a phrase in *ret_why. */
int trunk_crypt_key(const char *path, uint8_t ret[TRUNK_KEY], const char **ret_why);

/* Makes a datagram of a body of n bytes, at most TRUNK_BODY_MAX; to_greeter: for the sender of the last greeting, else for
 * the peer. Returns its length. */
size_t trunk_crypt_wrap(struct trunk_crypt *c, bool to_greeter, const void *body, size_t n,
			uint8_t ret[TRUNK_DATAGRAM_MAX]);
/* Opens one, in place. */
enum trunk_outcome trunk_crypt_unwrap(struct trunk_crypt *c, uint8_t *datagram, size_t n, uint8_t **ret_body,
				      size_t *ret_n);

#endif
