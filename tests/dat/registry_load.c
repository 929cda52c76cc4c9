/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A registry's treatment of dat.conf and of its libraries, seen by a program and by a provider:
 * registry_load LIBRARY FAKE [common]. Each case is a process, since dat.conf is read once.
 * "common": only behaviour that the distribution's registry shares, which proves the fake provider.
 */
#include "registry_lib.h"

#include "support/check.h"

#include <sys/wait.h>
#include <unistd.h>

static const char *lib, *fake;
static struct registry r;

#define LINE(name, version, threads, params) \
	name " u" version " " threads " default FAKE dapl.2.0 \"" params "\" \"\"\n"

static void setup(const char *conf, bool global)
{
	registry_conf(fake, conf);
	registry_open(&r, lib, global);
}

static DAT_RETURN open_as(const char *name, unsigned major, unsigned minor, DAT_BOOLEAN safe,
			  DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE unused;

	return r.openv((DAT_NAME_PTR)name, 8, &evd, ia ? ia : &unused, major, minor, safe);
}

static void expect(DAT_RETURN have, DAT_RETURN want)
{
	CHECK_MSG(have == want, "%#x instead of %#x", have, want);
}

static void expect_trace(const char *want)
{
	char *have = registry_trace();

	CHECK_MSG(strcmp(have, want) == 0, "trace:\n%sinstead of:\n%s", have, want);
	free(have);
}

#define NOT_FOUND(why) ERR(PROVIDER_NOT_FOUND, why)

static void protocol(void)
{
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	setup(LINE("one", "2.0", "nonthreadsafe", "a \\\"q\\\" \\\\ b") LINE("two", "2.0", "threadsafe", ""), true);
	expect_trace("");
	for (int i = 0; i < 3; i++) {
		expect(open_as("one", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
		CHECK((uintptr_t)ia > 0 && (uintptr_t)ia < 65536);
		CHECK(i || (uintptr_t)ia == 1);
		expect_trace("init one a \"q\" \\ b\nopen one\nquery one all\n");
		expect(r.pz_create(ia, &pz), DAT_SUCCESS);
		expect(r.pz_free(pz), DAT_SUCCESS);
		expect(r.close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		expect_trace("close one\nfini one\n");
	}
}

static void two_at_once(void)
{
	DAT_IA_HANDLE a, b, c;

	setup(LINE("one", "2.0", "nonthreadsafe", "x") LINE("two", "2.0", "threadsafe", "y"), true);
	expect(open_as("one", 2, 0, DAT_FALSE, &a), DAT_SUCCESS);
	expect(open_as("two", 2, 0, DAT_TRUE, &b), DAT_SUCCESS);
	expect(open_as("one", 2, 0, DAT_FALSE, &c), DAT_SUCCESS);
	CHECK(a != b && b != c && a != c);
	free(registry_trace());
	expect(r.close(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	expect_trace("close one\n");
	expect(r.close(c, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	expect_trace("close one graceful\nfini one\n");
	expect(r.close(b, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	expect_trace("close two\nfini two\n");
}

static void names(void)
{
	setup(LINE("one", "2.0", "nonthreadsafe", "")
	      "nond u2.0 nonthreadsafe nondefault FAKE dapl.2.0 \"\" \"\"\n"
	      "kern k2.0 nonthreadsafe default FAKE dapl.2.0 \"\" \"\"\n", true);
	expect(open_as("none", 2, 0, DAT_FALSE, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
	expect(open_as("", 2, 0, DAT_FALSE, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
	expect(open_as("nond", 2, 0, DAT_FALSE, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
	expect(open_as("kern", 2, 0, DAT_FALSE, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
	expect_trace("");
}

static void no_file(void)
{
	setup(NULL, true);
	expect(open_as("one", 2, 0, DAT_FALSE, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
	expect(open_as("dapple-roce-lo", 2, 0, DAT_FALSE, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
}

static void fallbacks(void)
{
	setup("one u2.0 nonthreadsafe default /nonexistent/lib.so dapl.2.0 \"\" \"\"\n"
	      LINE("one", "2.0", "nonthreadsafe", "second"), true);
	expect(open_as("one", 2, 0, DAT_FALSE, NULL), DAT_SUCCESS);
	expect_trace("init one second\nopen one\nquery one all\n");
}

static void open_fails(void)
{
	setup(LINE("bad", "2.0", "nonthreadsafe", "openfail"), true);
	for (int i = 0; i < 2; i++) {
		expect(open_as("bad", 2, 0, DAT_FALSE, NULL),
		       ERR(INVALID_ADDRESS, INVALID_ADDRESS_UNREACHABLE));
		expect_trace("init bad openfail\nopen bad\nfini bad\n");
	}
}

static void extensions(void)
{
	DAT_UINT64 sum = 0;
	DAT_IA_HANDLE ia;

	setup(LINE("ext", "2.0", "nonthreadsafe", "ext"), true);
	expect(open_as("ext", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	expect(r.extension_op(ia, 77, (DAT_UINT64)40, (DAT_UINT64)2, &sum), DAT_SUCCESS);
	CHECK(sum == 42);
}

static void listing(void)
{
	DAT_PROVIDER_INFO info[5], *list[5];
	DAT_COUNT n = -1;

	for (int i = 0; i < 5; i++)
		list[i] = &info[i];
	setup(LINE("one", "2.0", "nonthreadsafe", "") LINE("two", "2.1", "threadsafe", "")
	      LINE("one", "2.0", "nonthreadsafe", "again") LINE("one", "1.2", "nonthreadsafe", ""), true);
	expect(r.list(0, &n, list), ERR(INVALID_PARAMETER, INVALID_ARG1));
	CHECK(n == 3);
	expect(r.list(2, &n, list), DAT_SUCCESS);
	CHECK(n == 2);
	expect(r.list(5, &n, list), DAT_SUCCESS);
	CHECK(n == 3);
	CHECK(strcmp(info[0].ia_name, "one") == 0 && info[0].dapl_version_major == 2);
	CHECK(strcmp(info[1].ia_name, "two") == 0 && info[1].dapl_version_minor == 1);
	CHECK(info[1].is_thread_safe == DAT_TRUE);
	CHECK(strcmp(info[2].ia_name, "one") == 0 && info[2].dapl_version_major == 1);
	expect(r.list(5, NULL, list), ERR(INVALID_PARAMETER, INVALID_ARG2));
	expect(r.list(5, &n, NULL), ERR(INVALID_PARAMETER, INVALID_ARG3));
}

/* From here on the distribution's registry does less. */

static void lenient(void)
{
	DAT_IA_HANDLE ia;

	setup(LINE("new", "2.3", "nonthreadsafe", "n") LINE("safe", "2.0", "threadsafe", "s")
	      LINE("both", "2.0", "threadsafe", "t") LINE("both", "2.0", "nonthreadsafe", "u"), true);
	expect(open_as("new", 2, 1, DAT_FALSE, &ia), DAT_SUCCESS);
	expect(r.close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	expect_trace("init new n\nopen new\nquery new all\nclose new\nfini new\n");
	expect(open_as("safe", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	free(registry_trace());
	/* The exact one, though it stands behind. */
	expect(open_as("both", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	expect_trace("init both u\nopen both\nquery both all\n");
	expect(open_as("both", 2, 0, DAT_TRUE, &ia), DAT_SUCCESS);
	expect_trace("init both t\nopen both\nquery both all\n");
}

static void wrong_versions(void)
{
	setup(LINE("new", "2.3", "nonthreadsafe", "") LINE("one", "2.0", "threadsafe", ""), true);
	expect(open_as("new", 3, 0, DAT_FALSE, NULL), NOT_FOUND(MAJOR_NOT_FOUND));
	expect(open_as("new", 1, 2, DAT_FALSE, NULL), NOT_FOUND(MAJOR_NOT_FOUND));
	expect(open_as("new", 2, 4, DAT_FALSE, NULL), NOT_FOUND(MINOR_NOT_FOUND));
	expect(open_as("new", 2, 0, DAT_TRUE, NULL), NOT_FOUND(THREAD_SAFETY_NOT_FOUND));
	expect(open_as("one", 2, 1, DAT_TRUE, NULL), NOT_FOUND(MINOR_NOT_FOUND));
	expect_trace("");
}

static void bad_libraries(void)
{
	setup("missing u2.0 nonthreadsafe default /nonexistent/lib.so dapl.2.0 \"\" \"\"\n"
	      "foreign u2.0 nonthreadsafe default libm.so.6 dapl.2.0 \"\" \"\"\n"
	      "folder u2.0 nonthreadsafe default /tmp dapl.2.0 \"\" \"\"\n"
	      "device u2.0 nonthreadsafe default /dev/null dapl.2.0 \"\" \"\"\n"
	      LINE("silent", "2.0", "nonthreadsafe", "silent")
	      LINE("null", "2.0", "nonthreadsafe", "nullia"), true);
	for (int i = 0; i < 2; i++) {
		expect(open_as("missing", 2, 0, 0, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
		expect(open_as("foreign", 2, 0, 0, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
		expect(open_as("folder", 2, 0, 0, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
		expect(open_as("device", 2, 0, 0, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
		expect_trace("");
		expect(open_as("silent", 2, 0, 0, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
		expect_trace("init silent silent\nfini silent\n");
		expect(open_as("null", 2, 0, 0, NULL), ERR(INTERNAL_ERROR, NO_SUBTYPE));
		expect_trace("init null nullia\nopen null\nfini null\n");
	}
}

static void opens_itself(void)
{
	setup(LINE("self", "2.0", "nonthreadsafe", "self"), true);
	expect(open_as("self", 2, 0, DAT_FALSE, NULL), DAT_SUCCESS);
	expect_trace("init self self\nself self 800a0064\nopen self\nquery self all\n");
}

static void registers_twice(void)
{
	setup(LINE("one", "2.0", "nonthreadsafe", "again"), true);
	expect(open_as("one", 2, 0, DAT_FALSE, NULL), DAT_SUCCESS);
	expect_trace("init one again\nopen one\nquery one all\n");
}

/* A program that dlopens the library without RTLD_GLOBAL. */
static void local(void)
{
	DAT_IA_HANDLE ia;

	setup(LINE("one", "2.0", "nonthreadsafe", "x"), false);
	expect(open_as("one", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	expect(r.close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	expect_trace("init one x\nopen one\nquery one all\nclose one\nfini one\n");
}

/* Extensions of one provider must not open those of another. */
static void extensions_per_ia(void)
{
	DAT_IA_HANDLE with, without, holes;
	DAT_UINT64 sum = 0;

	setup(LINE("ext", "2.0", "nonthreadsafe", "ext") LINE("plain", "2.0", "nonthreadsafe", "p")
	      LINE("holes", "2.0", "nonthreadsafe", "ext holes"), true);
	expect(open_as("ext", 2, 0, DAT_FALSE, &with), DAT_SUCCESS);
	expect(open_as("plain", 2, 0, DAT_FALSE, &without), DAT_SUCCESS);
	expect(open_as("holes", 2, 0, DAT_FALSE, &holes), DAT_SUCCESS);
	expect(r.extension_op(with, 77, (DAT_UINT64)1, (DAT_UINT64)2, &sum), DAT_SUCCESS);
	expect(r.extension_op(without, 77, (DAT_UINT64)1, (DAT_UINT64)2, &sum), 0xBFFF0000);
	expect(r.extension_op(holes, 77, (DAT_UINT64)1, (DAT_UINT64)2, &sum), 0xBFFF0000);
	CHECK(sum == 3);
}

static void open_query(void)
{
	DAT_HANDLE handle = NULL;
	DAT_IA_ATTR attr;

	setup(LINE("ext", "2.0", "nonthreadsafe", "ext"), true);
	memset(&attr, 0, sizeof(attr));
	expect(r.extension_op(NULL, 0x1000, (DAT_NAME_PTR)"ext", &handle, DAT_IA_FIELD_ALL, &attr,
			      (DAT_PROVIDER_ATTR_MASK)0, NULL), DAT_SUCCESS);
	CHECK(handle && attr.extension_supported == DAT_EXTENSION_IB);
	free(registry_trace());
	expect(r.extension_op(handle, 0x2000), DAT_SUCCESS);
	expect_trace("close ext\nfini ext\n");
	expect(r.extension_op(handle, 0x2000), ERR(INVALID_HANDLE, INVALID_HANDLE1));
	expect(r.extension_op(NULL, 0x1000, (DAT_NAME_PTR)"none", &handle, DAT_IA_FIELD_ALL, &attr,
			      (DAT_PROVIDER_ATTR_MASK)0, NULL), NOT_FOUND(NAME_NOT_REGISTERED));
}

static void graceful_close(void)
{
	DAT_IA_HANDLE ia;

	setup(LINE("one", "2.0", "nonthreadsafe", "inuse"), true);
	expect(open_as("one", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	free(registry_trace());
	expect(r.close(ia, DAT_CLOSE_GRACEFUL_FLAG), ERR(INVALID_STATE, INVALID_STATE_IA_IN_USE));
	expect_trace("close one graceful\n");
	expect(r.close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	expect(r.close(ia, DAT_CLOSE_ABRUPT_FLAG), ERR(INVALID_HANDLE, INVALID_HANDLE_IA));
}

static void related(void)
{
	DAT_RETURN (*call)(const DAT_NAME_PTR, const DAT_NAME_PTR, DAT_HA_RELATIONSHIP *);
	DAT_NAME_PTR a = (DAT_NAME_PTR)"a", b = (DAT_NAME_PTR)"b", old = (DAT_NAME_PTR)"old";
	DAT_HA_RELATIONSHIP is = DAT_HA_EXTENSION_BASE;

	setup(LINE("a", "2.0", "nonthreadsafe", "related") LINE("b", "2.0", "nonthreadsafe", "not")
	      LINE("c", "2.0", "nonthreadsafe", "related") LINE("old", "2.0", "threadsafe", "holes"),
	      true);
	*(void **)&call = registry_sym(&r, "dat_registry_providers_related");
	expect(call(a, (DAT_NAME_PTR)"none", &is), ERR(INVALID_PARAMETER, INVALID_ARG2));
	expect(call(NULL, a, &is), ERR(INVALID_PARAMETER, INVALID_ARG1));
	expect(call(a, b, NULL), ERR(INVALID_PARAMETER, INVALID_ARG3));
	expect(call(a, a, &is), DAT_SUCCESS);
	CHECK(is == DAT_HA_TRUE);
	expect(call(a, (DAT_NAME_PTR)"c", &is), DAT_SUCCESS);
	CHECK(is == DAT_HA_TRUE);
	expect(call(a, b, &is), DAT_SUCCESS);
	CHECK(is == DAT_HA_CONFLICTING);
	expect(call(old, b, &is), DAT_SUCCESS);
	CHECK(is == DAT_HA_FALSE);
	expect(call(old, old, &is), DAT_SUCCESS);
	CHECK(is == DAT_HA_TRUE);
}

/* More names than any host has, all open. */
static void many(void)
{
	char *conf = calloc(1, 1 << 20), *at = conf, name[16];
	DAT_IA_HANDLE ia[300];

	for (int i = 0; i < 300; i++)
		at += sprintf(at, "n%d u2.0 threadsafe default FAKE dapl.2.0 \"p%d\" \"\"\n", i, i);
	setup(conf, true);
	for (int i = 0; i < 300; i++) {
		sprintf(name, "n%d", i);
		expect(open_as(name, 2, 0, DAT_TRUE, &ia[i]), DAT_SUCCESS);
	}
	for (int i = 0; i < 300; i++)
		expect(r.close(ia[i], DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	free(conf);
}

/* Arbitrary dat.conf: its legal lines count. Nothing is printed without DAT_DBG_TYPE. */
static void garbage(void)
{
	int out[2], n;
	char text[4096];

	CHECK(!pipe(out));
	CHECK(dup2(out[1], 1) == 1 && dup2(out[1], 2) == 2);
	unsetenv("DAT_DBG_TYPE");
	setup("\x01\xff\xfe garbage\n\"open quote\nx y z\none u9999999.0 threadsafe\n"
	      LINE("one", "2.0", "nonthreadsafe", ""), true);
	expect(open_as("one", 2, 0, DAT_FALSE, NULL), DAT_SUCCESS);
	CHECK(write(out[1], "end", 3) == 3);
	n = (int)read(out[0], text, sizeof(text));
	CHECK(n == 3);
}

static const struct {
	const char *name;
	void (*run)(void);
	bool common;
} cases[] = {
	{ "load protocol", protocol, true },
	{ "two providers at once", two_at_once, true },
	{ "names not to be found", names, true },
	{ "DAT_OVERRIDE without a file", no_file, true },
	{ "second line of a name", fallbacks, true },
	{ "open fails in the provider", open_fails, true },
	{ "extensions", extensions, true },
	{ "listing", listing, true },
	{ "lenient matching", lenient, false },
	{ "wrong versions", wrong_versions, false },
	{ "bad libraries", bad_libraries, false },
	{ "provider that opens itself", opens_itself, false },
	{ "provider that registers twice", registers_twice, false },
	{ "library not global", local, false },
	{ "extensions of one provider only", extensions_per_ia, false },
	{ "query without open", open_query, false },
	{ "graceful close refused", graceful_close, false },
	{ "related adapters", related, false },
	{ "300 names at once", many, false },
	{ "garbage in dat.conf", garbage, false },
};

/* 0, 1 or 77. */
static int run_case(void (*run)(void))
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		run();
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	bool common = argc > 3 && strcmp(argv[3], "common") == 0;
	int bad = 0, rc;

	CHECK(argc > 2);
	lib = argv[1];
	fake = argv[2];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (common && !cases[i].common)
			continue;
		rc = run_case(cases[i].run);
		if (rc == 77)
			return 77;
		printf("%s %s\n", rc ? "not ok" : "ok", cases[i].name);
		fflush(stdout);
		bad += rc != 0;
	}
	return bad != 0;
}
