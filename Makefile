# make demo             set up, then the main job: route six requests and run the incident pipeline
# make test             set up, then all tests that need no outside server (under 5 minutes)
# make test-integration set up, then the tests that need outside servers, a browser or a database
# make chaos            set up, then random pipelines with random faults, CHAOS_EXAMPLES of them for each property,
#                       and CHAOS_KILLS of them killed and resumed
# make lint types       style, and types in strict mode
# make format           mend the style

PYTHON ?= python3
VENV   ?= .venv
CHAOS_EXAMPLES ?= 2000
CHAOS_KILLS ?= 1000
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check
# An editable install in strict mode is a tree of links to the files there are: it is renewed when one comes or goes.
FILES  := $(shell find catalog router orchestrator console -name '*.py' 2>/dev/null | LC_ALL=C sort)
LINKS  := $(VENV)/.files-$(shell echo '$(FILES)' | cksum | cut -d' ' -f1)

.PHONY: setup demo test test-integration chaos lint types format build clean

setup: $(VENV)/.packages $(LINKS)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch first, alone and by its exact version: pip then takes the build that this machine's index offers for it
# (see README.md for the CPU build), and nothing later replaces it.
$(VENV)/.packages: constraints.txt pyproject.toml | $(BIN)/python
	$(PIP) --upgrade "pip>=25"
	$(PIP) --constraint constraints.txt torch
	$(PIP) --constraint constraints.txt "setuptools>=77" --editable ".[dev]" --config-settings editable_mode=strict
	@rm -f $(VENV)/.files-* && touch $@ $(LINKS)

$(LINKS): $(VENV)/.packages
	$(PIP) --no-deps --no-build-isolation --editable . --config-settings editable_mode=strict
	@rm -f $(VENV)/.files-* && touch $@

demo: setup
	$(BIN)/python -m examples.incident

test: setup
	$(BIN)/python -m pytest -m "not integration"

test-integration: setup
	$(BIN)/python -m pytest -m integration

chaos: setup
	CHAOS_EXAMPLES=$(CHAOS_EXAMPLES) CHAOS_KILLS=$(CHAOS_KILLS) $(BIN)/python -m pytest --timeout 3600 \
		tests/orchestrator/pipeline/test_random_pipelines.py tests/orchestrator/checkpoints/test_chaos.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

build: setup
	$(BIN)/python -m build --wheel --outdir dist

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info $(VENV)/.files-*
