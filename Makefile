# SPDX-License-Identifier: Apache-2.0
# `make setup` makes the program ready, `make study` measures this machine, `make test` tests the
# project. They need git, make, a C++ compiler, python3 >= 3.10 and a package index, nothing else.

PYTHON ?= python3
# The folder of the study, and how long measuring may take (setting up comes on top).
STUDY ?= study
BUDGET ?= 5m
BIN := .venv/bin
READY := .venv/ready

.PHONY: help setup study test lint format programs unit sanitize narrowed pytest lock clean

help:
	@echo "make setup   make .venv/bin/nearpeak and the measuring programs ready"
	@echo "make study   measure this machine with Open MPI and MPICH, into ./$(STUDY)"
	@echo "make test    all tests: formatters, linters, types, C++, Python, real MPI launches"
	@echo "make format  format the sources"
	@echo "make lock    pin the dependencies anew (requirements.lock)"
	@echo "make clean   remove what was built here; MPI libraries stay in ~/.cache/nearpeak"

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "nearpeak needs python3 >= 3.10: set PYTHON=/path/to/python3" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

setup: $(READY)
	$(BIN)/nearpeak build
	@echo "Ready. What next:"
	@echo "  $(BIN)/nearpeak mpi list                      MPI libraries here, and those that can be added"
	@echo "  $(BIN)/nearpeak mpi add openmpi               add one (with GPUs: intel openmpi-cuda)"
	@echo "  $(BIN)/nearpeak run latency --mpi openmpi     one benchmark"
	@echo "  $(BIN)/nearpeak study --mpi openmpi --budget 5m   a study and its report"

# A study that was cut off goes on where it was.
study: $(READY)
	$(BIN)/nearpeak mpi add openmpi mpich
	$(BIN)/nearpeak study --mpi openmpi --mpi mpich --budget $(BUDGET) -o $(STUDY) \
	  $(if $(wildcard $(STUDY)/plan.json),--resume)

# Built one after the other, as each build takes all cores; what runs on one is run side by side.
test: $(READY)
	$(MAKE) lint programs
	$(MAKE) --jobs=2 --output-sync=target unit sanitize narrowed
	$(MAKE) pytest

CPP = $(shell git ls-files 'bench/*.cpp' 'bench/*.hpp' ':!bench/third_party')

lint: $(READY)
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

format: $(READY)
	$(BIN)/clang-format -i $(CPP)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

programs: build-release build-sanitize

build-%: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S bench --preset $*
	MAKEFLAGS= $(BIN)/cmake --build build/$*

unit: CHECKED = build/release
sanitize: CHECKED = build/sanitize
unit: build-release
sanitize: build-sanitize
unit sanitize:
	$(BIN)/ctest --test-dir $(CHECKED) --output-on-failure --no-tests=error

# What computes, on the instructions that every CPU has: nothing may depend on last digits.
narrowed: $(READY)
	$(BIN)/python tests/narrowed.py --ignore=tests/report/test_page_browser.py \
	  tests/statistics tests/observations tests/results tests/findings tests/report \
	  tests/test_numbers.py

pytest: $(READY)
	$(BIN)/pytest

lock: $(READY)
	$(BIN)/pip install --quiet uv==0.13.8
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.10 --extra dev \
	  --no-header pyproject.toml -o requirements.lock

clean:
	rm -rf build .venv
