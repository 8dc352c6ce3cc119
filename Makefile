# Needs Python 3.11 or newer, make and git. `make demo` shows mdmem at work, `make test` runs every check and test.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed

.PHONY: demo test lint docs bench clean

demo: $(STAMP)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh docs/demo.sh

test: lint
	$(VENV)/bin/python -m pytest -n 2

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

docs: $(STAMP)
	$(VENV)/bin/python docs/generate_commands.py
	$(VENV)/bin/python docs/generate_table.py
	$(VENV)/bin/python docs/transcripts.py

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --editable ".[dev]"
	@touch $(STAMP)

bench: $(STAMP)
	$(VENV)/bin/python benchmarks/commands.py
	$(VENV)/bin/python benchmarks/search_speed.py

clean:
	rm -rf $(VENV)
