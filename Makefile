# Everything a checkout needs: Python 3.11 or newer, make and git. `make` lists what there is.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input --quiet
INSTALLED := $(VENV)/installed

# Folders with an old.jsonl and a new.jsonl.
EXAMPLES := examples/legacy-vs-harbor examples/verifier-fix

# More arguments for one run: `make test ARGS="-k masked"`, `make lock ARGS=--upgrade`.
ARGS ?=

# What a shell sets for Python could hide a fault that others have.
unexport $(filter PYTHON%,$(.VARIABLES))

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help .venv demo test browser check e2e image format bench pictures schema golden action-files lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[.a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.venv: $(INSTALLED) ## Install the locked dependencies and the project into .venv

demo: $(INSTALLED) ## Compare two pairs of example rollouts
	@for pair in $(EXAMPLES); do \
	    printf '\n$$ rollout-compare %s/old.jsonl %s/new.jsonl\n\n' "$$pair" "$$pair"; \
	    $(BIN)/rollout-compare "$$pair/old.jsonl" "$$pair/new.jsonl" || exit; \
	done

test: $(INSTALLED) browser ## Run the unit, integration and browser tests
	@$(BIN)/python -m pytest --numprocesses auto $(ARGS)

browser: $(INSTALLED) ## See that there is a Chromium, which some tests need
	@$(BIN)/python tools/browser.py

check: $(INSTALLED) ## Lint, formatting, types, import contracts, generated files in step
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/summary_schema.py --check
	@$(BIN)/python -m tools.lint_workflows
	@$(BIN)/python tools/action_files.py --check

e2e: $(INSTALLED) ## Test the image, the Action in it and whole workflows (needs npm, and root on Debian for podman)
	@command -v npm >/dev/null || { echo "not run: the end-to-end tests need Node.js with npm" >&2; exit 1; }
	@$(PIP) install --require-hashes -r requirements/e2e.txt
	@tools/containers.sh set-up || { echo "not run: the containers for the end-to-end tests cannot be set up" >&2; exit 1; }
	@$(BIN)/python -m pytest -m e2e tests/e2e tests/container $(ARGS)

image: ## Build the container image as localhost/rollout-compare:dev, with podman, and print its size
	@tools/containers.sh set-up
	@tools/containers.sh build localhost/rollout-compare:dev
	@tools/containers.sh size localhost/rollout-compare:dev

format: $(INSTALLED) ## Format the code and mend what lint can mend
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

bench: $(INSTALLED) ## Measure speed and memory against the plain way
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python benchmarks/bench.py $(ARGS)

pictures: $(INSTALLED) browser ## Draw the pictures of the reports in docs/images
	@$(BIN)/python -m tools.pictures

schema: $(INSTALLED) ## Write schema/summary.v1.json from the summary's model
	@$(BIN)/python tools/summary_schema.py

action-files: $(INSTALLED) ## Write the Action's inputs and outputs into action.yml and its page
	@$(BIN)/python tools/action_files.py

golden: $(INSTALLED) ## Write the reports in tests/cases/golden anew
	@$(BIN)/python tools/golden.py

LOCK := $(BIN)/uv pip compile --quiet --no-config --no-header --universal --python-version 3.11 \
    --generate-hashes

lock: $(INSTALLED) ## Lock again what pyproject.toml asks for (ARGS=--upgrade: newest versions)
	@$(LOCK) $(ARGS) pyproject.toml --output-file requirements/runtime.txt
	@$(LOCK) $(ARGS) --group build --output-file requirements/build.txt
	@$(LOCK) $(ARGS) --group e2e --output-file requirements/e2e.txt
	@$(LOCK) $(ARGS) pyproject.toml --group dev --constraints requirements/runtime.txt --constraints requirements/build.txt --output-file requirements/dev.txt

clean: ## Remove everything that is made here, .venv included
	@rm -rf $(VENV) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The lock holds the build backend too, hence --no-build-isolation: nothing is fetched that it does not name.
$(INSTALLED): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "$(PYTHON) is missing or older than 3.11: name another one, make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	    { echo "$(PYTHON) lacks the venv module: install it (on Debian and Ubuntu: python3-venv)" >&2; exit 1; }
	@echo "Installing the locked dependencies into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-build-isolation --no-deps -e .
	@$(BIN)/python -m compileall -q src
	@touch $@
