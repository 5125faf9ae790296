# Everything a fresh machine needs is Python >= 3.11 and make. Each target sets up .venv itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto

.PHONY: demo test check bench package clean

# One BLAS thread a process: the matrices are small, and tests run in parallel.
export OPENBLAS_NUM_THREADS ?= 1

$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,check]'
	touch $@

demo: $(VENV)/.run
	$(BIN)/steelyard demo --out demo-out

test: $(VENV)/.dev check
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.run

# Wheel and source archive, then the README in empty environments of every supported Python that is found.
package: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tools/try_wheel.py

clean:
	rm -rf $(VENV) demo-out dist build .pytest_cache .ruff_cache .hypothesis
