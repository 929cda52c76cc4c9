/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report.h"

#include "../run/run.h"
#include "../run/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const struct report_kind report_kinds[CHECK_N] = {
#define K(name, text, rule, remedy) [CHECK_##name] = { text, rule, remedy },
	CHECK_KINDS(K)
#undef K
};

static char *copy(const char *v)
{
	char *c = strdup(v ? v : "");

	if (!c)
		abort();
	return c;
}

/* --- lines --- */

/* "\x20" in names of files. */
static void unescape(char *v)
{
	char *to = v;

	while (*v)
		if (v[0] == '\\' && v[1] == 'x' && v[2] && v[3]) {
			char hex[3] = { v[2], v[3], 0 };

			*to++ = (char)strtol(hex, NULL, 16);
			v += 4;
		} else {
			*to++ = *v++;
		}
	*to = 0;
}

/* Inline functions of the headers: the call in the program is further out. */
static bool is_header_call(const char *function)
{
	static const char *const names[] = { "ibv_post_", "ibv_poll_cq", "ibv_req_notify_cq", "__ibv_reg_mr", "rdma_post_", "rdma_reg_",
					     "ibv_create_qp_ex", "ibv_create_cq_ex", "rdma_seterrno" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(function, names[i], strlen(names[i])))
			return true;
	return false;
}

static void take_place(struct report_frame *f, const char *function, char *place)
{
	char *colon = strrchr(place, ':');

	free(f->function);
	free(f->file);
	f->line = 0;
	if (colon) {
		f->line = (unsigned)strtoul(colon + 1, NULL, 10);
		*colon = 0;
	}
	f->function = copy(function);
	f->file = copy(place);
}

/* addr2line -f -i -a prints a line with each address, and behind it two for each function that was inlined there, the innermost
 * first: the function, and FILE:LINE. The first that is none of the headers is taken. */
static void read_places(struct report_frame **f, size_t n, FILE *in)
{
	char *line = NULL, *function = NULL;
	size_t room = 0, at = 0;
	bool taken = false;

	while (getline(&line, &room, in) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0x", 2) && !function) {
			at++;
			taken = false;
		} else if (!function) {
			function = copy(line);
		} else {
			if (at && at <= n && !taken)
				take_place(f[at - 1], function, line);
			taken = taken || !is_header_call(function);
			free(function);
			function = NULL;
		}
	}
	free(function);
	free(line);
}

static pid_t start_addr2line(const char *module, FILE *addresses, FILE **ret_out)
{
	int pipefd[2];
	pid_t pid;

	if (pipe(pipefd) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(fileno(addresses), 0);
		dup2(pipefd[1], 1);
		close(pipefd[0]);
		close(pipefd[1]);
		unsetenv("LD_PRELOAD");
		unsetenv("LD_LIBRARY_PATH");
		execlp("addr2line", "addr2line", "-f", "-i", "-a", "-C", "-e", module, (char *)NULL);
		_exit(127);
	}
	close(pipefd[1]);
	*ret_out = pid < 0 ? NULL : fdopen(pipefd[0], "r");
	if (!*ret_out)
		close(pipefd[0]);
	return pid;
}

/* All frames of one module at once, since the program takes its time to read it. Without the program all stays unknown. */
static void ask_addr2line(struct report_frame **f, size_t n)
{
	FILE *addresses = tmpfile(), *out = NULL;
	int status;
	pid_t pid;

	if (!addresses)
		return;
	for (size_t i = 0; i < n; i++)
		fprintf(addresses, "%s\n", f[i]->offset);
	rewind(addresses);
	pid = start_addr2line(f[0]->module, addresses, &out);
	if (out) {
		read_places(f, n, out);
		fclose(out);
	}
	fclose(addresses);
	if (pid > 0)
		waitpid(pid, &status, 0);
}

static void read_frame(struct report_frame *f, char *text)
{
	char *plus = strrchr(text, '+');

	*f = (struct report_frame){ .line = 0 };
	if (plus)
		*plus++ = 0;
	unescape(text);
	f->module = copy(text);
	f->offset = copy(plus);
}

static int by_module(const void *a, const void *b)
{
	const struct report_frame *const *x = a, *const *y = b;

	return strcmp((*x)->module, (*y)->module);
}

static void find_places(struct reports *r)
{
	struct report_frame **f = calloc(r->n * REPORT_FRAMES + 1, sizeof(struct report_frame *));
	size_t n = 0, to;

	if (!f)
		abort();
	for (size_t i = 0; i < r->n; i++)
		for (int k = 0; k < r->v[i].n_frames; k++)
			f[n++] = &r->v[i].frame[k];
	qsort(f, n, sizeof(struct report_frame *), by_module);
	for (size_t from = 0; from < n; from = to) {
		for (to = from; to < n && !strcmp(f[to]->module, f[from]->module); to++)
			;
		ask_addr2line(f + from, to - from);
	}
	for (size_t i = 0; i < n; i++) {
		f[i]->function = f[i]->function ? f[i]->function : copy("??");
		f[i]->file = f[i]->file ? f[i]->file : copy("??");
	}
	free(f);
}

/* Without optimisation the inline functions of the headers are functions. */
static void skip_inline(struct report *r)
{
	while (r->n_frames > 1 && is_header_call(r->frame[0].function))
		memmove(r->frame, r->frame + 1, (size_t)--r->n_frames * sizeof(r->frame[0]));
}

/* The frames that lead to main() or to a thread's function are the same everywhere. */
static void cut_start(struct report *r)
{
	static const char *const names[] = { "__libc_start", "_start", "start_thread", "clone" };

	for (int i = 1; i < r->n_frames; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (!strncmp(r->frame[i].function, names[k], strlen(names[k]))) {
				r->n_frames = i;
				return;
			}
}

static bool read_report(struct report *r, char *line)
{
	char *save = NULL, *field[5];

	line[strcspn(line, "\n")] = 0;
	/* strsep() keeps empty fields: a report may have no frames. */
	for (int i = 0; i < 5; i++)
		field[i] = i < 4 ? strsep(&line, "\t") : line;
	if (!field[4] || strtoul(field[0], NULL, 10) >= CHECK_N)
		return false;
	*r = (struct report){ .kind = (enum check_kind)strtoul(field[0], NULL, 10), .pid = strtol(field[1], NULL, 10),
			      .program = copy(field[2]), .sentence = copy(field[4]) };
	for (char *f = strtok_r(field[3], " ", &save); f && r->n_frames < REPORT_FRAMES; f = strtok_r(NULL, " ", &save))
		read_frame(&r->frame[r->n_frames++], f);
	return true;
}

void reports_read(struct reports *ret, FILE *in)
{
	char *line = NULL;
	size_t room = 0;
	struct report r;

	*ret = (struct reports){ 0 };
	while (getline(&line, &room, in) > 0) {
		if (!read_report(&r, line))
			continue;
		ret->v = realloc(ret->v, (ret->n + 1) * sizeof(*ret->v));
		if (!ret->v)
			abort();
		ret->v[ret->n++] = r;
	}
	free(line);
	find_places(ret);
	for (size_t i = 0; i < ret->n; i++) {
		skip_inline(&ret->v[i]);
		cut_start(&ret->v[i]);
	}
}

/* --- suppressions --- */

static const struct report_frame *site_of(const struct report *r)
{
	static const struct report_frame none = { .function = (char *)"??", .file = (char *)"??", .module = (char *)"??" };

	return r->n_frames ? &r->frame[0] : &none;
}

static bool matches(const struct report *r, const char *kind, const char *file, const char *function)
{
	const struct report_frame *f = site_of(r);

	return !fnmatch(kind, report_kinds[r->kind].name, 0) &&
	       (!file || !fnmatch(file, f->file, 0) || !fnmatch(file, f->module, 0)) &&
	       (!function || !fnmatch(function, f->function, 0));
}

static void drop(struct reports *r, const char *kind, const char *file, const char *function)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++)
		if (!matches(&r->v[i], kind, file, function))
			r->v[kept++] = r->v[i];
	r->suppressed += r->n - kept;
	r->n = kept;
}

bool reports_suppress(struct reports *r, const char *path)
{
	FILE *in = fopen(path, "re");
	char *line = NULL, *save, *kind;
	size_t room = 0;

	if (!in) {
		run_say("%s: it cannot be read (%s): no report is left out; name a file of suppressions", path, strerror(errno));
		return false;
	}
	while (getline(&line, &room, in) > 0) {
		line[strcspn(line, "#\n")] = 0;
		kind = strtok_r(line, " \t", &save);
		if (kind) {
			const char *file = strtok_r(NULL, " \t", &save);

			drop(r, kind, file, file ? strtok_r(NULL, " \t", &save) : NULL);
		}
	}
	free(line);
	fclose(in);
	return true;
}

/* --- forms --- */

static void print_text(const struct report *r, FILE *out)
{
	const struct report_kind *k = &report_kinds[r->kind];
	const struct report_frame *f = site_of(r);

	if (f->line)
		fprintf(out, "%s:%u: ", f->file, f->line);
	else
		fprintf(out, "%s (%s): ", f->module, f->function);
	fprintf(out, "%s[%ld]: %s; %s [%s; %s]\n", r->program, r->pid, r->sentence, k->remedy, k->name, k->rule);
	for (int i = 0; i < r->n_frames; i++) {
		f = &r->frame[i];
		if (f->line)
			fprintf(out, "    %s %s (%s:%u)\n", i ? "called by" : "in", f->function, f->file, f->line);
		else if (strcmp(f->function, "??") != 0)
			fprintf(out, "    %s %s (%s)\n", i ? "called by" : "in", f->function, f->module);
	}
}

/* GitHub's workflow commands: %, line ends, and in properties : and , are given as %XX. */
static void put_escaped(FILE *out, const char *v, bool property)
{
	for (; *v; v++)
		if (*v == '%' || *v == '\r' || *v == '\n' || (property && (*v == ':' || *v == ',')))
			fprintf(out, "%%%02X", (unsigned char)*v);
		else
			fputc(*v, out);
}

static void print_github(const struct report *r, FILE *out)
{
	const struct report_frame *f = site_of(r);

	fputs("::error ", out);
	if (f->line) {
		fputs("file=", out);
		put_escaped(out, f->file, true);
		fprintf(out, ",line=%u,", f->line);
	}
	fprintf(out, "title=dapple check %s::", report_kinds[r->kind].name);
	put_escaped(out, r->sentence, false);
	fputs("; ", out);
	put_escaped(out, report_kinds[r->kind].remedy, false);
	fputc('\n', out);
}

/* A test case for each report, or one that passed. */
static void print_junit(const struct reports *r, const char *command, FILE *out)
{
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"dapple check\" tests=\"%zu\" failures=\"%zu\">\n",
		r->n ? r->n : 1, r->n);
	if (!r->n) {
		fputs("  <testcase classname=\"dapple check\" name=\"", out);
		text_xml(out, command, SIZE_MAX);
		fputs("\"/>\n", out);
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct report_frame *f = site_of(&r->v[i]);

		fprintf(out, "  <testcase classname=\"%s\" name=\"", report_kinds[r->v[i].kind].name);
		text_xml(out, f->file, SIZE_MAX);
		fprintf(out, ":%u\"><failure message=\"", f->line);
		text_xml(out, r->v[i].sentence, SIZE_MAX);
		fputs("\"/></testcase>\n", out);
	}
	fputs("</testsuite>\n", out);
}

void reports_print(const struct reports *r, enum report_form form, const char *command, FILE *out)
{
	if (form == REPORT_JUNIT) {
		print_junit(r, command, out);
		return;
	}
	for (size_t i = 0; i < r->n; i++)
		if (form == REPORT_GITHUB)
			print_github(&r->v[i], out);
		else
			print_text(&r->v[i], out);
	if (form == REPORT_TEXT)
		fprintf(out, "dapple check: %zu mistakes, %zu suppressed\n", r->n, r->suppressed);
}
