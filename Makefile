# Everything a fresh machine needs is Python >= 3.11 and make. Each target sets up .venv itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto
# neighbours go to one worker, which makes what a module's tests share once
DIST := worksteal

.PHONY: demo test tests exhaustive check sanitize bench adversary mutants conformance peers engines players claims docs fuzz package audit notebook clean

# One BLAS thread a process: the matrices are small, and tests run in parallel.
export OPENBLAS_NUM_THREADS ?= 1
# Python keeps what it compiled: each worker and each fresh process of a test would compile sources and tests anew.
unexport PYTHONDONTWRITEBYTECODE

# the compiled core is part of the installation: what it is made of makes it anew
$(VENV)/.run: pyproject.toml $(wildcard core/*.cpp core/*.hpp core/CMakeLists.txt)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[report]'
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,check]'
	touch $@

demo: $(VENV)/.run
	$(BIN)/steelyard demo --out demo-out

# pyright keeps one core busy for minutes, beside which tests run
test: $(VENV)/.dev
	$(MAKE) --jobs 2 check tests

tests: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist $(DIST)

# Every case of every test, where the default has a few of the slow ones.
exhaustive: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist $(DIST) --exhaustive

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

# The core with address and undefined-behaviour sanitizers, through the tests that use it most.
sanitize: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check cmake nanobind ninja
	$(BIN)/python tools/sanitized.py

# Suites keep one row a case in evidence/rows and write pages in docs/evidence; figures of claims follow them.
EVIDENCE := PYTHONPATH=tests/make:tests:. $(BIN)/python -m evidence

bench: $(VENV)/.dev
	$(EVIDENCE) benchmarks --anew
	$(EVIDENCE) claims evidence/test_figures.py

# Every model of the test packages, and of others that are installed, through everything: docs/evidence/conformance.md.
conformance: $(VENV)/.dev
	$(EVIDENCE) conformance --anew
	$(EVIDENCE) claims evidence/test_figures.py

$(VENV)/.peers: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,peers]'
	touch $@

# The same jobs by other tools, at the versions that pyproject.toml pins: docs/evidence/peers.md.
peers: $(VENV)/.peers
	$(EVIDENCE) peers --anew
	$(EVIDENCE) claims evidence/test_figures.py

# Engines for `steelyard check --engines` and its tests, at the versions that pyproject.toml pins. Newton needs a Python
# of its own: STEELYARD_ENGINES names one.
$(VENV)/.engines: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,engines]'
	touch $@

engines: $(VENV)/.engines
	$(BIN)/python -m pytest tests/check/test_engines.py --exhaustive

# Packages of robot makers for scripts of `excite --player`; LeRobot and unitree_sdk2py, if STEELYARD_VENDORS names a
# Python that has them.
$(VENV)/.players: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,players]'
	touch $@

players: $(VENV)/.players
	$(BIN)/python -m pytest tests/excite/test_player_packages.py --exhaustive

# Random jobs that try to make it fail or say what is not true, all or some: make adversary SUITES=problems.
SUITES ?= coverage everyday payloads problems strangers
adversary: $(VENV)/.dev
	for suite in $(SUITES); do $(EVIDENCE) $$suite; done

# Small mistakes put into the source, one at a time, that tests should notice; goes on where it was stopped, or some
# modules: make mutants PACKAGES=inertia/exponential.py
PACKAGES ?= fit/ information/ identifiable/ inertia/ dynamics/
mutants: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	$(EVIDENCE) mutants $(PACKAGES)

# What the project claims, each claim with the tests that prove it: docs/evidence/claims.md.
claims: $(VENV)/.dev
	$(EVIDENCE) claims --anew

# The documentation site in site/: offline, strict, links checked.
$(VENV)/.docs: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

docs: $(VENV)/.docs
	$(BIN)/python tools/docs_site.py site

# Every parser for FUZZ_SECONDS each, or one: make fuzz FUZZ_TARGETS=mcap FUZZ_SECONDS=3600 (docs/evidence/fuzzing.md).
FUZZ_SECONDS ?= 30
fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(EVIDENCE) fuzzing $(FUZZ_TARGETS) --anew

# Source archive, and wheels for every supported Python that is found; the README in empty environments of each.
package: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --sdist --outdir dist .
	$(BIN)/python tools/try_wheel.py

# What an installation with every extra brings: a list of its parts as CycloneDX, and their known vulnerabilities.
audit:
	rm -rf build/audit && mkdir -p build/audit
	$(PYTHON) -m venv build/audit/tools
	$(PYTHON) -m venv --without-pip build/audit/env
	build/audit/tools/bin/python -m pip install --quiet --disable-pip-version-check cyclonedx-bom pip-audit
	build/audit/tools/bin/python -m pip --python build/audit/env/bin/python install --quiet --disable-pip-version-check '.[all]'
	build/audit/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file build/audit/steelyard.cdx.json build/audit/env/bin/python
	build/audit/tools/bin/python -m pip --python build/audit/env/bin/python freeze --exclude steelyard > build/audit/requirements.txt
	build/audit/tools/bin/pip-audit --strict --disable-pip --no-deps -r build/audit/requirements.txt

# The notebook from beginning to end, as in Colab, with the library of this checkout.
notebook: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebook]'
	$(BIN)/python -m pytest tests/examples/test_notebook.py

clean:
	rm -rf $(VENV) demo-out dist build site .pytest_cache .ruff_cache .hypothesis
