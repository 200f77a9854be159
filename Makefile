# Every target makes what it needs: a fresh machine with Python, git and make is enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH ?=
KILLS ?= 300
SECONDS ?= 600

.PHONY: help demo test lint torture attack fuzz alarm bench release clean
.SILENT:

help: ## what there is to run
	awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## see an agent's session judged live, in the terminal
	$(BIN)/spanward demo

test: lint ## everything that must hold: style, types, rooms, tests, coverage of the core
	echo "tests:"
	$(BIN)/coverage erase
	$(BIN)/pytest --quiet --cov --cov-report= --cov-fail-under=0
	echo "coverage of the core (lines and branches, must be 100 %):"
	$(BIN)/coverage report
	echo "coverage of everything:"
	$(BIN)/coverage report --include='src/spanward/**' --fail-under=0 --format=total

lint: $(READY) ## style, types and who may import whom
	echo "style:"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	echo "types:"
	$(BIN)/mypy
	echo "rooms:"
	$(BIN)/lint-imports --no-logo

torture: $(READY) ## kill the service a few hundred times and see that nothing is lost (KILLS=300)
	$(BIN)/python -m tests.stores.torture $(KILLS)

attack: $(READY) ## attack a running service in many ways, and see what it costs others
	$(BIN)/python -m tests.attacks.run

fuzz: $(READY) ## coverage-guided fuzzing of the decoders (SECONDS=600 each; needs atheris)
	$(BIN)/pip install --quiet atheris
	$(BIN)/python -m tests.fuzz.fuzz wire -max_total_time=$(SECONDS) -max_len=4096
	$(BIN)/python -m tests.fuzz.fuzz text -max_total_time=$(SECONDS) -max_len=4096

alarm: $(READY) ## from a violation to an alert, with the real Prometheus and Alertmanager
	$(BIN)/pytest --quiet -m external -rsP tests/alarm

bench: $(READY) ## spans a second and core, costs by stage, memory a session (BENCH=--quick for a taste)
	$(BIN)/python bench/run.py $(BENCH)

release: ## what a release consists of, from the last commit, into dist/ (see docs/releasing.md)
	deploy/release/build dist

clean: ## remove the environments and everything that was built
	rm -rf $(VENV) .venv-* build dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache \
		.hypothesis .import_linter_cache bench/results
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"spanward needs Python 3.11 or later; this is %s. Try: make PYTHON=python3.12" \
		% sys.version.split()[0])'
	echo "setting up $(VENV) (once; about a minute)"
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
