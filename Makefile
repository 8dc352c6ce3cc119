# Needs Python 3.11 or newer, make and git. `make demo` shows mdmem at work, `make check` runs all that takes seconds, `make test` everything.
# `make test PYTHON=python3.13` runs them on another Python, `make test-all` on each that is found (see .ci/pythons).
PYTHON ?= python3
ifeq ($(origin PYTHON),file)
VENV := .venv
else
VENV := .venvs/$(or $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'),$(error PYTHON=$(PYTHON) does not run))
endif
ROUNDS ?= 10
STAMP := $(VENV)/.installed
EXTRAS := adk anthropic fleet langgraph mcp meaning model page vectors
# With compiled tests kept: to compile them anew each time takes seconds.
PYTEST := PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest
# In processes side by side.
TESTS := PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python tests/parts.py

.PHONY: demo check quick near map test test-all test-slow test-clients test-page test-stores test-plain test-server suite lint explore mutants docs bench release locks clean

demo: $(STAMP)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh docs/demo.sh

# All that can be said in seconds: the tests that start no git and cost little, with a tenth of the examples.
check: $(STAMP)
	@$(MAKE) --no-print-directory -j 2 lint quick

quick: $(STAMP)
	@$(TESTS) -m "not git and not slow and not clients and not costly" --hypothesis-profile=check

# The tests that enter what differs from `main`, for a minute.
near: $(STAMP)
	@PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python tests/near.py

# Which functions each test enters, by which `near` and `mutants` choose tests. From Python 3.12 on, `make test` records that too.
map: $(STAMP)
	$(TESTS) --record-slowly

# Side by side: mypy without a cache keeps one core busy for as long as a twentieth of the suite.
test: $(STAMP)
	@$(MAKE) --no-print-directory -j 2 lint suite

suite: $(STAMP)
	$(TESTS) --record

# What is too long for the suite: loads, faults, and long forms of tests in it.
test-slow: $(STAMP)
	$(TESTS) -m slow

test-all: lint
	@pythons=$$(.ci/pythons) && echo "$$pythons" && for python in $$pythons; do $(MAKE) suite PYTHON="$$python" || failed=1; done; \
	test -n "$$pythons" && test -z "$$failed"

# Real clients with plugin, hooks and server, against scripted APIs on this machine; `WEEKLY=1` adds the large ones, and tries what npm has today.
# `CLIENT_VERSIONS=oldest` or `latest` tries other versions than those in tests/clients/installs.py.
test-clients: $(STAMP)
	$(if $(WEEKLY),CLIENT_VERSIONS=$(or $(CLIENT_VERSIONS),latest)) nice $(VENV)/bin/python -m pytest tests/clients -m "clients$(if $(WEEKLY),, and not weekly)"

# The pages in a real Chromium, which CHROMIUM names (/usr/bin/chromium). Only this target installs playwright; npm brings axe-core, once.
# Without one of these, the tests are skipped and say what is missing.
test-page: $(STAMP)
	-$(VENV)/bin/python -m pip install --quiet "playwright>=1.50"
	$(PYTEST) -rs -m browser tests/test_page_browser.py

# LangGraph's own tests of stores, from its source packages, with mdmem's store in place of theirs; then the tests that its packages and ADK are for.
test-stores: $(STAMP)
	$(VENV)/bin/python -m venv $(VENV)/stores
	$(VENV)/stores/bin/python -m pip install --quiet --editable ".[dev,langgraph,adk]" deepagents langmem pytest-mock pytest-asyncio
	$(VENV)/stores/bin/python tests/upstream_store.py
	$(VENV)/stores/bin/python -m pytest -p no:asyncio -m "" tests/test_langgraph.py tests/test_langgraph_agents.py tests/test_adk.py

# The suite with the standard library's dataclasses in place of startup/records.
test-plain: $(STAMP)
	MDMEM_RECORDS=dataclasses $(TESTS)

# The tests that start commands as processes, with a server behind them.
test-server: $(STAMP)
	MDMEM_SERVER=on $(TESTS) tests/test_cli*.py tests/test_hooks.py tests/test_agenthooks.py tests/test_durability.py

# The property tests alone, ROUNDS times at random; in `make test` they have a quarter of the examples, the same each time.
explore: $(STAMP)
	@for round in $$(seq $(ROUNDS)); do \
		$(TESTS) -m "hypothesis and not slow" --hypothesis-profile=explore || exit 1; \
	done

# Change one thing at a time and see whether a test notices: `make mutants` (an hour or two), `make mutants ROOMS="files facts" SAMPLE=60` (minutes).
mutants: $(STAMP)
	nice -n 10 $(VENV)/bin/python -X warn_default_encoding tests/mutants.py $(ROOMS) $(if $(SAMPLE),--sample $(SAMPLE))

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

docs: $(STAMP)
	$(VENV)/bin/python docs/tools/generate_commands.py
	$(VENV)/bin/python docs/tools/generate_table.py
	$(VENV)/bin/python docs/tools/generate_settings.py
	$(VENV)/bin/python docs/tools/merges.py
	$(VENV)/bin/python docs/tools/transcripts.py

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --editable ".[dev]"
	@touch $(STAMP)

bench: $(STAMP)
	$(VENV)/bin/python benchmarks/commands.py
	$(VENV)/bin/python benchmarks/search_speed.py

# Wheel, sdist and what is in them, from HEAD, in dist/: the same bytes each time (.ci/release.py).
release:
	$(PYTHON) .ci/release.py

# The newest versions of what a release is made with (locks/build.txt), and of what mdmem needs with all extras (locks/run.txt).
LOCK = $(VENV)/locks/bin/uv --no-config --quiet pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
locks:
	$(PYTHON) -m venv $(VENV)/locks
	$(VENV)/locks/bin/python -m pip install --quiet uv
	$(LOCK) --output-file locks/build.txt locks/build.in
	$(LOCK) --output-file locks/run.txt $(addprefix --extra ,$(EXTRAS)) pyproject.toml

clean:
	rm -rf .venv .venvs
