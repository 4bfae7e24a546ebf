# These commands do everything on a fresh machine with Python 3.11+, pip and make:
#   make run        set up, then run the real-time suite offline in about a minute
#   make test       set up, then the fast tier: style, types, floors, and tests without the slow ones
#   make peers      set up an environment for each library that timeful bridges to, and test the bridges with it
#   make test-all   the fast tier, then the slow one: training, torch, sandboxes, whole suites
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test test-slow test-all bench peers clean
run: $(VENV)/.run
	$(BIN)/timeful run realtime --preset quick --out runs/quick --replace

test: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 -m "not slow"

test-slow: $(VENV)/.test
	$(BIN)/pytest -n 2 -m slow

test-all: test test-slow

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

# Each peer has an environment of its own; PEERS=inspect chooses.
PEERS ?= inspect verifiers

PEER_inspect := -e '.[inspect]' pandas pyarrow
PEER_verifiers := -e plugins/verifiers

peers: $(PEERS:%=peer-%)

.PRECIOUS: .peers/%/.ready
peer-%: .peers/%/.ready
	.peers/$*/bin/python -m pytest -q -n 0 -o filterwarnings=default tests/bridges/test_$*.py

.peers/%/.ready: pyproject.toml
	$(PYTHON) -m venv .peers/$*
	.peers/$*/bin/python -m pip install -q -e '.[openai,timely]' $(PEER_$*) pytest pytest-xdist hypothesis
	touch $@

clean:
	rm -rf $(VENV) .peers runs

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "timeful needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e '.[openai,numba,timely,proactor]'
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	# torch first and by its number: a range lets pip look for newer builds, of several gigabytes.
	$(BIN)/python -m pip install -q torch==2.13.0
	$(BIN)/python -m pip install -q -e '.[dev]'
	touch $@ $(VENV)/.run
