# Everything a contributor or CI needs. Each target sets up what it needs by itself:
# Python 3.11 or newer and Java 17 or newer are all that must be there before.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Spark and its Python workers talk over loopback only, whatever the host's name resolves to.
export SPARK_LOCAL_IP ?= 127.0.0.1
# A job starts many Python processes; without cached bytecode each would compile all of headrace.
unexport PYTHONDONTWRITEBYTECODE

# Tests run in more processes than there are cores; WORKERS=0 runs them in one, for a debugger.
# Those of a file stay together, for what they share; tests/conftest.py says which files come first.
WORKERS ?= auto
PYTEST  := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The fastest installer that is there.
# It shows on a terminal what it downloads. Standard output of what make calls is no terminal.
INSTALL := $(if $(shell command -v uv),uv pip install --python $(BIN)/python,$(BIN)/python -m pip --disable-pip-version-check install) $(shell [ -t 2 ] || echo --quiet)

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-sql demo-kafka test test-quick test-all matrix wheel pictures kafka postgresql mariadb lint format types bench docs docs-site coverage-page clean java dashboard dashboard-test release

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: java $(VENV)/.stamp-dev ## Create .venv and install headrace with its development tools

$(BIN)/python:
	@tools/check-python "$(PYTHON)"
	"$(PYTHON)" -m venv $(VENV)

# The stamps make an install happen once, and again when the dependencies change.
$(VENV)/.stamp-run: pyproject.toml | $(BIN)/python
	@echo "installing headrace and PySpark (about 450 MB)"
	$(INSTALL) -e .
	@touch $@

# Of the development tools, the demo with Kafka needs the client alone.
$(VENV)/.stamp-kafka: pyproject.toml $(VENV)/.stamp-run
	@echo "installing Kafka's client"
	$(INSTALL) -e '.[kafka]'
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml $(VENV)/.stamp-run
	@echo "installing the development tools"
	$(INSTALL) -e '.[dev]'
	@touch $@

$(VENV)/.stamp-docs: pyproject.toml $(VENV)/.stamp-dev
	$(INSTALL) -e '.[dev,docs]'
	@touch $@

java:
	@tools/check-java

demo: java $(VENV)/.stamp-run ## Watch a live job of 20 seconds lose a process and recover
	@$(BIN)/headrace demo

demo-sql: java $(VENV)/.stamp-run ## Watch a SQL query over generated readings
	@$(BIN)/headrace sql examples/sensor_report.sql

demo-kafka: java $(VENV)/.stamp-kafka ## Count words from Kafka to Kafka exactly once; starts a broker by itself
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tools.kafka_demo

test: java $(VENV)/.stamp-dev ## Run every test, those that start Spark and kill processes too
	$(PYTEST) --durations 20

test-quick: $(VENV)/.stamp-dev ## Run the tests that need neither Spark nor a server, and no more than a second or two each
	$(PYTEST) -q --dist worksteal --hypothesis-profile quick --durations 5 -m "not spark and not server and not browser and not slow"

test-all: java $(VENV)/.stamp-dev ## Run every test with twenty times the generated examples, and more kills; takes long
	$(PYTEST) --durations 20 --hypothesis-profile all

matrix: java $(VENV)/.stamp-dev ## Run quick tests, jobs and the demo with Python 3.11 to 3.13 and Java 17 and 21
	$(BIN)/python -m tools.matrix

pictures: java $(VENV)/.stamp-dev ## Make the pictures of the README anew, from the real thing; NAMES="demo chart" for some
	$(BIN)/python -m tools.pictures $(NAMES)

kafka: java $(VENV)/.stamp-dev ## Run a Kafka broker on loopback until Ctrl+C, with its address printed; TOPICS="a b" to create
	@$(BIN)/python -m tools.kafka_broker --topics $(TOPICS)

postgresql: $(VENV)/.stamp-dev ## Run a PostgreSQL server on loopback until Ctrl+C, with its address printed
	@$(BIN)/python -m tools.database_server $@

mariadb: $(VENV)/.stamp-dev ## Run a MariaDB server on loopback until Ctrl+C, with its address printed
	@$(BIN)/python -m tools.database_server $@

lint: $(VENV)/.stamp-dev ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.stamp-dev ## Fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.stamp-dev ## Check types
	$(BIN)/mypy

bench: java $(VENV)/.stamp-dev ## Run the benchmarks and print their table
	$(BIN)/python -m benchmarks

NODE_MODULES := dashboard/node_modules/.stamp

$(NODE_MODULES): dashboard/package.json dashboard/package-lock.json
	cd dashboard && npm install --no-save --no-progress
	@touch $@

dashboard: $(NODE_MODULES) ## Build the dashboard into the package; the built files are committed
	cd dashboard && npm run build

dashboard-test: ## Run the unit tests of the dashboard; the browser tests are part of `make test`
	@command -v npm >/dev/null || { echo "skipped: there is no npm"; exit 0; } && \
	$(MAKE) --no-print-directory $(NODE_MODULES) && cd dashboard && npm test

docs: $(VENV)/.stamp-docs ## Build the documentation into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -q -j auto -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-site: $(VENV)/.stamp-docs ## Build the documentation of all releases and this tree, with a choice of versions
	$(BIN)/python -m tools.docs_site

coverage-page: $(VENV)/.stamp-dev ## Write docs/coverage.md anew; TOOL=path of the api_coverage tool
	@test -n "$(TOOL)" || { echo "usage: make coverage-page TOOL=path/to/api_coverage"; exit 2; }
	$(BIN)/python tools/api_coverage_page.py "$(TOOL)" --output docs/coverage.md

$(VENV)/.stamp-release: pyproject.toml $(VENV)/.stamp-dev
	$(INSTALL) -e '.[dev,release]'
	@touch $@

release: java $(VENV)/.stamp-release ## Build wheel and sdist into dist, check them, and run the demo from the wheel alone
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	tools/try-wheel dist/*.whl $(BIN)/python
	@ls -l dist

wheel: java $(VENV)/.stamp-dev ## Build the wheel, and run the demo from it alone in an empty environment
	rm -rf build/wheel
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir build/wheel .
	tools/try-wheel build/wheel/*.whl $(BIN)/python

clean: ## Remove what was built, but not .venv
	rm -rf build dist docs/_build docs/_generated docs/api/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests examples benchmarks tools docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
