# Two commands on a fresh machine: `make audit` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
BIN := .venv/bin

.PHONY: audit test lint clean

audit: .venv/installed  ## ask the embedded model about every country, by two scores (some 28,000 sentences each)
	@echo "Asking the embedded model about every country, by two scores: some 28,000 sentences each, without cities."
	@$(BIN)/geobias regions --cities 0 --score aul --score conditional

test: .venv/installed lint  ## every test
	$(BIN)/pytest -n 2

lint: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet torch
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv
