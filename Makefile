# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Front end of meson; `make help` lists the targets.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
# Number of jobs; all processors by default.
JOBS ?=
# Parts of check-full; all by default: quick asan rules programs tsan releases
PART ?=
# Options of bench/run, which then runs alone: make bench BENCH=--quick
BENCH ?=
# Seconds of each of the four runs in bad weather of `make soak`: half an hour for each adapter.
SOAK_SECONDS ?= 900
# Targets of `make fuzz`, all by default, and minutes of each.
FUZZ ?=
FUZZ_MINUTES ?= 10

NINJA = ninja -C $(BUILD) $(if $(JOBS),-j$(JOBS))
TESTS = packaging/ci/runtests
export TALLY

.PHONY: all demo check check-kernel check-kernel-full check-kernel-long check-full soak fuzz bench bench-docs install deb dist clean help deps
.NOTPARALLEL:

all: $(BUILD)/build.ninja
	@$(NINJA)

$(BUILD)/build.ninja:
	meson setup $(BUILD) --prefix $(PREFIX)

deps:
	@packaging/deps build test

demo: deps all
	@tools/demo.sh $(BUILD)

check: deps all
	@packaging/checks/lengths .
	@$(TESTS) $(BUILD) --no-suite full

# A test whose packages are missing is skipped and names them.
check-kernel: deps all
	-@packaging/deps kernel
	@$(TESTS) $(BUILD) --suite kernel

# Each part runs even if one before it failed; the last line adds them up.
check-full: deps all
	@packaging/ci/full $(BUILD) $(PART)

# Millions of messages, thousands of processes that are killed.
soak: deps all
	@CONFORM_SECONDS=$(SOAK_SECONDS) $(TESTS) $(BUILD) --suite soak --timeout-multiplier 3

# In a build of its own, build-fuzz, with the lines that the inputs of each target reach.
fuzz:
	@packaging/deps build fuzz
	@tests/fuzz/run --minutes $(FUZZ_MINUTES) --coverage $(FUZZ)

check-kernel-full: deps all
	-@packaging/deps kernel
	@$(TESTS) $(BUILD) --suite kernel-full

# Compiles a kernel with KASAN and lockdep, once.
check-kernel-long: deps all
	-@packaging/deps kernel
	@$(TESTS) $(BUILD) --suite kernel-long

# The second command runs the benchmarks without a peer in the first: DAT, connections, the kernel's
# drivers in guests.
bench: all
	-@packaging/deps test bench
	@bench/run --build $(BUILD) $(BENCH)
	$(if $(BENCH),,@meson test -C $(BUILD) --benchmark --verbose --no-suite side-by-side)

bench-docs: all
	-@packaging/deps test bench
	@bench/run --build $(BUILD) --docs $(BENCH)

# In a build of its own: what only tests need is not built.
install:
	@[ -f $(BUILD)/install/build.ninja ] || meson setup $(BUILD)/install -Dtests=false
	@meson configure $(BUILD)/install -Dprefix=$(PREFIX)
	@ninja -C $(BUILD)/install $(if $(JOBS),-j$(JOBS))
	DESTDIR=$(DESTDIR) meson install -C $(BUILD)/install --no-rebuild

deb:
	@packaging/deps build deb
	@packaging/mkdeb $(BUILD)/deb

dist:
	@packaging/mkdist $(BUILD)/dist

clean:
	rm -rf $(BUILD) build-asan build-tsan build-fuzz

help:
	@echo 'make               build into $(BUILD)/'
	@echo "make demo          run Debian's verbs programs on a software adapter"
	@echo 'make check         the quick tests (at most 10 minutes)'
	@echo 'make check-kernel  smoke tests against rdma_rxe and siw in a guest (at most 3 minutes)'
	@echo 'make check-full    the long tests and the sanitizers too; PART=quick, asan, rules, programs,'
	@echo '                   tsan or releases runs one part (each at most 45 minutes)'
	@echo 'make soak          the same again a million times: messages, lost packets, killed processes'
	@echo 'make fuzz          each fuzz target for FUZZ_MINUTES=10, and which lines of its room it reaches;'
	@echo '                   FUZZ="shm streams" runs these'
	@echo 'make check-kernel-full  every operation against rdma_rxe and siw in guests (at most 25 minutes)'
	@echo 'make check-kernel-long  kDAPL in a kernel with KASAN and lockdep, and 100,000 iterations (hours)'
	@echo 'make bench         Dapple and its peers side by side, as ratios, into $(BUILD)/bench/ (BENCH=--quick:'
	@echo '                   2 minutes); then the longer benchmarks'
	@echo 'make bench-docs    its first part, and docs/performance.md from the results'
	@echo 'make install       to DESTDIR and PREFIX (now $(DESTDIR)$(PREFIX))'
	@echo 'make deb           the Debian packages, into $(BUILD)/deb/'
	@echo 'make dist          the sources as an archive, into $(BUILD)/dist/'
	@echo 'make clean         remove the build folders'
	@echo 'Variables: BUILD, JOBS, PREFIX, DESTDIR, PART, BENCH, SOAK_SECONDS, FUZZ, FUZZ_MINUTES'
