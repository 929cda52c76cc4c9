/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A record of a run: all that came into one process from outside, in the order in which its threads took it.
 *
 *   dapple record          runs the program with the recorder (preload/) in front of its libraries
 *      recorder            serialises the threads, executes their system calls, and writes an event for each that brings
 *                          something in: its result, and what the kernel wrote into the program's memory
 *                          Before the first of them it writes the memory of the process
 *   dapple replay          starts a loader (loader/), which makes that memory again and goes on where the recorder was. That
 *                          one now answers the calls from the events and lets the threads run in their order; what the
 *                          program sends is compared, and not sent
 *
 * Why system calls, and not the links of the adapter: a program without its peer also wants what it has read from its own
 * sockets, and each path of the adapter, its time and its seeds come in by these calls and by no other way once
 * DAPPLE_LOCAL=off has taken shared memory away.
 *
 * Why memory, and not the program's files: where the loader of the system places libraries depends on the kernel's vdso, on
 * ld.so.cache and on each library's size, and what libc chooses there on the processor. None of it is asked again.
 *
 *   file:  struct rp_file, strings (rp_file.strings bytes), zeros, struct rp_control at RP_CONTROL_AT, struct rp_image at
 *          RP_IMAGE_AT with areas, runs and pages, events at rp_file.events_at
 *   event: struct rp_event, bytes; padded to 8. One with a length of 0 ends the events.
 *   packed: struct rp_file, then compressed all that comes behind it, and the files of the program and its libraries, which
 *          a debugger reads (tools/replay/pack.h)
 *
 * Each process of a run has a file of its own: FILE is of the first, FILE.1, FILE.2 ... of those that it and its children
 * make (preload/family.h). The file of a fork()ed child begins with all events of its parent up to the fork(), which
 * returns 0 there: its replay is the parent's until then, goes on as the child, and starts no process.
 */
#ifndef REPLAY_FORMAT_H
#define REPLAY_FORMAT_H

#include <stdint.h>

#define RP_MAGIC "DAPPLREC"
#define RP_VERSION 3
#define RP_IMAGE_AT (1u << 20) /* room for arguments and environment before */
#define RP_CONTROL_AT (RP_IMAGE_AT - RP_CONTROL_BYTES)
#define RP_CONTROL_BYTES 4096u
#define RP_STRINGS_MAX (RP_CONTROL_AT - sizeof(struct rp_file))
/* "record FD FD" or "replay FD FD": of struct rp_control, and of the file. While recording both are the file. */
#define RP_ENV "DAPPLE_RECORD"
#define RP_ENV_FORM "%s %4d %4d"
#define RP_RECORD "record"
#define RP_REPLAY "replay"
#define RP_STAY "stayed" /* as replay, under a debugger: an end is a SIGTRAP. All three are of one length: the stack is the same. */
#define RP_LIBRARY "libdapple-replay.so"
#define RP_LOADER "dapple-replay-loader"

#define RP_THREADS 1024 /* of a process, over all its life */
#define RP_PREFIX 256 /* octets of a message that are kept; of the rest a checksum */

/* In front of the file; written by the command. */
struct rp_file {
	char magic[8];
	uint32_t version;
	uint32_t ended;    /* the rest is right: the recording command saw the end */
	uint64_t strings;  /* path of the executable, directory, arguments, "", environment, "" */
	uint64_t limit;    /* bytes of events at most */
	uint64_t used;     /* bytes of events */
	uint64_t events, messages;
	int32_t status;    /* as wait4(2) gives it */
	uint32_t killed;   /* by a signal, which is not known: its parent got the status */
	uint32_t stopped;  /* enum rp_stop of a record that ends before its program */
	uint32_t forked;   /* its first events are its parent's */
	uint32_t packed;   /* 1: the rest is compressed */
	uint32_t unused;
	uint64_t events_at;
	uint64_t files;    /* bytes of files behind the events, once unpacked */
	/* What a process has from its parent, and no call tells. */
	uint64_t stack;    /* limit */
	uint64_t blocked, ignored; /* signals, bit 0 is number 1 */
};

/* The memory of a process with one thread, in the recorder's beginning. Pages that are all zeros are left out. */
struct rp_image {
	uint32_t areas, runs; /* structs behind this one */
	uint64_t bytes;       /* of all, with the pages */
	/* What the process goes on with. */
	uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip, fs, gs;
	uint64_t tid_word, robust_list, robust_bytes, brk;
	char name[16]; /* prctl(PR_SET_NAME) */
};

struct rp_area {
	uint64_t from, to;
	uint64_t first;      /* no page below has content */
	uint64_t protection; /* as of mmap(2) */
};

struct rp_run {
	uint64_t address, bytes;
	uint64_t at; /* in the file */
};

/* Where the loader, the recorder's copy of struct rp_control and the file lie: no other loader, heap or sanitizer comes
 * there. */
#define RP_LOADER_FROM 0x1fff00000000ull
#define RP_LOADER_IMAGE_AT 0x1fff80000000ull
#define RP_CONTROL_MAP 0x1ffff0000000ull
#define RP_FILE_MAP 0x200000000000ull
#define RP_PLACES_TO 0x300000000000ull
/* The result of the place in the program where it goes on: 0 while it is recorded. */
#define RP_RESUMED(stays, control, file) (1ull | (uint64_t)(stays) << 1 | (uint64_t)(control) << 16 | (uint64_t)(file) << 40)

/* Kinds of events beside numbers of system calls. */
enum {
	RP_START = 0x1000,  /* a thread runs */
	RP_OBJECTS,         /* addresses and build IDs of what is loaded */
	RP_WOKEN,           /* the end of a wait on a futex */
	RP_TICKS,           /* the processor's counter */
	RP_MAPPED,          /* instructions of a file were mapped: struct rp_object */
	RP_SIGNAL = 0x2000, /* and its number: a handler of the program runs */
};

/* A file that is loaded. */
#define RP_OBJECT_NAME 256
#define RP_OBJECT_ID 20
struct rp_object {
	uint64_t at; /* what is added to its addresses; RP_MAPPED: of the pages at offset rp_event.about */
	uint8_t id[RP_OBJECT_ID]; /* build ID, or zeros */
	uint32_t unused;
	char name[RP_OBJECT_NAME]; /* "": the program */
};

struct rp_event {
	uint32_t bytes;  /* with this header; 0: there is none */
	uint16_t kind;
	uint16_t thread; /* in the order of their creation; 0 is main() */
	int64_t result;
	int64_t about;   /* descriptor, or 0 */
};

/* Why a recording, or a replay, stopped before the program ended. */
enum rp_stop {
	RP_GOES_ON,
	RP_ENDED,        /* exit_group() */
	RP_AT_END,       /* replay: the record has no more: its program was ended here */
	RP_FULL,         /* the limit, or the disk */
	RP_CALL,         /* a system call that cannot be recorded: `number` */
	RP_TOO_MANY,     /* threads */
	RP_REPLACED,     /* execve() */
	RP_SETUP,        /* the kernel refuses: -`number` at `text` */
	RP_OTHER_CALL,   /* replay: call `number` where `wanted` was recorded */
	RP_OTHER_OCTETS, /* replay: a message, or output, differs */
	RP_OTHER_THREAD, /* replay: thread `number` was recorded, and does not run */
	RP_OTHER_ADDRESS, /* replay: memory cannot be had at its recorded address */
	RP_SHARES,       /* recording: memory that other processes store into: `text` */
	RP_PLACE,         /* replay: something of the kernel's is in the way, another start may find another place */
};

#define RP_PATH 1024

/* Shared by the command and the process while it runs. */
struct rp_control {
	/* recording: the process of this file */
	int32_t pid, status;      /* status: of exit_group() */
	uint32_t exited;
	_Atomic uint32_t missing; /* children that are not recorded */
	char family[RP_PATH];     /* absolute path of the first record */
	_Atomic uint64_t used, events, messages;
	_Atomic uint32_t waiting; /* threads that wait for their turn */
	_Atomic uint32_t stop;    /* enum rp_stop; written once */
	int64_t number, wanted;
	int64_t about;            /* the descriptor */
	uint32_t thread;
	uint32_t at, before_len, after_len; /* RP_OTHER_OCTETS: the first octet that differs, lengths */
	uint32_t is_message;      /* 0: output or a message within the host */
	uint8_t before[RP_PREFIX], after[RP_PREFIX]; /* as recorded, and now */
	char text[256];
};

_Static_assert(sizeof(struct rp_control) <= RP_CONTROL_BYTES, "room before the events");

#endif
