# schedlab: set up, show, check, test. Needs make, Rust (rustup.rs) and Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One file without libraries: inside a guest kernel it is the only program.
AGENT := python/schedlab/targets/bin/schedlab-agent
# Tests that need the kernel and the time of this machine, which others use too.
LIVE := $(patsubst %,tests/test_%.py,attend diagnose guest_noisy host live_alike live_arrivals live_faults live_rtapp live_serve memory_live network profiles record_drives record_kernel time time_waits tour volume watch)
# What schedlab lab and the gallery put into a page: the simulator as WebAssembly, and the scripts of pages and worker.
ENGINE := python/schedlab/lab/engine.wasm
SCRIPTS := $(patsubst %,python/schedlab/lab/%.js,page live gallery worker)
RUST := Cargo.toml Cargo.lock $(shell find crates machines -type f)
SOURCES := $(RUST) pyproject.toml $(shell find python -type f ! -name '*.pyc' ! -name '*.so' $(addprefix ! -path ,$(AGENT) $(ENGINE) $(SCRIPTS)))

.PHONY: setup gallery web retry demo check check-arm doc wheel man test explore bench bench-switches bench-idle bench-open bench-storage bench-host bench-record bench-memory bench-traces bench-whatif bench-whatif-runs bench-guests bench-start bench-report bench-tune bench-scale bench-attention bench-web fuzz mutants docs new-scheduler lock
.DELETE_ON_ERROR:

## setup: a virtual environment with the pinned tools and schedlab itself; nothing when up to date
setup: $(VENV)/installed

$(VENV)/tools: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "schedlab needs Python 3.11 or newer; name it: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || \
		{ echo "Python cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# The libraries of clusters, which tests, pages and benches need, and schedlab only where they are asked for.
$(VENV)/cluster: requirements-cluster.lock $(VENV)/tools
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

define pack
	@rm -rf $(VENV)/wheel
	@$(BIN)/maturin build --quiet --release --locked --interpreter $(BIN)/python --out $(VENV)/wheel
endef

define install
	$(pack)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall $(VENV)/wheel/*.whl
endef

$(VENV)/installed: $(VENV)/tools $(VENV)/agent $(VENV)/engine $(VENV)/scripts $(VENV)/compiled $(SOURCES)
	$(install)
	@touch $(VENV)/simulator $@

# These two are targets of their own so that make -j2 builds them next to the engine, most of which keeps one processor busy. They use
# one folder of cargo's, one after the other. Packed again with the engine in it, the wheel needs no compiler.
$(VENV)/compiled: $(RUST) | $(VENV)/agent
	$(pack)
	@touch $@

$(VENV)/agent: $(RUST) $(if $(wildcard $(AGENT)),,retry) | $(VENV)/tools
	@cargo rustc --quiet --release --locked -p schedlab-agent --bin schedlab-agent -- -C target-feature=+crt-static
	@mkdir -p $(dir $(AGENT))
	@install $${CARGO_TARGET_DIR:-target}/release/schedlab-agent $(AGENT)
	@touch $@

# Where one of them cannot be made, a line says why, and schedlab lab says what to do. Only `make web` tries again.
RETRY := $(if $(filter web,$(MAKECMDGOALS)),retry)
$(VENV)/engine: $(RUST) $(wildcard scripts/web-engine) $(if $(wildcard $(ENGINE)),,$(RETRY)) | $(VENV)/tools
	@scripts/web-engine $(ENGINE) || test $$? = 3
	@touch $@

$(VENV)/scripts: $(wildcard scripts/web-scripts web/*.json web/src/*.ts web/src/*/*.ts) $(if $(wildcard $(SCRIPTS)),,$(RETRY)) | $(VENV)/tools
	@scripts/web-scripts $(dir $(ENGINE)) $(abspath $(BIN)/python) || test $$? = 3
	@touch $@

retry:

## web: what the pages of schedlab lab are made of; then make setup installs it
web: $(VENV)/engine $(VENV)/scripts

## gallery: gallery/, a page for each policy with its schedule running live: a static site; opens from its files, too
gallery: setup
	@$(BIN)/python -m schedlab.gallery $@

# All but the agent, which only real kernels need, and the page: the first table comes sooner.
$(VENV)/simulator: $(VENV)/tools $(SOURCES)
	$(install)
	@touch $@

## demo: the published results next to ours, as a table and as demo.html
demo: $(VENV)/simulator
	@$(BIN)/schedlab reproduce --html demo.html

## check: form and lint
check: $(VENV)/tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --workspace --test '*' --locked -- -D warnings
	cargo fmt --check --manifest-path examples/own_policies/Cargo.toml
	$(BIN)/ruff format --check python tests
	$(BIN)/ruff check python tests
	@test ! -e $(VENV)/scripts || test ! -x web/node_modules/.bin/tsc || PATH="$(abspath $(BIN)):$$PATH" npm --prefix web run --silent check

## check-arm: that the agent compiles for aarch64, with rustup target add aarch64-unknown-linux-gnu and its gcc: it has all crates that call the kernel
ARM := aarch64-unknown-linux-gnu
check-arm:
	@rustup target list --installed 2>/dev/null | grep -q $(ARM) || { echo "check-arm: no library for $(ARM), nothing checked"; exit 0; }; \
		command -v aarch64-linux-gnu-gcc >/dev/null || { echo "check-arm: no aarch64-linux-gnu-gcc, nothing checked"; exit 0; }; \
		cargo check --locked -p schedlab-agent --target $(ARM)

## doc: the pages of the crates, for those who use them as libraries; a broken link or a page that is missing fails
doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --exclude schedlab-python --exclude schedlab-bench

# Of the architectures that wheels are made for, this machine's comes last: its agent stays in the tree.
HOST := $(shell uname -m)
ARCHITECTURES := $(filter-out $(HOST),x86_64 aarch64) $(HOST)

$(VENV)/zig: scripts/requirements-wheel.txt $(VENV)/tools
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

## wheel: dist/ with the sources and wheels for x86_64 and aarch64, glibc 2.17 or newer: pipx install dist/schedlab-*x86_64.whl needs no Rust
wheel: $(VENV)/zig $(VENV)/engine $(VENV)/scripts
	@rm -rf dist
	@$(BIN)/maturin sdist --out dist
	@$(BIN)/python scripts/permissions.py dist/*.tar.gz
	@set -e; for arch in $(ARCHITECTURES); do \
		target=$$arch-unknown-linux-gnu; gcc=$$arch-linux-gnu-gcc; test $$arch != $(HOST) || gcc=cc; \
		test -d "$$(rustc --print target-libdir --target $$target)" || { echo "wheel: none for $$arch: rustup target add $$target"; continue; }; \
		command -v $$gcc >/dev/null || { echo "wheel: none for $$arch: there is no $$gcc"; continue; }; \
		cargo rustc --quiet --release --locked --target $$target -p schedlab-agent --bin schedlab-agent -- \
			-C target-feature=+crt-static -C strip=symbols -C linker=$$gcc; \
		install -D $${CARGO_TARGET_DIR:-target}/$$target/release/schedlab-agent $(AGENT); \
		CARGO_ZIGBUILD_PYTHON_PATH=$(CURDIR)/$(BIN)/python $(BIN)/maturin build --quiet --release --locked --strip \
			--zig --compatibility manylinux2014 --target $$target --out dist; \
	done
	@ls -l dist

## man: the manual pages, into man/
man: setup
	$(BIN)/schedlab man --out man

# Random tests draw the same scenarios each time here, so that a failure is one of the change; make explore draws others.
SEED := 1990
RUST_TESTS := --workspace --locked --exclude schedlab-python

# What fails is tried again alone: terminals, browsers and Ctrl-C share the machine with other tests, and the live kernel with everything.
# Both results are printed; a test that fails only next to others has a race, in itself or in what it tests, and is mended.
# On the live kernel, what fails three times is a fault, as in scripts/live-tests.
AGAIN := --last-failed --last-failed-no-failures none
# One that hangs is tried again, too.
SOON := --timeout=300
PYTEST := $(BIN)/python -m pytest
# One more than there are processors: a sixth of the tests' time they wait for a browser, a connection or a process.
WORKERS := $(shell echo $$(($$(nproc) + 1)))
MODELLED := --hypothesis-seed=$(SEED) $(addprefix --ignore=,$(LIVE))

## test: every test, Rust first (it needs no Python); those of Python on all processors, but for those on the live kernel
test: export PROPTEST_RNG_SEED := $(SEED)
test: setup $(VENV)/cluster
	@date '+%T the tests of Rust'
	$(PYTHON) scripts/rust-tests $(RUST_TESTS)
	cargo test --locked --manifest-path examples/own_policies/Cargo.toml --config profile.dev.opt-level=0 --target-dir $${CARGO_TARGET_DIR:-target}
	@date '+%T those on the live kernel'
	scripts/live-tests
	@date '+%T the tests of Python'
	$(PYTEST) $(MODELLED) --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder || $(PYTEST) $(MODELLED) $(AGAIN)
	@date '+%T those on the live kernel'
	$(PYTEST) $(LIVE) $(SOON) || $(PYTEST) $(LIVE) $(SOON) $(AGAIN) || $(PYTEST) $(LIVE) $(SOON) $(AGAIN)
	@date '+%T all tests passed'

## explore: the random tests of Rust with scenarios never drawn before, TIMES (10) as many; a failure prints the scene and is a finding
TIMES := 10
explore:
	CASES_TIMES=$(TIMES) PROPTEST_CASES=$$((256 * $(TIMES))) cargo test --release $(RUST_TESTS)

## bench: switches per second, next to the ceiling and the peers, then bench-idle, bench-open, bench-storage, bench-host, bench-guests, bench-start, bench-report, bench-tune, bench-scale and bench-web (BENCH_QUICK=1: less of everything)
bench: bench-switches bench-idle bench-open bench-storage bench-host bench-guests bench-start bench-report bench-tune bench-scale bench-web

bench-switches: .venv-bench-simpy/made .venv-bench-simso/made
	cargo build --quiet --release --locked -p schedlab-bench
	@$(PYTHON) bench/bench.py --ours $${CARGO_TARGET_DIR:-target}/release/schedlab-bench \
		$(foreach peer,simpy simso,$$(test -e .venv-bench-$(peer)/made && echo --$(peer) .venv-bench-$(peer)/bin/python))

## bench-idle: an hour of 1 and of 64 idle processors with one task a second, under every scheduler; of 1,024, and of 64 of which one is busy, under eevdf
bench-idle:
	cargo build --quiet --release --locked -p schedlab-bench
	@$(PYTHON) bench/idle.py --ours $${CARGO_TARGET_DIR:-target}/release/schedlab-bench

## bench-open: a hundred million requests of an open load on 32 processors; PEER=PATH: a build of epfl-dcsl/schedsim, for scale
bench-open: setup
	$(PYTHON) bench/open_load.py --schedlab $(BIN)/schedlab $(addprefix --peer ,$(PEER))

# SimSo needs a module that Python 3.12 no longer has. A peer that cannot be installed is left out.
PYTHON_FOR_simso := python3.11
.venv-bench-%/made: bench/requirements-%.txt
	@{ $(or $(PYTHON_FOR_$*),$(PYTHON)) -m venv --clear $(@D) && \
		$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $< && touch $@; } || \
		echo "$* cannot be installed and is left out" >&2

## bench-storage: requests per second of caches, beside libCacheSim, and of drives under every elevator
bench-storage: setup .venv-bench-libcachesim/made
	cargo run --quiet --release --locked -p schedlab-disk --example throughput
	$(BIN)/python bench/caches.py \
		$$(test -e .venv-bench-libcachesim/made && echo --libcachesim .venv-bench-libcachesim/bin/python)

## bench-host: what a sample of the host's counters costs, beside sar, vmstat and others that are installed; events read a second
bench-host:
	cargo build --quiet --release --locked -p schedlab-agent
	$(PYTHON) bench/sampling.py --agent $${CARGO_TARGET_DIR:-target}/release/schedlab-agent
	cargo bench --quiet --locked -p schedlab-observe

## bench-record: what schedlab record and perf sched record cost the recorded load, and bytes an event; as root
bench-record: setup
	$(BIN)/python bench/record.py --agent $(AGENT)

## bench-memory: limits of memory on a real load, recorded twice, and what recording costs; as root, with gcc
bench-memory: setup
	$(BIN)/python bench/memory.py

## bench-traces: a recording explained and replayed next to perf on the same file, in events a second; as root
bench-traces: setup
	$(BIN)/python bench/traces.py

## bench-whatif: loads recorded under one setting, predicted for another and run under that, for LOADS or all; as root, on a quiet machine
bench-whatif: setup
	$(BIN)/python bench/whatif.py $(LOADS)

## bench-whatif-runs: the same of recorded runs of the simulator, where only the replay can be wrong, or ON=guest:6.17@2
bench-whatif-runs: setup
	$(BIN)/python bench/whatif_runs.py $(or $(ON),sim) $(LOADS)

## bench-attention: a program in focus next to batch work, with attention levels, without, and with GameMode; as root, on a quiet machine
bench-attention: setup
	$(BIN)/python bench/attention.py --agent $(AGENT)
	$(BIN)/python bench/attention_cost.py --agent $(AGENT)

## bench-guests: from a boot to a table, and a table of four kernels and six quanta, in seconds and as ratios
bench-guests: setup
	$(BIN)/python bench/guests.py

## bench-start: processor time and memory of short commands and of sweeps of 20,000 and 100,000 runs, with ratios to an idle interpreter; hyperfine and pandas for scale
bench-start: setup .venv-bench-pandas/made
	$(BIN)/python bench/start.py --schedlab $(BIN)/schedlab --agent $(AGENT) \
		$$(test -e .venv-bench-pandas/made && echo --pandas .venv-bench-pandas/bin/python)

## bench-report: the page of a sweep of 20,000 runs and five metrics, next to polars reading the same alone
bench-report: setup
	$(PYTHON) bench/report.py --schedlab $(BIN)/schedlab

## bench-tune: ten scenarios whose every setting was run, searched with a fifth of the runs; next to random settings and Optuna alone
bench-tune: setup
	$(BIN)/python bench/tune.py

## bench-scale: 2,000 runs of the desktop on this computer's threads, and on clusters of Dask and Ray on it: processors used, overhead a run
bench-scale: setup $(VENV)/cluster
	$(BIN)/python bench/scale.py

## bench-web: the engine of the pages of schedlab lab, in node, next to that of the command, on three examples
bench-web: setup
	$(BIN)/python bench/web.py

## fuzz: arbitrary bytes for the readers of traces, TIME seconds for each target, or for those in ONLY; needs a nightly toolchain and cargo-fuzz
fuzz: export TIME ?= 180
fuzz:
	@crates/traces/fuzz/run.sh $(ONLY)

## mutants: planted faults that the tests must catch
mutants:
	@$(PYTHON) scripts/mutants

## docs: the pages of every policy, the schema of experiment files, the recorded output of the examples, the matrix
docs: setup $(VENV)/cluster
	$(BIN)/python scripts/docs.py

## new-scheduler NAME=...: a file to start from, and its line in the table
new-scheduler:
	scripts/new-scheduler $(NAME)

## lock: choose the versions in requirements.lock and requirements-cluster.lock anew
lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" --upgrade -o requirements.lock
	uv pip compile pyproject.toml --extra ray --extra dask --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" --upgrade -c requirements.lock -o requirements-cluster.lock
