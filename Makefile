# Two commands do everything: `make run` and `make test`. Both install what they need.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
# The machine's certificates, as pip uses them: a proxy may have its own.
export UV_SYSTEM_CERTS := true

# Our distributions, libraries first.
MEMBERS := protos libs/kafka libs/runtime libs/redis libs/client services/gateway services/storage services/coordinator cli
NAMES := korvet-proto korvet-kafka korvet-runtime korvet-redis korvet-client korvet-gateway korvet-storage korvet-coordinator korvet
# Brings Spark, so it is installed only where it is used.
LAKE := pipeline
LAKE_NAME := korvet-pipeline

PYTEST := $(BIN)/pytest -q
# A file's tests share what they start, so they stay in one process.
PARALLEL := -n 2 --dist loadfile
PROTOC := $(BIN)/python -m grpc_tools.protoc -I protos \
    --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy \
    --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- set up

# The stamps make a second call quick, and possible without a network.
.PHONY: setup
setup: $(VENV)/runtime.stamp ## install Korvet into .venv; the command is .venv/bin/korvet

.PHONY: setup-lake
setup-lake: $(VENV)/lake.stamp ## bring Spark and its jars, for `korvet lake` (needs Java 17; Maven once)

.PHONY: setup-dev
setup-dev: $(VENV)/dev.stamp $(VENV)/lake.stamp ## install what tests and checks need, too

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Korvet needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.7'

$(VENV)/runtime.stamp: requirements.lock $(MEMBERS:%=%/pyproject.toml) | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation \
	    $(MEMBERS:%=-e %)
	@touch $@

# The jars are in the user's cache, by the list of them: only the first checkout fetches them.
$(VENV)/lake.stamp: requirements-lake.lock $(LAKE)/pyproject.toml $(VENV)/runtime.stamp
	$(UV) pip install --quiet --python $(BIN)/python -r requirements-lake.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e $(LAKE)
	$(BIN)/python -m korvet.pipeline.jars >/dev/null
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock $(VENV)/runtime.stamp
	$(UV) pip install --quiet --python $(BIN)/python -r requirements-dev.lock
	@touch $@

# Keeps the versions that still fit; `make lock UPGRADE=--upgrade` takes the newest ones.
.PHONY: lock
lock: | $(UV) ## write the requirements*.lock anew (UPGRADE=--upgrade)
	$(UV) pip compile --quiet $(UPGRADE) $(LOCK_OPTIONS) --group pyproject.toml:build \
	    pyproject.toml -o requirements.lock
	$(UV) pip compile --quiet $(UPGRADE) $(LOCK_OPTIONS) --group pyproject.toml:lake \
	    -c requirements.lock -o requirements-lake.lock
	$(UV) pip compile --quiet $(UPGRADE) $(LOCK_OPTIONS) --group pyproject.toml:dev \
	    -c requirements.lock -c requirements-lake.lock -o requirements-dev.lock
LOCK_OPTIONS := --universal --python-version 3.11 --generate-hashes --no-header \
    --no-annotate --no-emit-index-url $(NAMES:%=--no-emit-package %) \
    --no-emit-package $(LAKE_NAME)

# ---------------------------------------------------------------- run

.PHONY: run
run: setup ## start Korvet with an embedded Redis on 127.0.0.1:9092, until Ctrl-C
	@exec $(BIN)/korvet up $(UP)

# ---------------------------------------------------------------- test

.PHONY: test
test: test-unit test-integration test-e2e test-lake ## all tests that need no container engine

.PHONY: test-unit
test-unit: setup-dev ## pure tests, in parallel
	$(PYTEST) $(PARALLEL) tests/unit

.PHONY: test-integration
test-integration: setup-dev ## single services on real Redis servers
	$(PYTEST) $(PARALLEL) tests/integration

.PHONY: test-e2e
test-e2e: setup-dev ## all services as processes, real Kafka clients
	$(PYTEST) $(PARALLEL) tests/e2e

# One process, so that all share a Spark.
.PHONY: test-lake
test-lake: setup-dev ## the lake: a real Spark in local mode, against all services
	$(PYTEST) -o timeout=300 tests/lake

.PHONY: compat
compat: setup-dev ## other clients' own test suites, at pinned versions (needs Go)
	compat/franz-go/run $(COMPAT)

# ---------------------------------------------------------------- check

.PHONY: check
check: setup-dev check-generated ## lint, format, types, layers, generated code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: check-generated
check-generated: setup-dev
	@again=$$(mktemp -d) && trap 'rm -r "$$again"' EXIT && \
	$(PROTOC) --python_out=$$again --grpc_python_out=$$again \
	    --mypy_out=quiet:$$again --mypy_grpc_out=quiet:$$again \
	    $$(cd protos && find korvet -name '*.proto') && \
	diff -r -x __pycache__ $$again/korvet protos/python/korvet && \
	echo "The gRPC code is what protos/ generates."
	@$(PYTEST) -rs -k committed_messages tests/unit/kafka/test_codegen.py

.PHONY: protos
protos: setup-dev ## regenerate the gRPC code from protos/korvet
	$(PROTOC) --python_out=protos/python --grpc_python_out=protos/python \
	    --mypy_out=quiet:protos/python --mypy_grpc_out=quiet:protos/python \
	    $$(cd protos && find korvet -name '*.proto')

.PHONY: messages
messages: setup-dev ## regenerate the Kafka messages from the pinned kafka-clients jar
	$(BIN)/python -m libs.kafka.codegen

# ---------------------------------------------------------------- measure

.PHONY: bench bench-quick bench-check
bench: setup-dev ## measure beside Apache Kafka and plain Redis; fails on a missed target
	$(BIN)/python -m bench.speed
	$(BIN)/python -m bench.costs
	$(BIN)/python -m bench.memory
	$(BIN)/python -m bench.groups
	$(BIN)/python -m bench.transactions
	$(BIN)/python -m bench.telemetry --check
	@# Only who may trace processes can sample them.
	-$(BIN)/python -m bench.profile
	$(BIN)/python -m bench.lake --check
	$(BIN)/python -m bench.plot
	$(BIN)/python -m bench.report --targets

bench-quick: setup-dev ## speed in under three minutes; docs/benchmarks.md stays as it is
	$(BIN)/python -m bench.speed --quick

bench-check: setup-dev ## fails if a ratio fell by more than 25 % from the committed one
	$(BIN)/python -m bench.check
