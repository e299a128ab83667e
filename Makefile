# Every target sets up what it needs: a virtual environment in .venv, nothing outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
PAPER := $(VENV)/.paper
DOCS := $(VENV)/.docs
STUDIO := $(VENV)/.studio
STUDIO_DATA := build/studio
DEVELOPMENT := $(VENV)/.development
MUTANTS := $(VENV)/.mutants
MODIN := build/modin
SPARK_3 := build/spark-3
CONNECT := build/spark-connect
PEERS := build/peers-venv

.PHONY: demo studio docs test test-slow test-modin test-spark lint fuzz mutants bench bench-cliffs bench-groups bench-sources bench-units scale-table figures \
	accuracy-table small-data peers peers-quick choice-table planning-table interval-coverage hostile-intervals paper paper-quick \
	clean

demo: $(RUNTIME)
	@$(BIN)/dpquantiles demo
	@echo; echo "Here the command is $(BIN)/dpquantiles; after '. $(BIN)/activate' it is dpquantiles."

# The studio on the flights that ship with the package, with a ledger of its own. PORT=0 takes any free port.
studio: $(STUDIO)
	@mkdir -p $(STUDIO_DATA)/data
	@[ -f $(STUDIO_DATA)/data/flights.csv ] || $(BIN)/dpquantiles demo --save $(STUDIO_DATA)/data/flights.csv
	@[ -f $(STUDIO_DATA)/budget.db ] || $(BIN)/dpquantiles ledger create $(STUDIO_DATA)/budget.db --epsilon 3
	@$(BIN)/dpquantiles studio $(STUDIO_DATA)/data --ledger $(STUDIO_DATA)/budget.db $(if $(PORT),--port $(PORT)) $(if $(NO_BROWSER),--no-browser)

# The site, in build/site. A page that is missing, a link or an anchor that leads nowhere is an error.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is build/site/index.html; '$(BIN)/mkdocs serve' shows it while you write."

test: lint
	$(BIN)/pytest -n auto --durations=30

test-slow: $(DEVELOPMENT)
	$(BIN)/pytest -n auto -m "slow or not slow"

# Modin needs an older pandas than everything else is tested with, so it has a place of its own.
test-modin: $(MODIN)/.modin
	MODIN_ENGINE=python $(MODIN)/bin/pytest -k modin tests/contract/test_sources.py

# Spark 3.5, and Spark Connect, each with what it needs in a place of its own.
SPARK_TESTS := tests/contract/test_sources.py tests/sources/test_pyspark.py tests/sources/test_fair_rows.py
test-spark: $(SPARK_3)/.spark $(CONNECT)/.spark
	$(SPARK_3)/bin/pytest -k spark $(SPARK_TESTS)
	DPQUANTILES_SPARK=connect $(CONNECT)/bin/pytest -k spark $(SPARK_TESTS)

lint: $(DEVELOPMENT)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Generated calls, resumed where they stopped; `make fuzz CASE=7` runs one again and says what is wrong.
fuzz: $(DEVELOPMENT)
	$(BIN)/python -m experiments.fuzz $(if $(CASE),--case $(CASE)) $(if $(MINUTES),--minutes $(MINUTES))

bench: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.speed --output build/bench/speed.json

bench-cliffs: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.cliffs --output build/bench/cliffs.json

bench-groups: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.groups --output build/bench/groups.json
	$(BIN)/python -m benchmarks.groups --engines duckdb polars spark --output build/bench/engine_groups.json

bench-sources: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.sources --output build/bench/sources.json

bench-units: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.units --output build/bench/units.json

# How a release grows with the table, from a million to a hundred million rows.
scale-table: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.sources --only growth --engines duckdb polars --page docs/scale.md

figures: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks.accuracy --figure docs/images/accuracy.svg
	test ! -f build/bench/speed.json || $(BIN)/python -m benchmarks.speed --draw docs/images/time.svg

accuracy-table: $(DEVELOPMENT)
	$(BIN)/python -m experiments.accuracy_table

small-data: $(DEVELOPMENT)
	$(BIN)/python -m experiments.small_data --page docs/accuracy.md
	$(BIN)/python -m experiments.small_data_figure

# Other libraries ask for other versions of what we use, so they have a place of their own.
peers: $(PEERS)/.peers
	$(PEERS)/bin/python -m experiments.peers --page docs/accuracy.md

peers-quick: $(PEERS)/.peers
	$(PEERS)/bin/python -m experiments.peers --quick

interval-coverage: $(DEVELOPMENT)
	$(BIN)/python -m experiments.interval_coverage

hostile-intervals: $(DEVELOPMENT)
	$(BIN)/python -m experiments.hostile_intervals

# Rows are kept: a run that was cut off goes on where it stopped. AGAIN=1 tries what survived once
# more, with more tests.
mutants: $(MUTANTS)
	nice $(BIN)/python -m experiments.mutants $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(SEED),--seed $(SEED)) $(if $(AGAIN),--again)

# Rows are kept: a run that was cut off goes on where it stopped. GOODREADS names books.csv.
paper: $(PAPER)
	$(BIN)/python -m experiments.paper $(if $(GOODREADS),--goodreads $(GOODREADS))

paper-quick: $(PAPER)
	$(BIN)/python -m experiments.paper --quick $(if $(GOODREADS),--goodreads $(GOODREADS))

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

$(PAPER): pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) for the paper's experiments (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[paper]'
	@touch $@ $(RUNTIME)

$(STUDIO): pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) for the studio (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[studio]'
	@touch $@ $(RUNTIME)

$(DOCS): pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) for the site (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@ $(RUNTIME)

$(DEVELOPMENT): pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) for development (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(RUNTIME) $(PAPER) $(STUDIO)

$(MUTANTS): $(DEVELOPMENT)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,mutants]'
	@touch $@

$(MODIN)/.modin: pyproject.toml
	$(PYTHON) -m venv $(MODIN)
	@$(MODIN)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[modin]' \
		pytest pytest-xdist
	@touch $@

$(SPARK_3)/.spark: pyproject.toml
	$(PYTHON) -m venv $(SPARK_3)
	@$(SPARK_3)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[spark]' \
		'pyspark==3.5.*' duckdb polars pytest pytest-xdist scipy
	@touch $@

$(CONNECT)/.spark: pyproject.toml
	$(PYTHON) -m venv $(CONNECT)
	@$(CONNECT)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[spark]' \
		'pyspark[connect]>=4' duckdb polars pytest pytest-xdist scipy
	@touch $@

$(PEERS)/.peers: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	@touch $@

clean:
	rm -rf $(VENV) build dist
