/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trunk_crypt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/sys.h"

#ifdef HAVE_SODIUM
#include <sodium.h>

#define MAGIC "dplT"
#define KEY_MIN 16
#define KEY_MAX 4096
#define HEAD (4u + TRUNK_SESSION + 8u)

_Static_assert(TRUNK_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert(TRUNK_SESSION + 8 == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");
_Static_assert(16 == crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");

int trunk_crypt_init(struct trunk_crypt *c, const uint8_t key[TRUNK_KEY])
{
	if (sodium_init() < 0)
		return -EIO;
	memset(c, 0, sizeof(*c));
	memcpy(c->key, key, TRUNK_KEY);
	randombytes_buf(c->own, sizeof(c->own));
	return 0;
}

static int check_file(int fd, const char **ret_why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_why = "it is no regular file";
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_why = "it belongs to another user";
	if (st.st_uid != geteuid())
		return -EACCES;
	*ret_why = "other users may read or write it";
	return st.st_mode & 077 ? -EACCES : 0;
}

int trunk_crypt_key(const char *path, uint8_t ret[TRUNK_KEY], const char **ret_why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), r;
	uint8_t text[KEY_MAX + 1];
	ssize_t n = 0;

	*ret_why = "it cannot be opened";
	if (fd < 0)
		return -errno;
	r = check_file(fd, ret_why);
	if (r == 0)
		n = read(fd, text, sizeof(text));
	ut_close(fd);
	if (r < 0)
		return r;
	*ret_why = "it has fewer than 16 bytes, or more than 4096";
	if (n < KEY_MIN || n > KEY_MAX)
		return -EINVAL;
	crypto_generichash(ret, TRUNK_KEY, text, (unsigned long long)n, NULL, 0);
	sodium_memzero(text, sizeof(text));
	return 0;
}

static void put64(uint8_t *to, uint64_t v)
{
	int i;

	for (i = 7; i >= 0; i--, v >>= 8)
		to[i] = (uint8_t)v;
}

static uint64_t get64(const uint8_t *from)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < 8; i++)
		v = v << 8 | from[i];
	return v;
}

size_t trunk_crypt_wrap(struct trunk_crypt *c, bool to_greeter, const void *body, size_t n,
			uint8_t ret[TRUNK_DATAGRAM_MAX])
{
	uint8_t plain[TRUNK_SESSION + TRUNK_BODY_MAX];
	unsigned long long len;

	memcpy(ret, MAGIC, 4);
	memcpy(ret + 4, c->own, TRUNK_SESSION);
	put64(ret + 4 + TRUNK_SESSION, ++c->sent);
	memcpy(plain, to_greeter ? c->greeter : c->peer, TRUNK_SESSION);
	memcpy(plain + TRUNK_SESSION, body, n);
	crypto_aead_xchacha20poly1305_ietf_encrypt(ret + HEAD, &len, plain, TRUNK_SESSION + n, ret, 4, NULL, ret + 4,
						   c->key);
	return HEAD + (size_t)len;
}

static bool take_counter(struct trunk_crypt *c, uint64_t counter)
{
	uint64_t i;

	if (counter + TRUNK_WINDOW <= c->newest || counter == 0)
		return false;
	for (i = c->newest + 1; i <= counter && i <= c->newest + TRUNK_WINDOW; i++)
		c->seen[i % TRUNK_WINDOW / 8] &= (uint8_t)~(1u << i % 8);
	if (counter > c->newest)
		c->newest = counter;
	i = counter % TRUNK_WINDOW;
	if (c->seen[i / 8] >> i % 8 & 1)
		return false;
	c->seen[i / 8] |= (uint8_t)(1u << i % 8);
	return true;
}

/* Own datagrams that an attacker sends back are not the peer's. */
static bool is_own(const struct trunk_crypt *c, const uint8_t *session)
{
	return memcmp(session, c->own, TRUNK_SESSION) == 0;
}

static enum trunk_outcome refuse_replay(struct trunk_crypt *c)
{
	c->replayed++;
	return TRUNK_REFUSED;
}

static bool is_former(const struct trunk_crypt *c, const uint8_t *session)
{
	unsigned i;

	for (i = 0; i < c->n_former; i++)
		if (memcmp(c->former[i], session, TRUNK_SESSION) == 0)
			return true;
	return false;
}

/* The sender knows this session, so it lives: its own one is the peer's from now on. */
static bool adopt(struct trunk_crypt *c, const uint8_t *session)
{
	if (c->knows_peer && memcmp(session, c->peer, TRUNK_SESSION) == 0)
		return true;
	if (c->knows_peer && c->n_former == TRUNK_FORMER_MAX)
		return false;
	if (c->knows_peer)
		memcpy(c->former[c->n_former++], c->peer, TRUNK_SESSION);
	memcpy(c->peer, session, TRUNK_SESSION);
	memset(c->seen, 0, sizeof(c->seen));
	c->newest = 0;
	c->knows_peer = true;
	return true;
}

static enum trunk_outcome judge(struct trunk_crypt *c, const uint8_t *datagram, const uint8_t *plain)
{
	const uint8_t *session = datagram + 4;

	if (is_own(c, session))
		return refuse_replay(c);
	if (is_former(c, session))
		return refuse_replay(c);
	if (!is_own(c, plain)) {
		memcpy(c->greeter, session, TRUNK_SESSION);
		return TRUNK_GREETING;
	}
	if (!adopt(c, session))
		return refuse_replay(c);
	return take_counter(c, get64(datagram + 4 + TRUNK_SESSION)) ? TRUNK_BODY : refuse_replay(c);
}

enum trunk_outcome trunk_crypt_unwrap(struct trunk_crypt *c, uint8_t *datagram, size_t n, uint8_t **ret_body,
				      size_t *ret_n)
{
	uint8_t *plain = datagram + HEAD;
	unsigned long long len;
	enum trunk_outcome r;

	if (n < TRUNK_OVERHEAD || n > TRUNK_DATAGRAM_MAX || memcmp(datagram, MAGIC, 4) != 0 ||
	    crypto_aead_xchacha20poly1305_ietf_decrypt(plain, &len, NULL, plain, n - HEAD, datagram, 4, datagram + 4,
						       c->key) != 0) {
		c->forged++;
		return TRUNK_REFUSED;
	}
	r = judge(c, datagram, plain);
	*ret_body = plain + TRUNK_SESSION;
	*ret_n = (size_t)len - TRUNK_SESSION;
	return r;
}

#else /* without libsodium no trunk is made: see trunk_open() */

int trunk_crypt_init(struct trunk_crypt *c, const uint8_t key[TRUNK_KEY])
{
	return -ENOSYS;
}

int trunk_crypt_key(const char *path, uint8_t ret[TRUNK_KEY], const char **ret_why)
{
	*ret_why = "this build has no libsodium";
	return -ENOSYS;
}

size_t trunk_crypt_wrap(struct trunk_crypt *c, bool to_greeter, const void *body, size_t n,
			uint8_t ret[TRUNK_DATAGRAM_MAX])
{
	return 0;
}

enum trunk_outcome trunk_crypt_unwrap(struct trunk_crypt *c, uint8_t *datagram, size_t n, uint8_t **ret_body,
				      size_t *ret_n)
{
	return TRUNK_REFUSED;
}

#endif
