# Two commands do everything: `make demo` and `make test`. What they need to be there: scripts/check-tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# make test needs more packages than make demo; each list is installed once, and again when it changes.
RUN := $(VENV)/.run-installed
TEST := $(VENV)/.test-installed
BUILT := $(VENV)/.built
ENGINE := target/.engine-built
PAGE := target/.page-built
RUST := $(shell find crates scenarios -type f 2>/dev/null) Cargo.toml Cargo.lock pyproject.toml

# Python compiles a module when it is first imported.
INSTALL := $(BIN)/python -m pip install --no-compile --require-hashes -r

export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo demonstration test test-rust test-long test-slow test-real-time web soak busy test-testbed bench budgets validate answers conformance fuzz torture audit crates wheels site lint docs figures release-check clean build lock tools
.DELETE_ON_ERROR:

# Runs as soon as the extension is there; the page may still compile.
demo: tools
	@$(MAKE) --no-print-directory --jobs $(PAGE) demonstration

demonstration: $(BUILT)
	$(BIN)/python -m sojourn.demo

# What is quick, on all processors; a quarter of the random cases that test-slow has.
test: build
	@$(MAKE) --no-print-directory --jobs $(TEST) test-rust
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not testbed and not real_time and not long" $(AGAIN)

test-rust:
	PROPTEST_CASES=64 cargo test --workspace --quiet

# The rest that needs no kernel: what takes long, and, one after the other, what waits, measures or sends in real time.
test-long: test-slow test-real-time

test-slow: build $(TEST)
	cargo test --workspace --quiet --lib --tests -- --include-ignored
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "long and not testbed and not real_time"

test-real-time: build $(TEST)
	$(BIN)/python -m pytest --quiet -m "real_time and not testbed"

SIDE_BY_SIDE := --numprocesses auto --dist worksteal --quiet

# The laboratory's page for the browser, in python/sojourn/page; needs the Rust target wasm32-unknown-unknown.
web: tools
	scripts/web

# An agent among honest and hostile peers: no honest run refused, no growth.
SOAK_S ?= 600
soak: build $(TEST)
	$(BIN)/python -m tests.soak $(SOAK_S)

# Tests in real time, RUNS times beside eight busy loops: none may depend on an idle machine.
RUNS ?= 5
busy: build $(TEST)
	scripts/busy $(RUNS)

# What needs a real kernel: skipped, each with its reason, where there is none.
test-testbed: build $(TEST)
	$(BIN)/python -m pytest -m testbed -rs $(AGAIN)

# What runs on Windows and macOS: all but real kernels, real hosts and real uplinks.
ELSEWHERE := --no-warn-unreachable --follow-imports silent \
    --exclude '/(worlds/(linux|hosts|shell)|pad)/' --package sojourn

# The style gates: formats, lints, types, and docs that build without warnings.
lint: $(TEST)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	scripts/web --lint
	for stack in stacks/*; do [ ! -x $$stack/can-build ] || $$stack/can-build || continue; \
	    cargo fmt --check --manifest-path $$stack/Cargo.toml && cargo clippy --all-targets --quiet --locked \
	    --manifest-path $$stack/Cargo.toml --target-dir target/stacks -- -D warnings || exit 1; done
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	for system in win32 darwin; do $(BIN)/mypy --platform $$system --cache-dir .mypy_cache/$$system $(ELSEWHERE) || exit; done

# Renew the pages and snapshots that are derived from the registry and the format.
docs: build $(TEST)
	SOJOURN_UPDATE=1 cargo test --package sojourn-scenario --quiet --test pages --test bad_inputs
	SOJOURN_RECORD=1 $(BIN)/python -m pytest --quiet tests/test_cli_inspect.py
	$(BIN)/python -m handbook
	$(BIN)/python -m sojourn.papers --links docs/papers

# Draw the figures of the pages on algorithms again.
figures: build $(TEST)
	$(BIN)/python -m handbook --figures

# Both write a page of docs/ and the raw numbers in benchmarks/results/; progress goes to stderr.
bench: build $(TEST)
	$(BIN)/python -m benchmarks.bench

# What the Python half may cost: CPU of commands, and one point of a sweep on two processors, which wants an idle machine.
budgets: build
	$(BIN)/python -m benchmarks.budgets

validate: build
	$(BIN)/python -m benchmarks.validate

# Numbers beside answers computed apart from the engine: docs/validation/answers.md.
answers: build $(TEST)
	$(BIN)/python -m benchmarks.answers --strict

# Replay what a kernel's qdiscs and its TCP did, as it was recorded; --live records it anew.
conformance: build
	$(BIN)/python -m benchmarks.conformance --strict
	$(BIN)/python -m benchmarks.senders --strict
	$(BIN)/python -m benchmarks.receivers --strict

# Any bytes for all that is read, in Rust and in Python, SECONDS for each target (60): fuzz/README.md.
fuzz:
	scripts/fuzz $(SECONDS)

# Kill -9 at 100 points of what runs for long: nothing is left, and going on gives the same bytes. scripts/torture.
torture: build $(TEST)
	$(BIN)/python -m scripts.torture $(POINTS)

# Pack the crates that others can use, and build each from its package alone.
crates:
	scripts/crates

# Wheels in dist/, linked by zig for Linux with glibc and with musl, on x86-64 and aarch64; TARGETS="..." chooses
# among them, TARGETS=native is for this machine only.
WHEELS := $(VENV)/.wheels-installed
wheels: build $(WHEELS)
	scripts/wheels

$(WHEELS): requirements/wheels.txt | $(BIN)/python
	$(INSTALL) $<
	touch $@

# The documentation as a site with navigation and search, in build/site; the generator is in requirements/site.txt.
SITE := $(VENV)/.site-installed
site: build $(SITE)
	$(BIN)/python scripts/site.py
	$(BIN)/zensical build --strict

$(SITE): requirements/site.txt | $(BIN)/python
	$(INSTALL) $<
	touch $@

# What a release needs, one line for each check; a person tags, signs and publishes.
release-check: build $(TEST)
	$(BIN)/python scripts/release_check.py

# Licences and sources of the dependencies, and a bill of materials of both lock files in target/sbom.
audit:
	scripts/audit

# The page and the extension compile side by side, while packages are fetched.
build: tools
	@$(MAKE) --no-print-directory --jobs $(PAGE) $(BUILT)

$(BUILT): $(RUN) $(ENGINE)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --quiet
	touch $@

$(PAGE): $(RUST) $(wildcard web/*) scripts/web scripts/join_modules.py
	nice -n 4 scripts/web --if-possible
	mkdir -p $(@D)
	touch $@

# What the command above then finds compiled: to install it, all packages have to be there.
$(ENGINE): $(RUST) $(BIN)/maturin
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin build --release --locked --quiet
	touch $@

$(BIN)/maturin: requirements/run.txt | $(BIN)/python
	sed -n '/^maturin==/,/[^\\]$$/p' $< > $(VENV)/maturin.txt
	$(INSTALL) $(VENV)/maturin.txt
	touch $@

$(RUN): requirements/run.txt | $(BIN)/maturin
	$(INSTALL) $<
	touch $@

$(TEST): requirements/test.txt $(RUN)
	$(INSTALL) $<
	touch $@

$(BIN)/python:
	@PYTHON=$(PYTHON) scripts/check-tools
	$(PYTHON) -m venv $(VENV)

tools:
	@PYTHON=$(PYTHON) scripts/check-tools

# Renew the pinned requirements (needs pip-tools).
lock:
	cd requirements && for list in run test site wheels windows audit; do \
	    CUSTOM_COMPILE_COMMAND="make lock" pip-compile --quiet --upgrade --generate-hashes --strip-extras \
	        --allow-unsafe --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	        --output-file $$list.txt $$list.in || exit; done

clean:
	rm -rf $(VENV) target demo build python/sojourn/_native*.so
	find . -name __pycache__ -o -name .pytest_cache -o -name .mypy_cache -o -name .ruff_cache -o -name .hypothesis \
	    | grep -v '^./$(VENV)' | xargs rm -rf
