# make demo   set up, then run the default config to the end
# make test   set up, then run all tests
# make lint   ruff, snakefmt and snakemake --lint
# make soak   kill a run fifty times, in one place or another; KILLS and SEED say otherwise
# make bench  measure; writes the README's table of speed and memory
# make docs   write config/README.md from the schema, docs/models.md from the tests, the columns of tables into docs/
# make manual build the manual into site/
# make lock   pin what pyproject.toml asks for in requirements.lock

PYTHON ?= python3
KILLS ?= 50
SEED ?= $(shell date +%s)
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test soak lint bench docs manual lock

demo: $(BIN)/ready
	snakemake --cores $(CORES) --max-threads 1
	@echo "The report: $(CURDIR)/results/report.html"

test: $(BIN)/ready
	python -m pytest -n auto --dist loadfile --no-loadscope-reorder

soak: $(BIN)/ready
	HEADSCOPE_KILLS=$(KILLS) HEADSCOPE_SEED=$(SEED) python -m pytest -s tests/test_kills.py -k killed_when

lint: $(BIN)/ready
	ruff check .
	ruff format --check .
	snakefmt --check .
	snakemake --lint

bench: $(BIN)/ready
	PYTHONPATH=scripts python -m benchmarks

docs: $(BIN)/ready
	PYTHONPATH=scripts python -m headscope.config > config/README.md
	PYTHONPATH=scripts:tests python -m models_page > docs/models.md
	PYTHONPATH=scripts python -m headscope.tables docs/*.md

manual: $(BIN)/ready
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

lock: $(BIN)/ready
	pip-compile --quiet --upgrade --extra workflow --extra develop --strip-extras --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.lock pyproject.toml
	sed -i.bak 's/+cpu$$//' requirements.lock && rm requirements.lock.bak

$(BIN)/ready: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "headscope needs Python 3.11 or newer; name one with: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	touch $@
