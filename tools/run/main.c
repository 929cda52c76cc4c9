/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The dapple command: a table of commands with their help texts, and the parser of options. */

struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
	const char *help;
};

static const struct command commands[] = {
	{ "run", run_cmd_run, "run a program with RDMA in user space",
"usage: dapple run [options] [--] COMMAND [ARGUMENT...]\n"
"\n"
"Runs COMMAND with Dapple's libibverbs, librdmacm and libibumad in place of the\n"
"distribution's, so that it finds software adapters.\n"
"\n"
"  --adapter KIND   offer only adapters of this kind: roce, iwarp, or ib at a node of a fabric\n"
"                   (default: DAPPLE_ADAPTER, else roce and iwarp)\n"
"  --isolate        show /sys/class/infiniband and /dev/infiniband by a user and\n"
"                   mount namespace, not by a preload: for static programs and\n"
"                   scripts; all such runs of one user share one namespace\n"
"  --no-preload     libraries only; programs that read /sys by themselves find no\n"
"                   device\n"
"  --rsockets       carry TCP sockets of the program over RDMA where the peer offers\n"
"                   it, by a preload (see SOCKETS OVER RDMA in dapple(1))\n"
"  --sdp            the same by SDP, with the rules of LIBSDP_CONFIG_FILE, and for\n"
"                   stream sockets of family 27 (see SDP in dapple(1))\n"
"  --sdp-own        the same in the program's own process: faster, but a connection\n"
"                   ends with the process that made it\n"
"  --rds            give the program sockets of family 21 (AF_RDS), over TCP (see RDS\n"
"                   in dapple(1))\n"
"  --share          replace pages of registered memory by shared ones, so that\n"
"                   Reads and Writes within this host are loads and stores\n"
"                   (see DAPPLE_SHARE in dapple(1) for the consequences)\n"
"\n"
"Exit status: that of COMMAND; 126 or 127 if it cannot be started; 77 if\n"
"--isolate is given and this machine refuses namespaces.\n" },
	{ "capture", run_cmd_capture, "show the packets of every path, for Wireshark or as lines",
"usage: dapple capture [-o FILE | -o -] [--live] [options] [--] COMMAND [ARGUMENT...]\n"
"       dapple capture [-o FILE | -o -] [--live] [options] --pid PID | --all\n"
"\n"
"Writes what the adapters of COMMAND, of a running process or of all processes of\n"
"this user send and receive: packets of the wire as they are, messages within this\n"
"host as the packets that the wire would have carried.\n"
"\n"
"  -o FILE          write a pcapng file (- for standard output)\n"
"  --live           print a line for each message; the default without -o\n"
"  --payload N      with N octets of each message's payload (default 0: headers)\n"
"  --filter TERMS   only packets for which all terms hold: out, in, op=send|write|\n"
"                   read|atomic|ack|nak|cm|terminate, way=wire|ring|direct|\n"
"                   stores|pipe, qp=, peer=, adapter=, program=, pid=; ! before a\n"
"                   term turns it round\n"
"  --ring MB        memory for records that are not read yet (default 16)\n"
"  --cpu PERCENT    most of a processor that the capture takes where the programs\n"
"                   leave it none (default 10)\n"
"  --mtu N          path MTU at which messages within this host are cut (4096)\n"
"  --adapter KIND   as for dapple run\n"
"  --pid PID        a process that runs already\n"
"  --all            all processes, also those that begin later, until interrupted\n"
"\n"
"Exit status: that of COMMAND; else 0, or 1 if nothing can be captured.\n" },
	{ "env", run_cmd_env, "print the environment of dapple run for eval",
"usage: dapple env [--adapter KIND] [--no-preload] [--rsockets | --sdp | --sdp-own] [--rds] [--share]\n"
"\n"
"Prints the variables that dapple run sets, as shell assignments:\n"
"\n"
"    eval \"$(dapple env)\"\n" },
	{ "pair", run_cmd_pair, "run a program as server and again as its client",
"usage: dapple pair [options] [--] COMMAND [ARGUMENT...]\n"
"\n"
"Starts COMMAND as the server and, once it listens, again as the client.  In the\n"
"arguments, {peer} is replaced by the server's address (the server does not get\n"
"an argument that is {peer} alone) and {port} by a free port.  Known programs\n"
"(dapple pair --list) need neither.\n"
"\n"
"  --adapter KIND     as for dapple run\n"
"  --hosts            run each end in a network namespace of its own; a veth pair\n"
"                     joins them; needs no root\n"
"  --mtu N            MTU of that veth pair (default 1500)\n"
"  -6                 give the client an IPv6 address\n"
"  --wait SECONDS     time for the server to start to listen (default 10)\n"
"  --grace SECONDS    time for one end to exit after the other (default 5)\n"
"  --stays            the server does not exit by itself: end it after the client\n"
"  --timeout SECONDS  end both after this time, with status 124 (default: none)\n"
"  --record DIR       record both ends, for dapple replay, in DIR/server.record and\n"
"                     DIR/client.record\n"
"  --list             list the known programs\n"
"\n"
"Lines of output begin with \"server| \" or \"client| \".  Exit status: 0 if both\n"
"ends exited with 0, else that of the end that failed first; 77 if this machine\n"
"refuses the namespaces of --hosts.\n" },
	{ "doctor", run_cmd_doctor, "check this machine, with a remedy for each problem",
"usage: dapple doctor\n"
"\n"
"Checks what the software adapters need from this machine.  Each line begins\n"
"with ok, warn (works, but slower or with a part missing) or fail (no adapter\n"
"works); a remedy follows where there is one.  Exit status: 0 without a fail,\n"
"else 1.\n" },
	{ "devices", run_cmd_devices, "list the adapters",
"usage: dapple devices [--adapter KIND] [--json] [--watch]\n"
"\n"
"Lists the adapters that a program finds under dapple run: name, kind, network\n"
"interface, state of the port, node GUID, and each IP address with its GID index\n"
"(option -g of perftest and the pingpongs; RoCE only).\n"
"\n"
"  --json     as an array of objects\n"
"  --watch    print the list again whenever it changes, until interrupted\n"
"\n"
"Exit status: 0, or 1 if there is no adapter.\n" },
	{ "fault", run_cmd_fault, "provoke faults by rules, and try a program under them",
"usage: dapple fault [--adapter KIND] RULES|NAME [--] COMMAND [ARGUMENT...]\n"
"       dapple fault [--adapter KIND] --file FILE [--] COMMAND [ARGUMENT...]\n"
"       dapple fault --pid PID RULES|NAME | --pid PID --off | --pid PID --show\n"
"       dapple fault --list\n"
"       dapple fault try [--adapter KIND] [--timeout SECONDS] [--only NAME]\n"
"                        [--compare] [--] COMMAND [ARGUMENT...]\n"
"\n"
"Lets the adapters of COMMAND, or of a running process, fail by RULES, which are\n"
"separated by semicolons, or by those of a NAME of the list.  A rule is an act\n"
"and terms that must all hold, as in \"lose in op=send nth=3\":\n"
"\n"
"  packets (RoCE)   lose, duplicate, reorder, delay=5ms, corrupt, corrupt=BYTE:BITS,\n"
"                   port-down=300ms\n"
"  requests         rnr, nak=sequence|request|access|operation, slow=5ms, overrun,\n"
"                   die\n"
"  queue pairs      window=PACKETS (RoCE)\n"
"  connections      reject, reject=consumer|stale|resources|no-qp|unsupported,\n"
"                   silence, timewait=2s (RoCE)\n"
"  streams (iWARP)  rnr, nak=request|access, terminate, die, short=BYTES\n"
"  calls            fail=alloc_pd|reg_mr|create_cq|create_srq|create_qp|modify_qp:\n"
"                   ENOMEM|EINVAL|...\n"
"  terms            in, out, op=send|write|read|atomic|ack|nak|cm, qp=, peer=,\n"
"                   adapter=, nth=N, first=N, every=N, p=0.01, seed=N, after=1s,\n"
"                   until=2s\n"
"\n"
"  --list           print the rules for the usual diseases, with their names\n"
"  --off, --show    take the rules of a process away; print how often they acted\n"
"  try              run COMMAND once under each of the list, and print what came\n"
"                   of it; --compare calls another output than without a fault\n"
"                   corruption\n"
"  --timeout N      seconds after which a run of try counts as hung (default 60)\n"
"\n"
"Exit status: that of COMMAND; of try 0, or 1 if a run hung, crashed or was\n"
"corrupted.\n" },
	{ "show", run_cmd_show, "list objects of running programs, in the words of rdma(8)",
"usage: dapple show [-j] [-d] [--pid PID] qp|cq|mr|cm_id|link [WORD VALUE...]\n"
"\n"
"Prints the queue pairs, completion queues, memory regions or connection\n"
"identifiers of this user's running programs, or the adapters of this machine,\n"
"as `rdma resource show` and `rdma link show` of iproute2 do.  A WORD with a\n"
"VALUE keeps the lines that have it: link dpl_roce_lo, type RC, state RTS,\n"
"lqpn 18,19.\n"
"\n"
"  -j, --json       print an array of objects\n"
"  -d, --details    print Dapple's own words too: peer, way, reason (why not a\n"
"                   faster way), waits, sq, rq, posted, sent, received, retries\n"
"  --pid PID        of this process only\n"
"\n"
"Exit status: 0, or 1 if the process of --pid does not answer.\n" },
	{ "check", run_cmd_check, "find mistakes in the use of verbs and rdma_cm",
"usage: dapple check [--leaks] [--device rxe|siw] [--suppressions FILE]\n"
"                    [--format text|github|junit] [-o FILE] [--adapter KIND]\n"
"                    [--] COMMAND [ARGUMENT...]\n"
"\n"
"Runs COMMAND and prints one sentence for each mistake in its use of verbs and\n"
"rdma_cm, with file and line, the rule and a remedy: buffers that change, are\n"
"freed or deregistered while a request names them, keys and ranges, queues that\n"
"are too small or are never freed, lost wake-ups, events that are not\n"
"acknowledged, private data that other adapters do not carry, ...  Programs with\n"
"debugging information (-g) get lines, for which addr2line is needed.\n"
"\n"
"  --leaks              objects too that are not destroyed at the end\n"
"  --device rxe|siw     what the queue pairs ask for must be within the limits of\n"
"                       that adapter\n"
"  --suppressions FILE  leave out reports; a line is KIND [FILE [FUNCTION]], with\n"
"                       wildcards\n"
"  --format FORM        github: annotations of a workflow; junit: a test report\n"
"  -o FILE              write the reports there (default: standard error)\n"
"\n"
"Exit status: that of COMMAND if it is not 0; else 1 if a mistake was found.\n" },
	{ "record", run_cmd_record, "record a run of a program, to run it again without its peer",
"usage: dapple record [-o FILE] [--adapter KIND] [--limit MB] [--patience SECONDS]\n"
"                     [--] COMMAND [ARGUMENT...]\n"
"\n"
"Runs COMMAND on the wire path and writes all that comes into its process from\n"
"outside: packets, what its own sockets receive, times, random numbers, results\n"
"of sends, signals, and the order in which its threads took their turns.\n"
"\n"
"  -o FILE             the record, readable by you alone (default:\n"
"                      NAME.PID.record in this directory)\n"
"  --adapter KIND      as for dapple run\n"
"  --limit MB          most that is recorded (default 4096); the program goes on\n"
"  --patience SECONDS  time after which a thread that makes no system call, while\n"
"                      another waits, counts as polling memory, which cannot be\n"
"                      recorded: the program is ended (default 10)\n"
"\n"
"Exit status: that of COMMAND; 125 if it cannot be recorded.\n" },
	{ "replay", run_cmd_replay, "run a recorded program again, without its peer",
"usage: dapple replay [--gdb | --times N] FILE\n"
"\n"
"Runs the program of a record of dapple record again: it gets what it got, at the\n"
"same places, and nothing that it sends leaves the process but its output.  What\n"
"it sends is compared with the record, and the first message that differs ends\n"
"the replay with a sentence.\n"
"\n"
"  --gdb      under gdb, which stops where the record ends, or the program crashes\n"
"  --times N  so many times; the output of the first alone is shown\n"
"\n"
"The record wants the program, the libraries and the kernel that it was made\n"
"with; another program or library is refused.\n"
"\n"
"Exit status: that of the recorded run; 125 if the replay differs or is refused.\n" },
	{ "top", run_cmd_top, "watch rates, ways and waits of running programs",
"usage: dapple top [-d SECONDS] [--latency] [--filter TEXT] [--once] [--json]\n"
"\n"
"Shows the queue pairs of this user's running programs: requests and receives a\n"
"second, the way that each takes and why not a faster one, its queues, what it\n"
"waits for, and which end or part limits it.  The programs are asked once for\n"
"each look and not slowed down between.  h shows the keys, which are htop's.\n"
"\n"
"  -d SECONDS       time between two looks (default 1)\n"
"  --latency        median and 99th percentile of the time from a request to its\n"
"                   acknowledgement (RoCE), from samples of packets, which cost\n"
"                   the programs some speed\n"
"  --filter TEXT    only rows with this text\n"
"  --once           print one table and leave\n"
"  --json           print an object, or with --once one alone, for each look\n" },
	{ "stats", run_cmd_stats, "print the counters of running programs",
"usage: dapple stats [--all] [--prometheus]\n"
"\n"
"Prints the counters of the adapters of this user's running programs that are not\n"
"zero.  The sums over all programs, also those that have ended, are in the device\n"
"tree (docs/monitoring.md).\n"
"\n"
"  --all            print the zeros too\n"
"  --prometheus     in the text format of Prometheus, with the queues of each queue\n"
"                   pair\n" },
	{ "plot", run_cmd_plot, "draw a capture or statistics as a picture",
"usage: dapple plot [-o FILE.svg] FILE\n"
"\n"
"Draws a capture (dapple capture -o, tcpdump, dumpcap) as an SVG: packets over\n"
"time by operation, sequence numbers of each flow with what was sent again, and\n"
"the distribution of the time from a request to its acknowledgement.  Of lines of\n"
"dapple top --json it draws the rates of each queue pair.\n"
"\n"
"  -o FILE.svg      write there (default: standard output)\n" },
	{ "explain", run_cmd_explain, "print the usual causes of a failure",
"usage: dapple explain NAME...\n"
"       dapple explain --list\n"
"\n"
"Prints what a failure means, its five usual causes in order, how to see which\n"
"it is, and a command that captures the packets.  NAME stands at the end of the\n"
"sentence in `dapple why`; the vendor_err of a completion will do too.\n"
"\n"
"  --list           print all names\n" },
	{ "why", run_cmd_why, "explain the last failures",
"usage: dapple why [-n NUMBER] [--since TIME] [--program NAME] [--pid PID]\n"
"                  [--all] [--here] [--json] [--follow]\n"
"\n"
"Prints the last NUMBER (default 10) failures of this user's processes, newest\n"
"last: time, process, both ends, the rule that was broken, and a remedy.  Behind\n"
"them come notices: what works, but not as expected.  Lines of another network\n"
"namespace than this one name it.\n"
"\n"
"  --all            also normal ends of connections\n"
"  --here           only of this network namespace\n"
"  --since TIME     only newer ones: a time (2026-01-31, 2026-01-31 12:00) or an\n"
"                   age (90s, 10m, 2h, 3d)\n"
"  --program NAME   only of programs of this name\n"
"  --pid PID        only of this process\n"
"  --json           one object a line, by time\n"
"  --follow         then print new ones as they come, until interrupted\n" },
	{ "fabric", run_cmd_fabric, "run a soft InfiniBand fabric with OpenSM",
"usage: dapple fabric up [NAME] [options] [-- OPTIONS OF OPENSM]\n"
"       dapple fabric down [NAME] | list | sm [start|stop NODE]\n"
"       dapple fabric show [nodes|links|errors|processes|topology|drawing|svg]\n"
"       dapple fabric link NODE/PORT down|up|flap|slow [off]|errors PERCENT|overrun|stall\n"
"       dapple fabric node add NAME [SWITCH/PORT] | node remove NAME\n"
"       dapple fabric edit FILE\n"
"       dapple fabric run NODE [--] COMMAND [ARGUMENT...]\n"
"       dapple fabric agent NODE COMMAND...\n"
"       dapple fabric resolve NODE ADDRESS|GID\n"
"\n"
"A fabric is one process with switches, links and management agents; OpenSM and\n"
"the tools of infiniband-diags run on its nodes.  It ends with down, or with the\n"
"session that started it.\n"
"\n"
"  --fabric NAME     the fabric that a command means (default: the only one)\n"
"  --topology FILE   what ibnetdiscover prints, or a net file of ibsim\n"
"  --tree LxN[xS[xK]]  L leaf switches of N nodes, S spines, K links to each\n"
"  --torus XxY[xZ][:N]  a torus of switches with N nodes each\n"
"  --nodes N         N nodes on one switch (default 2)\n"
"  --sm WHAT         opensm on the first node (default), none, or a node\n"
"  --trunk HOST:PORT  join the fabric of another host by UDP; needs the next one\n"
"  --trunk-key FILE  the key of both hosts, a file of mode 0600\n"
"  --trunk-bind [ADDRESS:]PORT  own end (default: the same port)\n"
"  --prefix TEXT     before the names of generated nodes\n"
"  --hosts           each node has a network namespace and a host name of its own\n"
"  --ipoib           the same, and its network is IP over InfiniBand (ib0)\n"
"  --connected       the same over connections, with an MTU of 65520 (RFC 4755)\n"
"  --capture FILE    record each MAD on each link, for Wireshark\n"
"  --wait SECONDS    time for the subnet to come up (default 60)\n"
"  --keep            the fabric outlives the session that starts it\n"
"  --foreground      stay, and end the fabric on interrupt\n"
"\n"
"See dapple-fabric(1).\n" },
	{ "rpcrdma", run_cmd_rpcrdma, "join NFS over RDMA and NFS over TCP",
"usage: dapple rpcrdma [--adapter KIND] --listen PLACE --to PLACE [options]\n"
"\n"
"A gateway between RPC over RDMA (RFC 8166) and RPC over TCP, for NFS of any\n"
"version.  One PLACE is rdma:ADDRESS:PORT (default port 20049), the other one\n"
"tcp:HOST:PORT (2049); the address is 127.0.0.1 if it is left out.  The server\n"
"sees the address of the gateway, so its exports are open to whoever --allow\n"
"names.  For each client there is one connection to the server.\n"
"\n"
"  --adapter KIND            as for dapple run; it comes first\n"
"  --listen PLACE            where clients connect; port 0 is a free one, printed\n"
"  --to PLACE                the server\n"
"  --allow ADDRESS[/BITS]    let these clients connect too, not this host alone;\n"
"                            may be given again\n"
"  --credits N               calls outstanding of a client (1 to 1024; 32)\n"
"  --inline KIB              longest message without chunks (1 to 256; 4)\n"
"  --max-message KIB         longest RPC message (256 to 65536; 1152)\n"
"  --max-connections N       clients at once (1 to 4096; 64)\n"
"  --no-remote-invalidation  neither offer nor use it\n"
"  --no-windows              register memory for each call, bind no windows\n"
"  --counts                  print what a connection has carried when it ends\n"
"\n"
"Runs until it is ended.  Exit status: 1 if it cannot listen.  See\n"
"dapple-rpcrdma(1).\n" },
	{ "srp", run_cmd_srp, "use and serve disks over SRP",
"usage: dapple srp [--adapter KIND] id | discover\n"
"       dapple srp [--adapter KIND] VERB ADDRESS:PORT [FILE] --target ID [options]\n"
"       dapple srp [--adapter KIND] serve --listen ADDRESS:PORT --allow ID\n"
"                  --file PATH | --memory SIZE [options]\n"
"       dapple srp [--adapter KIND] nbd ADDRESS:PORT --target ID [options]\n"
"                  [-- NBDKIT-OPTION...]\n"
"\n"
"SCSI over RDMA (SRP), by the RDMA connection manager.  An ID is the 32\n"
"hexadecimal digits of a port: extension, then GUID.\n"
"\n"
"  id                    initiator ports of this host\n"
"  discover              targets of the InfiniBand fabric that this host is at\n"
"  login                 log in, and say what was agreed\n"
"  luns                  logical units of the target\n"
"  inquiry, capacity     what a logical unit says of itself\n"
"  read                  octets of the disk to FILE (- is standard output)\n"
"  write                 octets of FILE to the disk, then flush\n"
"  verify                compare the disk with FILE\n"
"  unmap                 give octets of the disk back\n"
"  nbd                   serve the disk by nbdkit (at 127.0.0.1 if nothing is said)\n"
"  serve                 be a target, until it is ended\n"
"\n"
"  --adapter KIND        as for dapple run; it comes first\n"
"  --target ID           the target port; serve prints it, and has one of its own\n"
"  --initiator ID        own port (default: 0 and the GUID of the adapter)\n"
"  --lun N               logical unit (default 0)\n"
"  --offset SIZE, --length SIZE  of the disk; octets, or with K, M, G, T\n"
"  --timeout SECONDS     for a login, and for each command (30)\n"
"  --reconnect SECONDS   how long to try when the session is lost (0)\n"
"  --depth N             commands under way (1 to 1024; 32)\n"
"  --iu-length N         longest information unit (64 to 65536; 8260)\n"
"  --no-immediate        no data inside of commands\n"
"  --counts              print how many commands there were\n"
"\n"
"  --listen ADDRESS:PORT  of serve; port 0 is a free one, printed\n"
"  --allow ID            an initiator port that may log in; may be given again.\n"
"                        Any program can say any ID: this is no authentication\n"
"  --from ADDRESS[/BITS]  hosts that may connect, beside this one; may be given\n"
"                        again, needed for addresses that others reach\n"
"  --file PATH           a logical unit in a file or block device, --memory SIZE\n"
"                        one that ends with the target; the first one is LUN 0\n"
"  --read-only           protect all units\n"
"  --block N             octets of a block: 512 (default) or 4096\n"
"  --limit N             requests of a session under way (1 to 1024; 64)\n"
"\n"
"Exit status: 1 if it fails or the octets differ.  See dapple-srp(1).\n" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

void run_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("dapple: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

int run_help(const char *command, bool is_error)
{
	fputs(find(command)->help, is_error ? stderr : stdout);
	return is_error ? RUN_EXIT_USAGE : 0;
}

int run_usage_error(const char *command, const char *fmt, ...)
{
	const struct command *c = find(command);
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "dapple %s: ", command);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	if (c) {
		fputs("dapple ", stderr);
		fputs(command, stderr);
		fputs(" --help says more\n", stderr);
	}
	return RUN_EXIT_USAGE;
}

const char *run_opts_next(struct run_opts *o)
{
	const char *word, *eq;

	if (o->inline_value) {
		run_usage_error(o->command, "--%s takes no value", o->name);
		exit(RUN_EXIT_USAGE);
	}
	if (o->index >= o->argc)
		return NULL;
	word = o->argv[o->index];
	if (word[0] != '-' || !word[1])
		return NULL;
	o->index++;
	if (strcmp(word, "--") == 0) {
		o->ended_by_dashes = true;
		return NULL;
	}
	word += word[1] == '-' ? 2 : 1;
	eq = strchr(word, '=');
	o->inline_value = eq ? eq + 1 : NULL;
	snprintf(o->name, sizeof(o->name), "%.*s", eq ? (int)(eq - word) : 60, word);
	if (strcmp(o->name, "help") == 0 || strcmp(o->name, "h") == 0) {
		fputs(find(o->command)->help, stdout);
		exit(0);
	}
	return o->name;
}

const char *run_opts_value(struct run_opts *o)
{
	const char *v = o->inline_value;

	o->inline_value = NULL;
	if (!v && o->index < o->argc)
		v = o->argv[o->index++];
	if (!v)
		run_usage_error(o->command, "--%s needs a value", o->name);
	return v;
}

bool run_opts_number(struct run_opts *o, long min, long max, long *ret)
{
	const char *v = run_opts_value(o);
	char *end;
	long n;

	if (!v)
		return false;
	n = strtol(v, &end, 10);
	if (end == v || *end || n < min || n > max) {
		run_usage_error(o->command, "--%s is \"%s\", but must be a number from %ld to %ld",
				o->name, v, min, max);
		return false;
	}
	*ret = n;
	return true;
}

static void help(FILE *f)
{
	size_t i;

	fputs("usage: dapple COMMAND [options]\n\n"
	      "RDMA on any Linux machine, in user space.\n\n", f);
	for (i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].summary);
	fputs("\nSee also dapple COMMAND --help, dapple --version and dapple(1).\n", f);
}

int main(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		help(stderr);
		return RUN_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		puts("dapple " DAPPLE_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "help") == 0 && argc == 3 && find(argv[2])) {
		fputs(find(argv[2])->help, stdout);
		return 0;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		help(stdout);
		return 0;
	}
	c = find(argv[1]);
	if (!c) {
		fprintf(stderr, "dapple: command \"%s\" is unknown: no program is started; start it by dapple run -- %s\n"
				"dapple --help says more\n", argv[1], argv[1]);
		return RUN_EXIT_USAGE;
	}
	return c->main(argc - 1, argv + 1);
}
