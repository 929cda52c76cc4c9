/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams of trunks between two ends: forged, replayed, cut, out of order, of former sessions; keys of files. */
#include "trunk_crypt.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

static struct trunk_crypt a, b;

static const uint8_t key[TRUNK_KEY] = { 1, 2, 3 };

struct datagram {
	uint8_t bytes[TRUNK_DATAGRAM_MAX + 1];
	size_t n;
};

static struct datagram wrap(struct trunk_crypt *from, bool to_greeter, const char *text)
{
	struct datagram d = { .n = 0 };

	d.n = trunk_crypt_wrap(from, to_greeter, text, strlen(text), d.bytes);
	return d;
}

static enum trunk_outcome open_one(struct trunk_crypt *at, struct datagram d, const char *want)
{
	uint8_t *body = NULL;
	size_t n = 0;
	enum trunk_outcome r = trunk_crypt_unwrap(at, d.bytes, d.n, &body, &n);

	CHECK(r != TRUNK_BODY || (want && n == strlen(want) && memcmp(body, want, n) == 0));
	return r;
}

/* a greets, b answers, and both know each other. */
static void meet(void)
{
	CHECK(open_one(&b, wrap(&a, false, "hello"), NULL) == TRUNK_GREETING);
	CHECK(open_one(&a, wrap(&b, true, "welcome"), "welcome") == TRUNK_BODY);
	CHECK(open_one(&b, wrap(&a, false, "now"), "now") == TRUNK_BODY);
}

static void test_replay(void)
{
	struct datagram old, d[TRUNK_WINDOW + 2];
	unsigned i;

	meet();
	old = wrap(&a, false, "old");
	CHECK(open_one(&b, old, "old") == TRUNK_BODY && open_one(&b, old, NULL) == TRUNK_REFUSED && b.replayed == 1);
	/* Out of order within the window: each once. */
	for (i = 0; i < TRUNK_WINDOW + 2; i++)
		d[i] = wrap(&a, false, "x");
	CHECK(open_one(&b, d[100], "x") == TRUNK_BODY && open_one(&b, d[3], "x") == TRUNK_BODY);
	CHECK(open_one(&b, d[3], NULL) == TRUNK_REFUSED && open_one(&b, d[100], NULL) == TRUNK_REFUSED);
	CHECK(open_one(&b, d[TRUNK_WINDOW + 1], "x") == TRUNK_BODY && open_one(&b, d[1], NULL) == TRUNK_REFUSED);
	CHECK(open_one(&b, d[2], "x") == TRUNK_BODY);
	/* Its own datagrams, sent back. */
	CHECK(open_one(&a, d[50], NULL) == TRUNK_REFUSED);
}

static void test_forged(void)
{
	struct trunk_crypt stranger;
	static const uint8_t other[TRUNK_KEY] = { 9 };
	struct datagram good = wrap(&a, false, "good"), bad;
	uint64_t before = b.forged;
	size_t i;

	for (i = 0; i < good.n; i++) {
		bad = good;
		bad.bytes[i] ^= 0x40;
		CHECK_MSG(open_one(&b, bad, NULL) == TRUNK_REFUSED, "byte %zu", i);
		bad = good;
		bad.n = i;
		CHECK_MSG(open_one(&b, bad, NULL) == TRUNK_REFUSED, "cut to %zu", i);
	}
	bad = good;
	bad.n = good.n + 1;
	CHECK(open_one(&b, bad, NULL) == TRUNK_REFUSED);
	CHECK(trunk_crypt_init(&stranger, other) == 0);
	CHECK(open_one(&b, wrap(&stranger, false, "hello"), NULL) == TRUNK_REFUSED);
	CHECK(b.forged == before + 2 * good.n + 2);
	CHECK(open_one(&b, good, "good") == TRUNK_BODY);
}

/* A peer that starts anew is learned; what its former session sent, also to this session, is worth nothing. */
static void test_sessions(void)
{
	struct datagram recorded = wrap(&a, false, "recorded"), greeting;

	CHECK(trunk_crypt_init(&a, key) == 0);
	greeting = wrap(&a, false, "hello");
	meet();
	CHECK(open_one(&b, recorded, NULL) == TRUNK_REFUSED);
	/* A greeting may come again: it is answered, and changes nothing. */
	CHECK(open_one(&b, greeting, NULL) == TRUNK_GREETING);
	CHECK(open_one(&b, wrap(&a, false, "still"), "still") == TRUNK_BODY);
	CHECK(open_one(&a, wrap(&b, false, "there"), "there") == TRUNK_BODY);
}

static void write_key(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	CHECK(fd >= 0 && fchmod(fd, mode) == 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void test_keys(void)
{
	char dir[] = "/tmp/dapple-trunk-XXXXXX", path[64];
	uint8_t got[TRUNK_KEY], again[TRUNK_KEY];
	const char *why;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/key", dir);
	CHECK(trunk_crypt_key(path, got, &why) == -ENOENT);
	write_key(path, "0123456789abcdef0123", 0600);
	CHECK(trunk_crypt_key(path, got, &why) == 0 && trunk_crypt_key(path, again, &why) == 0);
	CHECK(memcmp(got, again, sizeof(got)) == 0);
	write_key(path, "0123456789abcdef0123", 0640);
	CHECK(trunk_crypt_key(path, got, &why) == -EACCES && strstr(why, "other users"));
	write_key(path, "short", 0600);
	CHECK(trunk_crypt_key(path, got, &why) == -EINVAL && strstr(why, "fewer than 16"));
	unlink(path);
	CHECK(trunk_crypt_key(dir, got, &why) == -EINVAL && strstr(why, "regular"));
	rmdir(dir);
}

int main(void)
{
	if (trunk_crypt_init(&a, key) < 0)
		SKIP("this build has no libsodium");
	CHECK(trunk_crypt_init(&b, key) == 0);
	test_replay();
	test_forged();
	test_sessions();
	test_keys();
	return 0;
}
