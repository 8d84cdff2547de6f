# Everything runs from .venv, made from the locked requirements; a step runs again only when its inputs changed.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
UV := .venv/uv/bin/uv
PIP := $(BIN)/python -m pip --disable-pip-version-check install
# pip's own lines are many: count them. A pipe hides a failure, so that leaves a mark.
COUNT := awk '/^Collecting/ { printf "\r  %3d fetched, now %-50s", ++n, $$2; fflush() } /^Installing/ { print "\n  unpacking" }'
LOCK := pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --no-annotate --no-strip-extras --quiet
# What starts no process of the product, and one whole way: recorded with faults, landed, built, published, served.
# Without the files and tests that take longest: each would be a tenth of it.
FAST := tests/product/test_outage.py tests/repository tests/sandbox tests/ingest/declaration \
	tests/ingest/venues/test_bybit.py tests/orchestration/config tests/serve/endpoints tests/serve/queries \
	tests/serve/http/test_cache.py tests/serve/http/test_compression.py tests/serve/http/test_responses.py \
	tests/serve/mcp/test_jsonrpc.py tests/serve/contract $(addprefix --ignore=tests/, repository/test_adding.py \
	repository/test_notebooks.py repository/test_wheel.py sandbox/derived/test_wallets.py sandbox/test_server.py \
	ingest/declaration/test_reduction.py serve/queries/test_file_minutes.py serve/endpoints/history/test_bulk.py) \
	--deselect tests/serve/contract/test_openapi.py::test_schemathesis_finds_nothing
.DEFAULT_GOAL := help
# Bytecode is kept, whatever the caller's environment says: tests start hundreds of processes, each would compile ours.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help demo up test test-fast test-starts lint lint-python lint-types lint-sql format conformance pictures bench soak cluster wheel lock clean

help:
	@echo "make demo   the whole product against simulated exchanges on this machine, until Ctrl-C"
	@echo "make up     the same against the real exchanges"
	@echo "make test   the test suite, and where its time went (ARGS: more for pytest)"
	@echo "make test-fast  declarations, simulator, endpoints, and one whole way from an exchange to an answer"
	@echo "make test-starts  minutes of the exchanges, recorded and served, at fifty instants, which SEED draws"
	@echo "make lint   formatting, lint, types, SQL"
	@echo "make conformance  the official MCP suites against the tools; needs npm"
	@echo "make pictures  the pictures of the pages, of a demo that runs"
	@echo "make bench  measurements, as a table"
	@echo "make soak   hours of a demo with faults at random, compared with the simulated truth (HOURS=2)"
	@echo "make cluster  a recorder, a builder and two servers that follow it, each with a home of its own, until Ctrl-C"
	@echo "make wheel  dist/: the package, and the versions that it is tested with"
	@echo "make lock   resolve the requirements again"

demo: .venv/installed
	@$(BIN)/tidemark demo

up: .venv/installed
	@$(BIN)/tidemark up

# Tests wait for processes that they start and for moments: two workers more than there are cores keep all of them busy.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)

test: .venv/installed-dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-starts: .venv/installed-dev
	@$(BIN)/python -m pytest tests/product/test_any_start.py --starts 50 --starts-seed $(or $(SEED),$(shell date +%s)) $(ARGS)

test-fast: .venv/installed-dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(FAST) $(ARGS)

# Types and SQL take a core each for more than a minute.
lint: .venv/installed-dev
	@$(MAKE) --no-print-directory --output-sync=target -j 2 lint-types lint-sql lint-python

lint-python: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

lint-types: .venv/installed-dev
	$(BIN)/mypy

lint-sql: .venv/installed-dev
	@! LC_ALL=C.UTF-8 grep -rnE --include='*.sql' '^.{161}' dbt_project/models dbt_project/tests || \
		{ echo "These lines of SQL are longer than 160 characters."; exit 1; }
	TIDEMARK_WAREHOUSE=:memory: $(BIN)/sqlfluff lint --disable-progress-bar --processes 2 dbt_project/models dbt_project/tests

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

conformance: .venv/installed-dev .venv/node/installed
	@$(BIN)/python -m tests.support.servers.mcp_suites .venv/node

pictures: .venv/installed-dev
	@$(BIN)/python -m tests.support.servers.pictures

bench: .venv/installed-dev
	@$(BIN)/python -m benchmarks $(ARGS)

soak: .venv/installed
	@$(BIN)/python -m benchmarks.soak --hours $(or $(HOURS),2) $(ARGS)

cluster: .venv/installed-dev
	@$(BIN)/python -m benchmarks.cluster $(ARGS)

# The package, and its requirements as pip's constraints: without hashes, which pip would ask of the package too.
wheel: .venv/installed
	@rm -rf build dist && $(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation -w dist .
	@rm -rf build && sed -n 's/ \\$$//; /^[^ ]/p' requirements-lake.lock > dist/constraints.txt
	@ls dist/*

lock: .venv/uv
	$(UV) $(LOCK) --output-file requirements.lock
	$(UV) $(LOCK) --extra lake --constraint requirements.lock --output-file requirements-lake.lock
	$(UV) $(LOCK) --extra dev --extra lake --constraint requirements-lake.lock --output-file requirements-dev.lock
	echo uv | $(UV) $(subst pyproject.toml,-,$(LOCK)) --output-file requirements-uv.lock

clean:
	rm -rf .venv

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Tidemark needs Python 3.11 or newer; none was found. Install it, or name it: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Tidemark needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1)."; exit 1; }
	@echo "Making .venv with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

# uv takes a third of pip's time. Where it fails, as behind an index that only pip is configured for, pip does it.
define INSTALL
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode -r $(1) || { \
		rm -f .venv/failed; \
		{ $(PIP) --require-hashes -r $(1) || touch .venv/failed; } | $(COUNT); \
		test ! -e .venv/failed; }
endef

.venv/installed: .venv/uv requirements.lock pyproject.toml
	@echo "Installing the locked requirements into .venv: $$(grep -c == requirements.lock) packages, once"
	$(call INSTALL,requirements.lock)
	@$(PIP) --quiet --no-deps --no-build-isolation -e .
	@echo "Preparing the first start, once"
	@$(BIN)/tidemark prepare > /dev/null
	@touch $@ && echo "Installed"

.venv/installed-dev: .venv/installed requirements-dev.lock
	@echo "Installing what tests and lint need"
	$(call INSTALL,requirements-dev.lock)
	@touch $@

# The suites need Node.js 22, which comes as a package too.
.venv/node/installed: tests/node/package.json tests/node/package-lock.json
	@command -v npm >/dev/null || { echo "make conformance needs npm (of any Node.js) to fetch the MCP suites; it was not found."; exit 1; }
	@mkdir -p .venv/node && cp tests/node/package.json tests/node/package-lock.json .venv/node
	@echo "Fetching the MCP suites and Node.js 22 into .venv/node"
	@cd .venv/node && npm ci --no-audit --no-fund --loglevel=error
	@.venv/node/node_modules/node/bin/node --version >/dev/null || { echo "npm did not install Node.js 22: its package unpacks it with an install script, which npm may be configured to skip."; exit 1; }
	@touch $@

.venv/uv: .venv/bin/python requirements-uv.lock
	@$(BIN)/python -m venv $@
	@$@/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements-uv.lock || true
	@touch $@
