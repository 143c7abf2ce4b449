# Makefile - builds Syncopate out of tree in build/<mode>/; `make help` says what it can do.

MODE    ?= release
BUILD   := build/$(MODE)
CC      ?= cc
ifeq ($(origin CC),default)
CC      := gcc
endif
ifeq ($(MODE),fuzz)
# Only clang has libFuzzer, and what warnings there are depends on the compiler.
override CC := clang
endif
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
MANDIR  ?= $(PREFIX)/share/man
LIBDIR  ?= $(PREFIX)/lib
UNITDIR ?= $(PREFIX)/lib/systemd/system
INSTALL ?= install
SEEDS   ?= 1000
RUNS    ?= 100000
BENCH   ?= all
# As many compilers at once as there are processors, unless make was given -j.
JOBS    ?= $(shell nproc 2>/dev/null || echo 1)
AGAIN    = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

# Debian's packages, by the pkg-config name that proves each one is there.
PKGS    := libzmq libprotobuf-c zlib jansson libsodium nettle libmicrohttpd
TESTPKG := check
# What OpenBLAS gives its column of bench_gradient; without it the column is left out.
BENCHPKG := $(shell pkg-config --exists openblas 2>/dev/null && echo openblas)

# Which commit this is: by git, by what a release or a package has in .commit, or as it was built last.
COMMIT  := $(or $(shell [ -e .git ] && git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || \
    grep -v Format .commit 2>/dev/null),$(shell cat $(BUILD)/commit 2>/dev/null))

WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
           -Wcast-qual -Wwrite-strings -Wvla -Wformat=2 -Wundef -Wno-format-truncation $(if $(findstring clang,$(CC)),-Wno-unknown-warning-option) -Werror
# -ffp-contract=off: the same bits on every instruction set (proto/CONTRACT.md section 2). The two
# -fno- flags only promise that no code reads errno or traps, which lets loops be vectorised.
CFLAGS  ?= -O3 -g
# The tests themselves need not be fast, only what they test and measure. (Given to make, CFLAGS is for
# all of it.)
LIBRARY_CFLAGS := $(CFLAGS)
TEST_CFLAGS    := -O1 -g
SYNC_CFLAGS := -std=c11 -D_GNU_SOURCE -I. -I$(BUILD) $(WARN) -ffp-contract=off -fno-math-errno \
           -fno-trapping-math -fno-strict-aliasing -pthread -MMD -MP
# What debuggers read stays beside the objects, once, and not in a hundred test programs as well. (The
# sanitizers' own readers want it in the program.)
DEBUG_FORM = $(if $(filter release,$(MODE)),$(if $(filter -g%,$(CFLAGS)),-gsplit-dwarf -gz))
ifeq ($(MODE),asan)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1
endif
ifeq ($(MODE),tsan)
SANITIZE := -fsanitize=thread -fno-omit-frame-pointer -O1 -g1
endif
# Without optimisation: each branch stands in the source. The tests themselves are not counted.
ifeq ($(MODE),coverage)
SANITIZE  = -O0 --coverage -fprofile-update=atomic
endif
# See tests/fuzz/fuzz.h. What we write ourselves is not to guide libFuzzer.
ifeq ($(MODE),fuzz)
GUARDS   := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -gline-tables-only
SANITIZE  = $(GUARDS) $(if $(filter %/json_writer.o,$@),,-fsanitize=fuzzer-no-link)
endif
# Asked once, when this file is read: a target that installs packages first goes on in a second
# make, which sees them.
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
ALL_CFLAGS = $(SYNC_CFLAGS) $(CFLAGS) $(DEBUG_FORM) $(if $(MAKE_TERMOUT),-fdiagnostics-color) $(SANITIZE) $(PKG_CFLAGS)
# --as-needed: the HTTP of servers brings eight libraries more, which no other program is to load.
ALL_LIBS   = -Wl,--as-needed $(PKG_LIBS) -lm -pthread

# --- sources: a file dropped into a room is built; *_main.c becomes a program ---------------------
PROTO_C  := $(patsubst proto/%.proto,$(BUILD)/proto/%.pb-c.c,$(wildcard proto/*.proto))
# Rooms lie at most two deep: common/transport/zmq.
in_rooms  = $(wildcard $(foreach p,$(2),$(1)/$p $(1)/*/$p $(1)/*/*/$p))
objects   = $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_main.c,$(call in_rooms,$(1),*.c)))
COMMON   := $(call objects,common) $(PROTO_C:.c=.o)
PS       := $(call objects,ps)
WORKER   := $(filter-out %/example_softmax.o,$(call objects,worker))
DEPLOY   := $(call objects,deploy)
# Cores that look at themselves after each message (common/base/invariant.h): these files are compiled a
# second time, for whatever is no program that trains.
CORES     := ps/owner/owner ps/router/router ps/coordinator/coordinator ps/checkpointer/checkpointer \
             worker/client/session
checked    = $(foreach o,$(1),$(if $(filter $(CORES:%=$(BUILD)/%.o),$o),$(o:$(BUILD)/%=$(BUILD)/checked/%),$o))
PROGRAMS := $(BUILD)/syncopate $(BUILD)/syncopate-ps $(BUILD)/syncopate-worker
TESTLIB  := $(call objects,tests/lib)
# What the programs say of themselves: the manual, and what shells need to complete their options. (Named
# here as well, so that uninstall need not build them; tests/processes/install.sh compares.)
PAGES     := $(patsubst %,$(BUILD)/man1/syncopate%.1,\
    -calibrate -compare -completion -evaluate -export -figure -inspect -keygen -lab -launch -leave -man -probe -ps -replay -run -serve \
    -simulate -task -trace -verify -worker) \
    $(BUILD)/man1/syncopate.1
DOCUMENTS := $(PAGES) $(addprefix $(BUILD)/completion/,bash zsh fish)
BASHDIR   := $(PREFIX)/share/bash-completion/completions
ZSHDIR    := $(PREFIX)/share/zsh/site-functions
FISHDIR   := $(PREFIX)/share/fish/vendor_completions.d
# For programs in C whose gradients are asked for (worker/program/syncopate.h).
LIBRARY   := $(BUILD)/libsyncopate.a $(BUILD)/libsyncopate.so.0
# What a class unpacks; libraries are within it.
CLASS     := $(BUILD)/../class/syncopate-class
CLASS_PROGRAMS := $(PROGRAMS:$(BUILD)/%=$(CLASS)/bin/%)
UNITS_D   := $(wildcard deploy/systemd/*.service)
INSTALLED := $(UNITS_D:deploy/systemd/%=$(UNITDIR)/%) $(PROGRAMS:$(BUILD)/%=$(BINDIR)/%) $(PAGES:$(BUILD)/%=$(MANDIR)/%) $(ZSHDIR)/_syncopate \
    $(foreach p,syncopate syncopate-ps syncopate-worker,$(BASHDIR)/$p $(FISHDIR)/$p.fish) \
    $(PREFIX)/include/syncopate.h $(addprefix $(LIBDIR)/,$(notdir $(LIBRARY)) libsyncopate.so pkgconfig/syncopate.pc) \
    $(MANDIR)/man3/libsyncopate.3
# Test programs are tests/*/test_*.c and every script but lib.sh, which scripts may share.
programs  = $(patsubst %.c,$(BUILD)/%,$(sort $(call in_rooms,tests/$(1),test_*.c)))
scripts   = $(filter-out %/lib.sh,$(sort $(wildcard tests/$(1)/*.sh)))
UNIT      := $(call programs,unit)
# Conversations with one core: a text each, read by one program of many names (tests/talks/talk.c).
TALKS     := $(patsubst %.talk,$(BUILD)/%,$(sort $(wildcard tests/talks/*.talk)))
SIMULATED := $(call programs,simulated)
PROCESSES := $(call programs,processes) $(call scripts,processes)
# What a test is, its first lines say: "test: WORD...", and "wraps: FUNCTION..." for functions of its own in the place
# of others' (tests/run_tests.sh has the words). Here "WORD:PATH" each.
SOURCES   := $(patsubst $(BUILD)/%,%.c,$(filter $(BUILD)/%,$(UNIT) $(SIMULATED) $(PROCESSES)))
MARKS     := $(shell awk 'FNR > 30 { nextfile } /^(\/\*|#) (test|wraps): / { path = FILENAME; \
    if (sub(/\.c$$/, "", path)) path = "$(BUILD)/" path; if ($$2 == "wraps:") $$0 = "/* test: alone */"; \
    for (i = 3; i <= NF && $$i != "*/"; i++) print $$i ":" path }' $(SOURCES) $(filter %.sh,$(PROCESSES)) \
    $(call scripts,threads))
$(if $(filter-out $(addsuffix :%,alone asan first once later rare tsan),$(MARKS)),$(error unknown words of tests: $(MARKS)))
marked    = $(patsubst $(1):%,%,$(filter $(1):%,$(MARKS)))
# Ninety programs that are nearly the same would be most of build/, and of the time to link: the unit tests are
# one program of many names (tests/lib/together_main.c).
TOGETHER  := $(if $(filter release coverage asan,$(MODE)),$(filter-out $(call marked,alone),$(UNIT)))
# Without ThreadSanitizer unsuppressed.sh has nothing to add to test_cluster.
THREADS   := $(call programs,threads) $(if $(filter tsan,$(MODE)),$(call scripts,threads))
# Programs that those scripts use.
HELPERS   := $(filter-out $(PROCESSES),$(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/processes/*.c tests/programs/*.c))))
# Fuzzers without libFuzzer take the committed inputs.
FUZZERS   := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c tests/fuzz/deploy/fuzz_*.c)))
# ThreadSanitizer makes all ten times as long, and has nothing to see in one thread: virtual time passes in one.
ifeq ($(MODE),tsan)
TESTS     := $(filter $(call marked,tsan),$(PROCESSES) $(UNIT)) $(THREADS)
else
TESTS     := $(filter $(if $(filter asan$(WHOLE),$(MODE)),$(call marked,asan),%),$(PROCESSES)) $(THREADS) $(SIMULATED) $(UNIT) $(TALKS) $(FUZZERS)
endif
TESTS     := $(filter-out $(if $(filter-out release,$(MODE)),$(call marked,once)),$(TESTS))
# The longest come first, so that the short ones fill the gaps.
TESTS     := $(filter $(call marked,first),$(TESTS)) $(filter-out $(call marked,first),$(TESTS))
# Those of which `make check` leaves out a part (tests/lib/suite.h, tests/processes/lib.sh), or all.
LONG      := $(filter $(patsubst %.c,$(BUILD)/%,$(shell grep -rlE --include='*.c' --include='*.sh' '\<(suite_run_both|long_run)\>' tests)),$(TESTS))
RARE      := $(filter $(call marked,rare),$(TESTS))
LATER     := $(filter $(call marked,later),$(TESTS))
BENCHES   := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/bench/bench_*.c)))
BENCHLIB  := $(filter-out $(BENCHES:=.o) %/blas.o,$(call objects,tests/bench))
BLAS      := $(BUILD)/tests/bench/lib/blas$(if $(BENCHPKG),,_absent).o
MEASURED   = $(if $(filter all,$(BENCH)),$(BENCHES),$(BUILD)/tests/bench/bench_$(BENCH))
OURS      := $(foreach d,common ps worker deploy tests,$(call in_rooms,$d,*.[ch]))
SCRIPTS   := .ci/run $(wildcard deploy/*.sh deploy/*/*.sh tests/*.sh tests/*/*.sh)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-bench setup-check libraries all demo check check-later check-rest check-all tests unit asan tsan sim \
        coverage run-coverage \
        fuzz fuzz-corpus fuzzers bench chaos matrix labs \
        class grade size book include-direction format format-check script-check validate shapes figures tidy install uninstall clean benches \
        run-tests bench-known engines bare image deb mutants FORCE

help: ## this list
	@echo "make TARGET [MODE=release|asan|tsan] [CC=gcc|clang] [JOBS=N] [V=1]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' Makefile

# --- what people type ----------------------------------------------------------------------------
setup: ## install what the build needs and this machine lacks
	@deploy/setup.sh build

setup-bench: ## the same, and what the benchmarks measure against
	@deploy/setup.sh bench

setup-check: ## the same, and what the tests need
	@deploy/setup.sh check

all: $(PROGRAMS) $(if $(filter release,$(MODE)),$(DOCUMENTS) $(LIBRARY)) ## build the three programs into build/release/
	@:

demo: setup ## train sync, then async, on Fashion-MNIST; compare (minutes)
	@$(AGAIN) all
	$(BUILD)/syncopate compare --modes sync,async --workers 2 --epochs 3 \
	    --out runs/demo-$(shell date +%Y%m%d-%H%M%S)
	@echo "next: $(BUILD)/syncopate run --workers 3 --serve 0 --teach"

# Most tests wait most of the time: more at once than they bear under sanitizers.
check check-later: LANES = $(shell echo $$((6 * $(JOBS))))
check: setup-check ## build and test: units, clusters, real processes (minutes)
	@$(AGAIN) all tests
	@$(RUN_TESTS) $(filter-out $(LATER) $(RARE),$(TESTS)) tests/include_direction.sh tests/citations.sh tests/promises.sh

check-later: setup-check ## the longer scripts, which the gate runs as well
	@$(AGAIN) all tests
	@$(RUN_TESTS) $(LATER)

check-rest: LANES = $(shell echo $$((4 * $(JOBS))))
# Of each benchmark one short round: that it still measures.
check-rest: export BENCH_SMOKE = 1
check-rest: export BENCH_EPOCHS = 1
check-rest: setup-check ## long cases, chaos, a browser, libFuzzer, benchmarks
	@$(AGAIN) all tests benches
	@$(if $(HAS_LIBFUZZER),$(AGAIN) MODE=fuzz BUILD=build/fuzz fuzzers)
	@TEST_LONG=only TEST_WHOLE="$(RARE)" RUNS=10000 SECONDS_MAX=1 $(RUN_TESTS) $(RARE) \
	    $(filter-out $(RARE),$(LONG)) tests/fuzz/run.sh $(BENCHES)

check-all: check check-later check-rest engines ## every test there is, in a release build

asan: setup-check ## Address-, UndefinedBehaviorSanitizer; WHOLE=1: all scripts
	@$(AGAIN) MODE=asan all tests
	@$(MAKE) --no-print-directory MODE=asan run-tests

tsan: setup-check ## ThreadSanitizer: clusters in threads, transports
	@$(AGAIN) MODE=tsan all tests
	@$(MAKE) --no-print-directory MODE=tsan run-tests

bare: ## README's two commands on a machine that has nothing (root)
	@tests/bare.sh

image: setup ## a container image of the programs: localhost/syncopate
	@$(AGAIN) all
	@deploy/container/build.sh --programs $(BUILD)

deb: setup ## a Debian package, into build/deb
	@$(AGAIN) all
	@deploy/setup.sh deb
	@deploy/debian/build.sh $(BUILD)/../deb

engines: ## jobs by Slurm, Open MPI, ssh, pods and compose (root)
	@deploy/setup.sh engines
	@$(AGAIN) all $(BUILD)/tests/processes/await_status
	@env TEST_BUILD=$(abspath $(BUILD)) TEST_VERBOSE=$(V) tests/engines.sh

sim: export TEST_SEEDS = $(SEEDS)
sim: export TEST_TIMEOUT = 36000
sim chaos: SHOWN := 1
sim: setup-check ## clusters in virtual time, SEEDS=1000 histories of each kind
	@$(AGAIN) tests
	@$(RUN_TESTS) $(SIMULATED)

mutants: FILES ?= $(wildcard ps/mode/*.c worker/mode/*.c ps/*/chunk.c ps/*/owner.c ps/*/aggregator.c)
mutants: SAMPLE ?= 100
mutants: SEED ?= 1
mutants: setup-check ## changes that no test finds; FILES="..." SAMPLE=N SEED=N
	@$(AGAIN) all tests
	@tests/mutants.py $(BUILD) $(SAMPLE) $(SEED) $(FILES)

chaos: export CHAOS_FAULTS ?= 60
chaos: export CHAOS_LAUNCHERS ?= 40
chaos: LANES := 1
chaos: setup-check ## real processes killed and stopped at random (minutes)
	@$(AGAIN) all tests
	@TEST_LONG=1 TEST_TIMEOUT=3600 $(RUN_TESTS) $(addprefix tests/processes/,chaos.sh faults.sh hosts.sh)

matrix: ## write the tables of FAILURES.md and CONTRACT.md anew
	@tests/processes/faults.sh --write
	@tests/processes/same_bits.sh --write

fuzz: export RUNS := $(RUNS)
fuzz: setup-check ## libFuzzer on others' bytes; RUNS=100000, PARSERS="job json"
	@$(if $(HAS_LIBFUZZER),,$(error needs clang with libFuzzer: deploy/setup.sh ci))
	@$(AGAIN) MODE=fuzz BUILD=build/fuzz fuzzers
	@JOBS=$(JOBS) tests/fuzz/run.sh

fuzz-corpus: setup-check ## write the fuzzers' first inputs anew, from valid things
	@$(AGAIN) $(BUILD)/tests/fuzz/seeds
	@$(BUILD)/tests/fuzz/seeds tests/fuzz/corpus

# The reference job's ten epochs are long beside the rest: BENCH=job trains all, otherwise two.
bench: export BENCH_EPOCHS = $(if $(filter job,$(BENCH)),10,2)
bench: bench-known setup-bench ## measure; table and build/bench.json; BENCH=exchange for one
	@$(AGAIN) all benches
	@rm -f build/bench.json
	@failed=; for b in $(MEASURED); do \
	    $$b --json build/bench.json $$([ $$b = $(lastword $(MEASURED)) ] || echo --more) || failed="$$failed $${b##*/}"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

# Before anything is installed for it.
bench-known:
	@$(if $(filter-out $(BENCHES),$(MEASURED)),$(error BENCH=$(BENCH): there are all \
	    $(patsubst $(BUILD)/tests/bench/bench_%,%,$(BENCHES))))

validate: setup-check ## simulate against real jobs in network namespaces (root)
	@$(AGAIN) all tests
	@TEST_BUILD=$(abspath $(BUILD)) tests/validation/validate.sh

shapes: setup-check ## published shapes in virtual time; ratios of comparisons
	@$(AGAIN) all
	@tests/validation/shapes.sh $(abspath $(BUILD))
	@tests/validation/ratios.sh $(abspath $(BUILD))

labs: setup-check ## the labs: red without their solutions, green with them
	@$(AGAIN) all
	@$(RUN_TESTS) tests/processes/labs.sh

figures: setup-check ## eight papers' figures in build/figures (20 minutes)
	@$(AGAIN) all
	@tests/validation/figures.sh $(abspath $(BUILD))

class: setup ## labs without a compiler: build/class/syncopate-class.tar.gz
	@rm -rf $(CLASS) $(CLASS)-mine
	@$(AGAIN) $(CLASS_PROGRAMS) $(CLASS)/lib/syncopate.o
	@deploy/labs/pack.sh $(CLASS)

grade: setup ## check each lab of each hand-in; DIR=submissions
	@$(AGAIN) all
	@$(if $(DIR),,$(error takes DIR=FOLDER))deploy/labs/grade.sh $(DIR) $(BUILD)/syncopate >$(BUILD)/../grade.csv
	@awk -F , '{ yes += /",[0-9]+,yes,/ } END { print NR - 1 " checks, " yes " passed: build/grade.csv" }' $(BUILD)/../grade.csv

unit: setup-check ## the unit tests alone
	@$(AGAIN) tests
	@$(RUN_TESTS) $(UNIT) $(TALKS)

coverage: setup-check ## lines and branches run by units, threads and simulations
	@$(AGAIN) MODE=coverage run-coverage

size: ## lines of code a room, tokens, bytes of pages
	@tests/size.sh

book: all ## the source in reading order; what it calls outside itself
	@tests/book.sh $(BUILD)

include-direction: ## who may include what; what comments point at
	@tests/include_direction.sh
	@tests/citations.sh
	@tests/promises.sh

format: ## lay out the sources with clang-format
	clang-format -i $(OURS)

format-check: ## say where they are not
	@clang-format --dry-run -Werror $(OURS) && echo "$(words $(OURS)) files are laid out as agreed"

script-check: ## shellcheck
	@shellcheck $(SCRIPTS) && echo "$(words $(SCRIPTS)) scripts are clean"

tidy: $(PROTO_C) ## clang-tidy and cppcheck
	clang-tidy --quiet --warnings-as-errors='*' --checks=$(TIDY_CHECKS) \
	    $(filter-out tests/%,$(filter %.c,$(OURS))) -- \
	    $(filter-out -MMD -MP,$(SYNC_CFLAGS)) $(PKG_CFLAGS) -Iworker/program
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
	    --suppress=missingIncludeSystem --suppress=ctuuninitvar --suppress=uninitvar \
	    --suppress=memleak:tests/lib/transport_memory.c --error-exitcode=1 -D_GNU_SOURCE -I. \
	    $(foreach d,common ps worker deploy,$(call in_rooms,$d,*.c))

install: $(PROGRAMS) $(DOCUMENTS) $(LIBRARY) ## programs, library, manual, units; PREFIX, DESTDIR
	@$(INSTALL) -d $(addprefix $(DESTDIR),$(sort $(dir $(INSTALLED))))
	@$(INSTALL) -s -m 755 $(PROGRAMS) $(DESTDIR)$(BINDIR)
	@$(INSTALL) -m 644 $(PAGES) $(DESTDIR)$(MANDIR)/man1
	@$(INSTALL) -m 644 worker/program/libsyncopate.3 $(DESTDIR)$(MANDIR)/man3
	@$(INSTALL) -m 644 worker/program/syncopate.h $(DESTDIR)$(PREFIX)/include
	@$(INSTALL) -m 644 $(LIBRARY) $(DESTDIR)$(LIBDIR)
	@strip --strip-unneeded $(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(LIBRARY)))
	@ln -sf libsyncopate.so.0 $(DESTDIR)$(LIBDIR)/libsyncopate.so
	@printf '%s\n' 'Name: syncopate' 'Description: gradients for Syncopate to train by' \
	    'Version: $(shell sed -n 's/.*SYNCOPATE_VERSION "\(.*\)"/\1/p' common/options/options.h)' \
	    'Cflags: -I$(PREFIX)/include' 'Libs: -L$(LIBDIR) -lsyncopate' >$(DESTDIR)$(LIBDIR)/pkgconfig/syncopate.pc
	@$(INSTALL) -m 644 $(BUILD)/completion/bash $(DESTDIR)$(BASHDIR)/syncopate
	@$(INSTALL) -m 644 $(BUILD)/completion/zsh $(DESTDIR)$(ZSHDIR)/_syncopate
	@$(INSTALL) -m 644 $(BUILD)/completion/fish $(DESTDIR)$(FISHDIR)/syncopate.fish
	@for unit in $(notdir $(UNITS_D)); do \
	    sed 's|/usr/local/bin/|$(BINDIR)/|' deploy/systemd/$$unit >$(DESTDIR)$(UNITDIR)/$$unit && \
	    chmod 644 $(DESTDIR)$(UNITDIR)/$$unit || exit 1; \
	done
	@for role in ps worker; do \
	    ln -sf syncopate $(DESTDIR)$(BASHDIR)/syncopate-$$role && \
	    ln -sf syncopate.fish $(DESTDIR)$(FISHDIR)/syncopate-$$role.fish || exit 1; \
	done
	@printf '%s\n' "$(words $(PROGRAMS)) programs are in $(DESTDIR)$(BINDIR)," \
	    "$(words $(PAGES) libsyncopate.3) pages of the manual in $(DESTDIR)$(MANDIR), libsyncopate in $(DESTDIR)$(LIBDIR)," \
	    "completions for bash, zsh and fish in $(DESTDIR)$(PREFIX)/share," \
	    "units of systemd in $(DESTDIR)$(UNITDIR)"

uninstall: ## remove what install put there, given the same variables
	@rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@echo "$(words $(INSTALLED)) files of syncopate are gone from $(DESTDIR)$(PREFIX)"

clean: ## remove build/
	rm -rf build

# --- how they are built ----------------------------------------------------------------------------
# "[ 37/130] common/wire/message.c": how many steps there are is asked of make itself, before the first.
# V=1 shows the commands.
STEP  = @$(eval STEPS += .)deploy/build_step.sh $(words $(STEPS)) $(TOTAL) $(NAME)
NAME  = $(if $(filter %.c,$<),$<,$(patsubst $(BUILD)/%,%,$@))
STEPS :=
ifdef COUNTING
TOTAL := 0
else
TOTAL  = $(eval TOTAL := $$(shell COUNTING=1 MAKEFLAGS='$(MAKEFLAGS)' $(MAKE) -n -j1 $(MAKECMDGOALS) 2>/dev/null | \
    grep -c deploy/build_step.sh))$(TOTAL)
endif

# One archive a folder: a program is given what it needs of each, which keeps the tests small. In the
# order of the arrows. Thin: an archive only says where its objects are.
DEPLOY_A := $(BUILD)/libdeploy.a
WORKER_A := $(BUILD)/libworker.a
PS_A     := $(BUILD)/libps.a
WORKER_CHECKED_A := $(BUILD)/libworker-checked.a
PS_CHECKED_A     := $(BUILD)/libps-checked.a
COMMON_A := $(BUILD)/libcommon.a
TEST_A   := $(BUILD)/libtest.a
FUZZ_A   := $(BUILD)/libfuzz.a
$(DEPLOY_A): $(DEPLOY)
$(WORKER_A): $(WORKER)
$(WORKER_CHECKED_A): $(call checked,$(WORKER))
$(PS_A): $(PS)
$(PS_CHECKED_A): $(call checked,$(PS))
$(COMMON_A): $(COMMON)
$(TEST_A): $(TESTLIB)
$(BUILD)/lib%.a:
	@rm -f $@
	$(STEP) $(AR) rcs --thin $@ $^
# Objects first, wherever they stand among the prerequisites.
LINKED = $(filter %.o,$^) $(filter %.a,$^)

# Its cores are those of virtual time.
$(BUILD)/syncopate $(CLASS)/bin/syncopate: $(BUILD)/deploy/syncopate_main.o $(DEPLOY_A) $(WORKER_CHECKED_A) $(PS_CHECKED_A) $(COMMON_A)
$(BUILD)/syncopate-ps $(CLASS)/bin/syncopate-ps: $(BUILD)/ps/ps_main.o $(if $(SANITIZE),$(PS_CHECKED_A),$(PS_A)) $(COMMON_A)
$(BUILD)/syncopate-worker $(CLASS)/bin/syncopate-worker: $(BUILD)/worker/worker_main.o $(if $(SANITIZE),$(WORKER_CHECKED_A),$(WORKER_A)) $(COMMON_A)
# The same, whose cores look at themselves, that stop at hold points (common/events/hold.h), and whose clock a test
# pushes ahead (common/base/clock.h): tests/processes/lib.sh.
CHECKED_PROGRAMS := $(BUILD)/checked/syncopate-ps $(BUILD)/checked/syncopate-worker
$(BUILD)/checked/syncopate-ps: $(BUILD)/checked/ps/ps_main.o $(BUILD)/checked/common/base/clock.o $(PS_CHECKED_A) $(COMMON_A)
$(BUILD)/checked/syncopate-worker: $(BUILD)/checked/worker/worker_main.o $(BUILD)/checked/common/base/clock.o $(WORKER_CHECKED_A) $(COMMON_A)
# The one object that another commit makes anew; tests are linked without it (common/options/options.c).
$(PROGRAMS) $(CHECKED_PROGRAMS) $(CLASS_PROGRAMS): $(BUILD)/commit.o
$(BUILD)/commit.o: $(BUILD)/commit
	@printf 'extern const char syncopate_commit[];\nconst char syncopate_commit[] = "%s";\n' \
	    '$(if $(COMMIT), (commit $(COMMIT)))' | $(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -x c -c -o $@ -
$(BUILD)/commit: $(if $(filter-out x$(COMMIT),x$(shell cat $(BUILD)/commit 2>/dev/null)),FORCE)
	@mkdir -p $(@D)
	@echo '$(COMMIT)' >$@
$(CLASS_PROGRAMS): PKG_LIBS += -s -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib'
$(PROGRAMS) $(CHECKED_PROGRAMS) $(CLASS_PROGRAMS):
	@mkdir -p $(@D)
	$(STEP) $(CC) $(ALL_CFLAGS) -o $@ $(LINKED) $(ALL_LIBS)

# Lab 9 without the sources: all of the program but the student's mode. Nine objects have a list of all modes.
MINE := $(patsubst %.c,$(CLASS)-mine/%.o,$(shell grep -rlE 'MODE_COUNT|mode_rows' --include='*.c' common ps worker deploy))
$(CLASS)/lib/syncopate.o: $(MINE) $(filter-out $(MINE:$(CLASS)-mine/%=$(BUILD)/%) $(MINE:$(CLASS)-mine/%=$(BUILD)/checked/%),\
    $(BUILD)/deploy/syncopate_main.o $(BUILD)/commit.o $(DEPLOY) $(call checked,$(WORKER) $(PS)) $(COMMON))
	@mkdir -p $(@D)
	$(STEP) $(CC) -r -nostdlib -o $@ $^
$(CLASS)-mine/%.o: %.c $(CLASS)-mine/common/job/mode_rows.inc
	@mkdir -p $(@D)
	$(STEP) $(CC) -I$(CLASS)-mine $(ALL_CFLAGS) -DCHECKED=1 -c -o $@ $<
$(CLASS)-mine/common/job/mode_rows.inc: common/job/mode_rows.inc deploy/labs/solutions/9/row.txt
	@mkdir -p $(@D)
	@cat $^ >$@

# Whatever links it: libc alone, C99, and no name but its own.
$(BUILD)/worker/program/%.o: override CFLAGS += -std=c99 -fPIC -fvisibility=hidden
$(BUILD)/libsyncopate.a: $(BUILD)/worker/program/syncopate.o
	@rm -f $@
	$(STEP) $(AR) rcs $@ $<
$(BUILD)/libsyncopate.so.0: $(BUILD)/worker/program/syncopate.o
	$(STEP) $(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(@F) -o $@ $<

$(PAGES): $(BUILD)/man1/%.1: $(BUILD)/syncopate
	@mkdir -p $(@D)
	@$< man $* >$@
$(BUILD)/completion/%: $(BUILD)/syncopate
	@mkdir -p $(@D)
	@$< completion $* >$@

libraries:
	@pkg-config --exists $(PKGS) || \
	    { echo "libraries are missing: run \`make setup\` (or make demo, or make check)" >&2; exit 1; }

$(PROTO_C): $(BUILD)/proto/%.pb-c.c: proto/%.proto | libraries
	@mkdir -p $(@D)
	$(STEP) protoc-c --c_out=$(BUILD) $<
# Generated code is not ours to warn about.
$(BUILD)/proto/%.o: $(BUILD)/proto/%.c
	$(STEP) $(CC) $(filter-out $(WARN),$(ALL_CFLAGS)) -c -o $@ $<
$(BUILD)/%.o: %.c | $(PROTO_C)
	@mkdir -p $(@D)
	$(STEP) $(CC) $(ALL_CFLAGS) -c -o $@ $<
# A page is one file with all in it; the browser runs the script that has this hash alone. Comments and blanks that no
# text has are left out: in a script each text is between ' and ', no expression has two signs that a blank keeps apart
# ("a + +b"), and none of those between / and / has a blank.
PAGES_HTML := $(BUILD)/common/watch/page_text $(BUILD)/deploy/page/page_figure
$(BUILD)/common/watch/page_text.html: deploy/page/page.js
$(BUILD)/deploy/page/page_figure.html: deploy/page/figure.js
$(PAGES_HTML:=.html): deploy/page/page.html deploy/page/page.css deploy/page/source.js deploy/page/draw.js Makefile
	@mkdir -p $(@D)
	@! grep -nE '\(/[^*/ ][^/]* [^/]*/[gim]*[,.)]' $(filter %.js,$^)
	@cat deploy/page/source.js deploy/page/draw.js $(filter-out %/source.js %/draw.js,$(filter %.js,$^)) | \
	    sed -E 's/^ +//; s, */\*.*\*/$$,,; /^$$/d; /^\/\*/,/\*\/$$/d' | \
	    sed -E ":a; s/^(([^']*'[^']*')*[^']*'[^' ]*) /\1\x01/; ta; s/ *([^A-Za-z0-9_$$ ]) */\1/g; s/\x01/ /g" | \
	    sed -zE 's/([{,;(])\n/\1/g; s/;\}/}/g' >$(@:.html=.js)
	@sed -E 's/^ +//; s, */\*.*\*/$$,,; /^$$/d; s/ *([{};,>]) */\1/g; s/: /:/g; s/;\}/}/g' deploy/page/page.css >$(@:.html=.css)
	@hash=$$(env printf "$$(sha256sum <$(@:.html=.js) | cut -c 1-64 | sed 's/../\\x&/g')" | base64) && \
	    sed -e "s|@HASH@|$$hash|" -e '/@STYLE@/{r $(@:.html=.css)' -e 'd}' -e '/@SCRIPT@/{r $(@:.html=.js)' -e 'd}' deploy/page/page.html | \
	    sed -e ':a' -e 'N;$$!ba' -e 's|<script>\n|<script>|' >$@
$(PAGES_HTML:=.inc): %.inc: %.html
	@od -An -v -tu1 $< | sed 's/ *\([0-9]*\)/\1,/g' >$@
$(BUILD)/common/watch/page_text.o: $(BUILD)/common/watch/page_text.inc
$(BUILD)/deploy/page/page.o: $(BUILD)/deploy/page/page_figure.inc
# The texts are within it.
$(BUILD)/deploy/labs/labs.o: $(wildcard deploy/labs/*.md)
$(BUILD)/checked/%.o: %.c | $(PROTO_C)
	@mkdir -p $(@D)
	$(STEP) $(CC) $(ALL_CFLAGS) -DCHECKED=1 -c -o $@ $<
$(BUILD)/tests/%.o: CFLAGS = $(TEST_CFLAGS)
ifeq ($(MODE),coverage)
$(BUILD)/tests/%.o: SANITIZE =
endif
$(BUILD)/tests/bench/%.o: CFLAGS = $(LIBRARY_CFLAGS)

# A fuzzer's main is libFuzzer's, or else ours.
FUZZ_MAIN := $(if $(filter fuzz,$(MODE)),,$(BUILD)/tests/fuzz/lib/replay.o)
FUZZ_LINK := $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer)
# What they read with: little, because `make check` builds it once more, with clang.
FUZZLIB   := $(addprefix $(BUILD)/,tests/fuzz/lib/input.o tests/fuzz/lib/samples.o deploy/engine/simulated_disk.o) \
    $(call objects,deploy/cluster) $(call objects,deploy/trace) $(call objects,deploy/place) \
    $(patsubst %,$(BUILD)/deploy/compare/%.o,axes named_configs plan plan_file settings) \
    $(patsubst %,$(BUILD)/deploy/hosts/%.o,host_list host_report placement) \
    $(filter $(addprefix $(BUILD)/worker/,data/% model/% program/% source/%),$(WORKER)) \
    $(call checked,$(patsubst %,$(BUILD)/worker/client/%.o,announcements exchange exchange_check bandwidth_share replica version_skew \
        scoring session session_check)) \
    $(filter $(BUILD)/worker/mode/%,$(WORKER)) \
    $(call checked,$(filter-out $(BUILD)/ps/server.o,$(PS))) \
    $(filter-out $(BUILD)/common/transport/%,$(COMMON)) \
    $(patsubst %,$(BUILD)/common/transport/%.o,shm/rendezvous shm/ring shm/shared_memory shm/window)
HAS_LIBFUZZER = $(shell echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' | \
    clang -fsanitize=fuzzer,address -x c -o /dev/null - 2>/dev/null && echo yes)
$(FUZZ_A): $(FUZZLIB)
$(FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/lib/fuzz.o $(FUZZ_MAIN) $(FUZZ_A)
	$(STEP) $(CC) $(ALL_CFLAGS) $(FUZZ_LINK) -o $@ $(LINKED) $(ALL_LIBS)
$(BUILD)/tests/fuzz/fuzz_run_record: $(BUILD)/tests/lib/records/rewritten_record.o
$(BUILD)/tests/fuzz/seeds: $(addprefix $(BUILD)/tests/,fuzz/lib/seeds_main.o lib/records/sample_record.o lib/specimens.o lib/traces/made_trace.o) $(FUZZ_A)
	$(STEP) $(CC) $(ALL_CFLAGS) -o $@ $(LINKED) $(ALL_LIBS)

# Every test and benchmark may use everything.
TEST_LIBS := $(shell pkg-config --libs $(TESTPKG) 2>/dev/null)
WRAP       = $(addprefix -Wl$(comma)--wrap=,$(shell sed -nE 's,^/\* wraps: (.*) \*/$$,\1,p' $(@:$(BUILD)/%=%.c)))
comma     := ,
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(TEST_A) $(DEPLOY_A) $(WORKER_CHECKED_A) $(PS_CHECKED_A) $(COMMON_A)
	$(STEP) $(CC) $(ALL_CFLAGS) $(WRAP) -o $@ $(LINKED) $(ALL_LIBS) $(TEST_LIBS)
$(TALKS): $(BUILD)/tests/talks/talk
	@ln -f $< $@
$(BUILD)/tests/talks/talk: $(call objects,tests/talks)
# Benchmarks measure the code of the programs. The oracle must find the planted faults.
$(BENCHES) $(BUILD)/tests/simulated/test_planted: $(BUILD)/tests/%: $(BUILD)/tests/%.o $(TEST_A) $(DEPLOY_A) \
    $(WORKER_A) $(PS_A) $(COMMON_A)
	$(STEP) $(CC) $(ALL_CFLAGS) $(WRAP) -o $@ $(LINKED) $(ALL_LIBS) $(TEST_LIBS)
$(BENCHES): $(BENCHLIB)
# Update rules and their limits once more, for AVX2: tests/bench/lib/loops.h.
$(BUILD)/tests/bench/avx2/%.o: %.c tests/bench/lib/avx2.h
	@mkdir -p $(@D)
	$(STEP) $(CC) $(ALL_CFLAGS) -include tests/bench/lib/avx2.h -c -o $@ $<
$(BUILD)/tests/bench/avx2.o: $(patsubst %,$(BUILD)/tests/bench/avx2/%.o,tests/bench/lib/loops \
    $(basename $(wildcard common/optimizer/*.c)))
	$(STEP) $(LD) -r -o $@ $^
	@objcopy --keep-global-symbol=loops_avx2 $@
$(BUILD)/tests/bench/bench_update: $(BUILD)/tests/bench/avx2.o
# BLAS starts threads in whatever is linked to it.
$(BUILD)/tests/bench/bench_gradient: $(BLAS)
ifneq ($(BENCHPKG),)
$(BUILD)/tests/bench/bench_gradient: PKG_LIBS += $(shell pkg-config --libs $(BENCHPKG))
$(BUILD)/tests/bench/lib/blas.o: PKG_CFLAGS += $(shell pkg-config --cflags $(BENCHPKG))
endif
$(BUILD)/tests/bench/lib/blas_absent.o: tests/bench/lib/blas.c
	@mkdir -p $(@D)
	$(STEP) $(CC) $(ALL_CFLAGS) -DBLAS_ABSENT -c -o $@ $<

# Every main gets the name of its test, by which together_main.c calls it.
UNITS   := $(BUILD)/tests/together/unit
UNITS_O := $(TOGETHER:$(BUILD)/tests/unit/%=$(BUILD)/tests/together/%.o)
LISTED  := $(foreach t,$(TOGETHER),TEST($(notdir $t)))
WRITTEN  = $(if $(TOGETHER),$(shell cat $(UNITS).inc 2>/dev/null))
$(TOGETHER): $(UNITS)
	@mkdir -p $(@D) && ln -f $< $@
$(UNITS): $(BUILD)/tests/lib/together_main.o $(UNITS_O) $(TEST_A) $(DEPLOY_A) $(WORKER_CHECKED_A) $(PS_CHECKED_A) \
    $(COMMON_A)
	@nm -A -g --defined-only $(UNITS_O) | awk '$$NF !~ /_main$$/ { found = 1; \
	    print $$1 " defines " $$NF ": its test is to say \"test: alone\"" } END { exit found }'
	$(STEP) $(CC) $(ALL_CFLAGS) -o $@ $(LINKED) $(ALL_LIBS) $(TEST_LIBS)
$(BUILD)/tests/together/%.o: tests/unit/%.c | $(PROTO_C)
	@mkdir -p $(@D)
	$(STEP) $(CC) $(ALL_CFLAGS) -Dmain=$(notdir $*)_main -c -o $@ $<
$(BUILD)/tests/lib/together_main.o: $(UNITS).inc
$(UNITS).inc: $(if $(filter-out $(WRITTEN),$(LISTED))$(filter-out $(LISTED),$(WRITTEN)),FORCE)
	@mkdir -p $(@D)
	@printf '%s\n' $(LISTED:%='%') >$@
FORCE:

# The colon: or make says that there is nothing to be done.
tests: $(filter $(BUILD)/%,$(TESTS)) $(HELPERS) $(CHECKED_PROGRAMS)
	@:
benches: $(BENCHES) $(BUILD)/tests/bench/lib/blas_absent.o
	@:
fuzzers: $(FUZZERS)
	@:

# Tests of real processes find the programs by TEST_BUILD, and learn from TEST_MODE how
# much slower they are; most wait most of the time, so that there are more at once than processors. A
# sanitizer that finds something ends the process with a code of its own.
# ThreadSanitizer of this age cannot live with as much address randomisation as newer kernels do.
LANES           = $(shell echo $$((3 * $(JOBS))))
SHOWN           = $(V)
FIXED_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)
RUN_TESTS = $(if $(filter tsan,$(MODE)),$(FIXED_ADDRESSES)) env TEST_BUILD=$(abspath $(BUILD)) TEST_MODE=$(MODE) \
    JOBS=$(LANES) TEST_VERBOSE=$(SHOWN) \
    ASAN_OPTIONS=exitcode=86:detect_stack_use_after_return=1 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    TSAN_OPTIONS=exitcode=87:second_deadlock_stack=1:suppressions=$(abspath tests/tsan.supp) \
    tests/run_tests.sh
run-tests:
	@$(RUN_TESTS) $(TESTS)

# Counts of a run before this one would be added to.
run-coverage: $(UNIT) $(TALKS) $(filter $(BUILD)/%,$(THREADS) $(SIMULATED))
	@find $(BUILD) -name '*.gcda' -delete
	@$(RUN_TESTS) $^
	@tests/coverage.sh $(BUILD)

# Left out: checks that cry wolf here (pointers to pointers, va_list behind a macro, the order of a
# struct's members for the reader rather than the padding).
TIDY_CHECKS := '-*,bugprone-*,clang-analyzer-*,performance-*,portability-*,$(strip \
    )-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,$(strip \
    )-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,$(strip \
    )-clang-analyzer-security.insecureAPI.strcpy,-clang-analyzer-valist.Uninitialized,$(strip \
    )-clang-analyzer-optin.performance.Padding,-clang-analyzer-optin.portability.UnixAPI,$(strip \
    )-bugprone-sizeof-expression,-bugprone-branch-clone,-bugprone-integer-division,$(strip \
    )-bugprone-implicit-widening-of-multiplication-result,-bugprone-misplaced-widening-cast,$(strip \
    )-performance-no-int-to-ptr'

# Objects that only rules of patterns ask for are kept as well.
.SECONDARY: $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/lib/%,$(call in_rooms,tests,*.c)))

# Of this mode alone: those of all would be most of what make reads.
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
