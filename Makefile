# Two commands are all the set-up there is: `make verify` and `make test`. GNU Make 3.81 is enough.
# PYTHON picks the interpreter (3.11 or newer) that .venv is made from.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
PYTEST = $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: verify test test-all test-newest lint bench clean

verify: $(STAMP)
	$(BIN)/contract-lint verify examples/dense_fsdp/train.contract.yaml --run

test: $(STAMP)
	$(PYTEST) -m "not slow"

test-all: $(STAMP)
	$(PYTEST)

# The newest Python and the newest jax, in an environment of their own.
test-newest:
	$(MAKE) test PYTHON=python3.13 VENV=.venv-newest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/contract-lint check .

bench: $(STAMP)
	$(BIN)/python benchmarks/verify.py

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found on PATH. Try: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "Installing into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[jax,dev]"
	@touch $@

clean:
	rm -rf .venv .venv-newest .contract-lint build dist *.egg-info
