# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A plain front over meson; `make help` says what there is.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
# Number of jobs; all processors by default.
JOBS ?=
# Options of bench/run, which then runs alone: make bench BENCH=--quick
BENCH ?=

NINJA = ninja -C $(BUILD) $(if $(JOBS),-j$(JOBS))
TESTS = packaging/ci/runtests
export TALLY

.PHONY: all demo check check-kernel check-kernel-full check-full bench bench-docs install deb clean help deps
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

# What is missing is said by the tests themselves, which are skipped then.
check-kernel: deps all
	-@packaging/deps kernel
	@$(TESTS) $(BUILD) --suite kernel

# Each part runs even if one before it failed; the last line adds them up.
check-full: deps all
	@packaging/ci/full $(BUILD)

check-kernel-full: deps all
	-@packaging/deps kernel
	@$(TESTS) $(BUILD) --suite kernel-full

# The second part is what has no peer in this run: DAT, connections, the kernel's drivers in guests.
bench: all
	-@packaging/deps test bench
	@bench/run --build $(BUILD) $(BENCH)
	$(if $(BENCH),,@meson test -C $(BUILD) --benchmark --verbose --no-suite side-by-side)

bench-docs: all
	-@packaging/deps test bench
	@bench/run --build $(BUILD) --docs $(BENCH)

install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@$(NINJA)
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

deb:
	@packaging/deps build deb
	@packaging/mkdeb $(BUILD)/deb

clean:
	rm -rf $(BUILD) build-asan build-tsan

help:
	@echo 'make               build into $(BUILD)/'
	@echo "make demo          run Debian's verbs programs on a software adapter"
	@echo 'make check         all quick tests (at most 10 minutes)'
	@echo 'make check-kernel  against rdma_rxe and siw in a guest (at most 3 minutes)'
	@echo 'make check-full    the long ones and the sanitizers too (at most 45 minutes)'
	@echo 'make check-kernel-full  all of it against rdma_rxe and siw in guests (at most 25 minutes)'
	@echo 'make bench         everything side by side, as ratios, into $(BUILD)/bench/ (BENCH=--quick:'
	@echo '                   2 minutes); then the longer benchmarks'
	@echo 'make bench-docs    the first part of it, and docs/performance.md from what it gave'
	@echo 'make install       to DESTDIR and PREFIX (now $(DESTDIR)$(PREFIX))'
	@echo 'make deb           a Debian package, into $(BUILD)/deb/'
	@echo 'make clean         remove what the build made'
	@echo 'Variables: BUILD, JOBS, PREFIX, DESTDIR, BENCH'
