# Every target sets up what it needs: a virtual environment in .venv, nothing outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEVELOPMENT := $(VENV)/.development

.PHONY: demo test test-slow lint bench figures accuracy-table choice-table planning-table clean

demo: $(RUNTIME)
	@$(BIN)/dpquantiles demo
	@echo; echo "Here the command is $(BIN)/dpquantiles; after '. $(BIN)/activate' it is dpquantiles."

test: lint
	$(BIN)/pytest -n auto

test-slow: $(DEVELOPMENT)
	$(BIN)/pytest -n auto -m "slow or not slow"

lint: $(DEVELOPMENT)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.speed --output build/bench/speed.json

figures: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.accuracy --figure docs/images/accuracy.svg

accuracy-table: $(DEVELOPMENT)
	$(BIN)/python -m experiments.accuracy_table

choice-table: $(DEVELOPMENT)
	$(BIN)/python -m experiments.choice_table

planning-table: $(DEVELOPMENT)
	$(BIN)/python -m experiments.planning

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "dpquantiles needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(DEVELOPMENT): pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) for development (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(RUNTIME)

clean:
	rm -rf $(VENV) build dist
