/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "screen.h"

#include "../run/run.h"

#include <ctype.h>
#include <locale.h>
#include <string.h>

#ifdef HAVE_NCURSES
#include <curses.h>

#define BARS 20
#define ESCAPE 27

struct screen {
	struct top *t;
	size_t first; /* row at the top */
	bool frozen, helping, typing;
};

static const char *const help[] = {
	"  F1 h      this help                 F4 \\     keep rows with a text",
	"  F6 > <    sort by the next column   I        turn the order round",
	"  order     R by rate, P by process   L        latencies: samples of packets, which cost the programs some speed",
	"  space     stop and go               arrows, PgUp, PgDn, Home   move",
	"  F10 q     leave",
	"",
	"  SEND/s, RECV/s   requests completed and receives used a second (of queue pairs with a receive queue of their own)",
	"  WAY, REASON      wire, ring (shared memory), pipe; why not a faster one: see dapple(1)",
	"  SQ, RQ           requests and receives in the queues, and their size",
	"  WAITS            rnr: the peer has no receive; retry: packets are repeated; socket: it is full; credit",
	"  LIMIT            sender: its queue is empty; receiver; network; path: the queue is full and nothing is waited for",
};

/* Octets of the line that fit into the screen's columns: a longer one would go on in the next row. Bars are UTF-8. */
static int fitting(const char *line)
{
	int n = 0;

	for (int columns = 0; line[n]; n++)
		if ((line[n] & 0xc0) != 0x80 && columns++ == COLS)
			break;
	return n;
}

static void put_line(int y, const char *line, bool bright)
{
	if (bright)
		attron(A_REVERSE);
	mvaddnstr(y, 0, line, fitting(line));
	if (bright) {
		hline(' ', COLS);
		attroff(A_REVERSE);
	}
}

static void draw_rows(struct screen *s)
{
	struct top *t = s->t;
	char line[TABLE_LINE];
	size_t seen = 0;
	int y = 3;

	for (size_t i = 0; i < t->state.n_qp && y < LINES - 1; i++) {
		const struct state_qp *q = &t->state.qp[i];

		if (!table_has(q, t->filter) || seen++ < s->first)
			continue;
		table_row(q, t->latency, BARS, line);
		if (!strcmp(state_limit(q), "network") || !strcmp(state_limit(q), "receiver"))
			attron(A_BOLD);
		put_line(y++, line, false);
		attroff(A_BOLD);
	}
}

static void draw(struct screen *s)
{
	struct top *t = s->t;
	char line[TABLE_LINE];

	erase();
	table_sums(&t->state, t->seconds, line);
	put_line(0, line, false);
	snprintf(line, sizeof(line), "sorted by %s%s%s%s%s%s", table_sort_names[t->sort], t->turned ? ", turned" : "",
		 *t->filter || s->typing ? ", with \"" : "", t->filter, *t->filter || s->typing ? "\"" : "",
		 s->frozen ? ", stopped" : "");
	put_line(1, line, false);
	if (s->helping) {
		for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++)
			put_line(3 + (int)i, help[i], false);
	} else {
		table_head(t->latency, line);
		put_line(2, line, true);
		draw_rows(s);
	}
	put_line(LINES - 1, s->typing ? "the text: Enter keeps it, Esc takes it away" :
		 "F1 help  F4 filter  F6 sort  L latency  space stop  F10 leave", true);
	refresh();
}

static void type(struct screen *s, int key)
{
	char *text = s->t->filter;
	size_t n = strlen(text);

	if (key == '\n' || key == KEY_ENTER || key == ESCAPE) {
		s->typing = false;
		if (key == ESCAPE)
			*text = 0;
	} else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n) {
		text[n - 1] = 0;
	} else if (key < 256 && isprint(key) && n + 1 < sizeof(s->t->filter)) {
		text[n] = (char)key;
		text[n + 1] = 0;
	}
}

static void move_by(struct screen *s, long rows)
{
	long last = (long)s->t->state.n_qp - 1, to = (long)s->first + rows;

	s->first = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
}

static void sort(struct screen *s, enum table_sort by)
{
	s->t->sort = by;
	table_sort(&s->t->state, by, s->t->turned);
}

/* Returns false if the user leaves. */
static bool press(struct screen *s, int key)
{
	struct top *t = s->t;

	if (s->typing) {
		type(s, key);
		return true;
	}
	switch (key) {
	case 'q': case KEY_F(10): return false;
	case 'h': case '?': case KEY_F(1): s->helping = !s->helping; break;
	case '\\': case '/': case KEY_F(4): s->typing = true; break;
	case '>': case '.': case KEY_F(6): sort(s, (t->sort + 1) % TABLE_SORTS); break;
	case '<': case ',': sort(s, (t->sort + TABLE_SORTS - 1) % TABLE_SORTS); break;
	case 'P': sort(s, TABLE_BY_PID); break;
	case 'R': sort(s, TABLE_BY_RATE); break;
	case 'I': t->turned = !t->turned; sort(s, t->sort); break;
	case 'L': t->latency = !t->latency; break;
	case ' ': s->frozen = !s->frozen; break;
	case KEY_UP: move_by(s, -1); break;
	case KEY_DOWN: move_by(s, 1); break;
	case KEY_PPAGE: move_by(s, 4 - LINES); break;
	case KEY_NPAGE: move_by(s, LINES - 4); break;
	case KEY_HOME: s->first = 0; break;
	case ESCAPE: s->helping = false; break;
	default: break;
	}
	return true;
}

int screen_run(struct top *t)
{
	struct screen s = { .t = t };
	int key;

	setlocale(LC_ALL, "");
	if (!initscr())
		return 1;
	cbreak();
	noecho();
	keypad(stdscr, true);
	curs_set(0);
	timeout((int)(t->interval * 1000));
	for (;;) {
		draw(&s);
		key = getch();
		if (key == ERR && !s.frozen)
			top_read(t);
		else if (key != ERR && !press(&s, key))
			break;
	}
	endwin();
	return 0;
}

#else

int screen_run(struct top *t)
{
	run_say("top: this build has no ncurses: there is no screen; use --once or --json, or build with libncurses-dev");
	return 1;
}

#endif
