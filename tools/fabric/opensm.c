/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "opensm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "place.h"
#include "run.h"
#include "util/sys.h"

#define WORDS_MAX 128
#define LOG_PATH_MAX 4096
/* What opensm writes at the end of a sweep. */
#define UP "SUBNET UP"
#define ERRORS "Errors during"

/* Where distributions install it; often not in a user's PATH. */
static const char *const places[] = { "/usr/sbin/opensm", "/usr/local/sbin/opensm", "/sbin/opensm" };

struct opensm {
	struct loop *loop;
	void (*ended)(void *arg, struct opensm *sm);
	void *arg;
	pid_t pid;
	int pidfd;
	int log, notes;		/* its log, and the inotify descriptor for it; -1 when it is not read any more */
	char line[256];		/* the line under way; what is longer is cut */
	size_t len;
	enum opensm_sweep sweep;
	bool done;
	int status;
	char node[PLACE_NAME_MAX + 2];
	char dir[PLACE_MAX + 80];
};

static bool in_path(const char *name, char ret[4096])
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (snprintf(ret, 4096, "%.*s/%s", (int)n, path, name) < 4096 && access(ret, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static bool find(char ret[4096])
{
	unsigned i;

	if (in_path("opensm", ret))
		return true;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], X_OK) == 0) {
			snprintf(ret, 4096, "%s", places[i]);
			return true;
		}
	return false;
}

bool opensm_is_there(void)
{
	char path[4096];

	return find(path);
}

/* The child's standard streams: nothing to read, all output into the file of its folder. */
static void set_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), out = open("output", O_WRONLY | O_APPEND | O_CLOEXEC);

	if (null < 0 || out < 0)
		_exit(126);
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
}

static void child(const struct opensm *sm, const struct opensm_spec *spec, const char *path, pid_t parent)
{
	struct run_env env = { .preload = true };
	char guid[24], place[2 * PLACE_NAME_MAX + 4], *words[WORDS_MAX];
	sigset_t none;
	unsigned n = 0, i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	if (chdir(sm->dir) < 0)
		_exit(126);
	set_streams();
	snprintf(place, sizeof(place), "%s/%s", spec->fabric, spec->node);
	setenv("DAPPLE_FABRIC", place, 1);
	setenv("OSM_CACHE_DIR", sm->dir, 1);
	setenv("OSM_TMP_DIR", sm->dir, 1);
	if (run_env_apply(&env))
		_exit(126);
	snprintf(guid, sizeof(guid), "0x%016" PRIx64, spec->port_guid);
	words[n++] = (char *)path;
	words[n++] = (char *)"-g";
	words[n++] = guid;
	words[n++] = (char *)"-f";
	words[n++] = (char *)"opensm.log";
	words[n++] = (char *)"-d";
	words[n++] = (char *)"2";
	words[n++] = (char *)"--dump_files_dir";
	words[n++] = (char *)sm->dir;
	for (i = 0; spec->words && spec->words[i] && n < WORDS_MAX - 1; i++)
		words[n++] = spec->words[i];
	words[n] = NULL;
	_exit(run_exec(words));
}

/* --- its log --- */

static void end_log(struct opensm *sm)
{
	loop_del(sm->loop, sm->notes);
	ut_close(sm->notes);
	ut_close(sm->log);
	sm->notes = sm->log = -1;
}

static void take_line(struct opensm *sm)
{
	sm->line[sm->len] = '\0';
	sm->len = 0;
	if (strstr(sm->line, UP))
		sm->sweep = OPENSM_SUBNET_UP;
	else if (sm->sweep == OPENSM_SWEEPS && strstr(sm->line, ERRORS))
		sm->sweep = OPENSM_HAS_ERRORS;
}

/* Reads what has been added since the last time, up to the line that is looked for. */
static void read_log(struct opensm *sm)
{
	char text[8192];
	ssize_t n, i;

	while (sm->log >= 0 && (n = read(sm->log, text, sizeof(text))) > 0) {
		for (i = 0; i < n; i++)
			if (text[i] == '\n')
				take_line(sm);
			else if (sm->len < sizeof(sm->line) - 1)
				sm->line[sm->len++] = text[i];
		if (sm->sweep == OPENSM_SUBNET_UP)
			end_log(sm);
	}
}

static void on_log(void *arg, uint32_t events)
{
	struct opensm *sm = arg;
	char notes[1024];

	(void)!read(sm->notes, notes, sizeof(notes));
	read_log(sm);
}

/* The file that the words name, the last of them; "stdout" is the file of the output. */
static void log_path(const struct opensm *sm, const struct opensm_spec *spec, char ret[LOG_PATH_MAX])
{
	const char *name = "opensm.log";
	char *const *w;

	for (w = spec->words; w && *w; w++)
		if ((strcmp(*w, "-f") == 0 || strcmp(*w, "--log_file") == 0) && w[1])
			name = w[1];
	if (strcmp(name, "stdout") == 0)
		name = "output";
	if (name[0] == '/')
		snprintf(ret, LOG_PATH_MAX, "%s", name);
	else
		snprintf(ret, LOG_PATH_MAX, "%s/%s", sm->dir, name);
}

/* Before the start, so that no line is missed: opensm adds to the file. */
static void follow_log(struct opensm *sm, const struct opensm_spec *spec)
{
	char path[LOG_PATH_MAX];

	log_path(sm, spec, path);
	sm->log = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	sm->notes = sm->log < 0 ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (sm->notes >= 0 && lseek(sm->log, 0, SEEK_END) >= 0 && inotify_add_watch(sm->notes, path, IN_MODIFY) >= 0 &&
	    loop_add(sm->loop, sm->notes, EPOLLIN, on_log, sm) == 0)
		return;
	end_log(sm);
	sm->sweep = OPENSM_UNKNOWN;
}

static void on_end(void *arg, uint32_t events)
{
	struct opensm *sm = arg;

	if (waitpid(sm->pid, &sm->status, WNOHANG) != sm->pid)
		return;
	read_log(sm);
	end_log(sm);
	sm->done = true;
	loop_del(sm->loop, sm->pidfd);
	sm->ended(sm->arg, sm);
}

/* --- life --- */

static int prepare(struct opensm *sm, const struct opensm_spec *spec)
{
	char path[LOG_PATH_MAX];
	int output;

	snprintf(sm->node, sizeof(sm->node), "%s", spec->node);
	snprintf(sm->dir, sizeof(sm->dir), "%s/opensm-%s", spec->dir, spec->node);
	if (mkdir(sm->dir, 0700) < 0 && errno != EEXIST)
		return -1;
	snprintf(path, sizeof(path), "%s/output", sm->dir);
	output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (output < 0)
		return -1;
	ut_close(output);
	follow_log(sm, spec);
	return 0;
}

static void free_sm(struct opensm *sm)
{
	end_log(sm);
	ut_close(sm->pidfd);
	free(sm);
}

/* Returns 0, or -1 with errno set; then no child is left. */
static int start(struct opensm *sm, const struct opensm_spec *spec, const char *path)
{
	pid_t parent = getpid();

	sm->pid = fork();
	if (sm->pid == 0)
		child(sm, spec, path, parent);
	if (sm->pid < 0)
		return -1;
	sm->pidfd = (int)syscall(SYS_pidfd_open, sm->pid, 0);
	if (sm->pidfd >= 0 && loop_add(sm->loop, sm->pidfd, EPOLLIN, on_end, sm) == 0)
		return 0;
	kill(sm->pid, SIGKILL);
	waitpid(sm->pid, NULL, 0);
	return -1;
}

struct opensm *opensm_start(struct loop *loop, const struct opensm_spec *spec,
			    void (*ended)(void *arg, struct opensm *sm), void *arg)
{
	struct opensm *sm = calloc(1, sizeof(*sm));
	char path[4096];

	if (!sm)
		return NULL;
	*sm = (struct opensm){ .loop = loop, .ended = ended, .arg = arg, .pidfd = -1, .log = -1, .notes = -1 };
	if (find(path) && prepare(sm, spec) == 0 && start(sm, spec, path) == 0)
		return sm;
	free_sm(sm);
	return NULL;
}

void opensm_stop(struct opensm *sm)
{
	/*
	 * Killed, since SIGTERM need not end it: opensm 3.3.23 cancels its receiver thread, and waits for ever for the
	 * lock of the log if that thread was writing a line. It leaves no file half written.
	 */
	if (!sm->done) {
		loop_del(sm->loop, sm->pidfd);
		kill(sm->pid, SIGKILL);
		waitpid(sm->pid, NULL, 0);
	}
	free_sm(sm);
}

const char *opensm_node(const struct opensm *sm)
{
	return sm->node;
}

pid_t opensm_pid(const struct opensm *sm)
{
	return sm->pid;
}

bool opensm_has_ended(const struct opensm *sm, int *ret_status)
{
	*ret_status = sm->status;
	return sm->done;
}

enum opensm_sweep opensm_sweep(const struct opensm *sm)
{
	return sm->sweep;
}

const char *opensm_refused_option(char *const *words)
{
	for (; words && *words; words++)
		if (strcmp(*words, "-B") == 0 || strcmp(*words, "--daemon") == 0)
			return *words;
	return NULL;
}

#define TAIL 2000

void opensm_print_output(const struct opensm *sm, FILE *to)
{
	char path[sizeof(sm->dir) + 16], text[TAIL + 1];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/output", sm->dir);
	f = fopen(path, "re");
	if (f) {
		if (fseek(f, -TAIL, SEEK_END) < 0)
			rewind(f);
		n = fread(text, 1, TAIL, f);
		text[n] = '\0';
		fputs(text, to);
		fclose(f);
	}
	fprintf(to, "its log: %s/opensm.log\n", sm->dir);
}
