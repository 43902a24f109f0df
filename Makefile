# Two commands are all the set-up there is: `make verify` and `make test`. GNU Make 3.81 is enough.
# PYTHON picks the interpreter (3.11 or newer) that .venv is made from.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
PYTEST = $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: verify verify-tpu verify-cuda test test-all test-newest test-maxtext ecosystem lint bench clean

verify: $(STAMP)
	$(BIN)/contract-lint verify examples/dense_fsdp/train.contract.yaml --run

# Programs for accelerators, compiled without one. The compilers go into the same environment: the child that uses one
# is told to, every other process stays on the CPU. They are large (libtpu 0.7 GB, the CUDA plugin 0.5 GB), hence apart.
verify-tpu: $(STAMP)-tpu
	$(BIN)/contract-lint verify examples/dense_fsdp/tpu.contract.yaml

verify-cuda: $(STAMP)-cuda
	$(BIN)/contract-lint verify examples/dense_fsdp/cuda.contract.yaml

test: $(STAMP)
	$(PYTEST) -m "not slow"

test-all: $(STAMP)
	$(PYTEST)

# The newest Python and the newest jax, in an environment of their own.
test-newest:
	$(MAKE) test PYTHON=python3.13 VENV=.venv-newest

# MaxText needs Python 3.12, 2 GB and about ten minutes: an environment of its own, with libtpu for its TPU examples.
test-maxtext:
	$(MAKE) .venv-maxtext/.installed-maxtext .venv-maxtext/.installed-tpu PYTHON=python3.12 VENV=.venv-maxtext
	.venv-maxtext/bin/python -m pytest tests/runtime/adapters tests/planted/test_maxtext.py

# The source linter on pinned releases of other people's packages, and on faults written into them. Downloads 40 MB once.
ecosystem: $(STAMP)
	$(BIN)/python tests/ecosystem/run.py --new --gone
	$(BIN)/python tests/ecosystem/recall.py --missed

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/contract-lint check .

bench: $(STAMP)
	$(BIN)/python benchmarks/verify.py
	$(BIN)/python benchmarks/source.py
	$(BIN)/python benchmarks/contract.py

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found on PATH. Try: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@command -v "$(PYTHON)" >/dev/null || { echo "$(PYTHON) is needed here and is not on PATH. Try: PATH=/path/to/its/bin:\$$PATH make $(MAKECMDGOALS)" >&2; exit 2; }
	@echo "Installing into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[jax,dev]"
	@touch $@

$(STAMP)-%: $(STAMP)
	@echo "Installing what $* needs into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$*]"
	@touch $@

clean:
	rm -rf .venv .venv-newest .venv-maxtext .contract-lint build dist *.egg-info
