# To use aragog you need only `make run` and `make test`; the other targets are for development.
# Everything is installed into .venv; files outside the project folder are not changed.

BIN := .venv/bin
URLS ?=
DEPTH ?= 0
# Database of the tables (sqlite, postgres or hbase), overriding the settings.
STORE ?=
# Number of machines in `make fleet`, 5 to 60; two of them run the API.
HOSTS ?= 6
IMAGES ?= docs/images
# The Python for `make try-wheel`: a version or a path.
ON ?= $(BIN)/python
# Two pytest processes per core, plus one because many tests mostly wait. With three per core, tests that
# measure time or extract texts fail on two cores.
WORKERS ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN) + 1)
ifeq ($(shell echo '$(WORKERS)' | grep -Ex '[0-9]+|auto|logical'),)
$(error WORKERS: use a number of processes, got $(WORKERS))
endif
# Caches compiled modules even if the environment disables writing them next to the sources. Otherwise
# each of a dozen processes would compile everything again at startup (1 s of CPU).
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/pycache

ifneq ($(STORE),)
export ARAGOG_STORE__ENGINE := $(STORE)
endif

# The distributions in packages/, which are not on PyPI.
LIBRARIES = $(shell sed -n 's/^name = "\(.*\)".*/\1/p' $(wildcard packages/*/pyproject.toml) /dev/null)

PYTEST := $(BIN)/python scripts/run_tests.py --maxprocesses 8 --dist loadfile

.PHONY: help setup run up down test libraries bare unit chaos check lint types layers fix bench crawls plan-check archives docs screenshots lock dist try-wheel chart release-check platforms pinlater-dist two-hosts fleet hbase kafka s3 clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install everything into .venv, with the hashes of requirements.lock
	@scripts/setup

run: setup  ## fetch the demo sites, or URLS=file DEPTH=n, and show progress; STORE=postgres
	@$(BIN)/aragog run $(URLS) --depth $(DEPTH)

up: setup  ## start the system and keep it running
	@$(BIN)/aragog up

down: setup  ## stop it
	@$(BIN)/aragog down

test: setup  ## run the tests, on private servers, in WORKERS processes (two per core, plus one)
	@$(if $(ARGS),,$(MAKE) --no-print-directory libraries ARGS='-q -n 2 --dist loadfile')
	@$(PYTEST) -n $(WORKERS) --last-waits $(ARGS)

libraries: setup  ## test each library of packages/ from its wheel, without aragog
	@$(BIN)/python scripts/try_libraries.py -- $(ARGS)

bare:  ## `make run` and `make test` on a Debian with only the README's requirements (root, Linux)
	@python3 scripts/bare_machine.py

unit: setup  ## run the unit tests only: they start no server
	@$(PYTEST) -n auto tests/unit -m "not redis" $(ARGS)

chaos: setup  ## break the real system and check that nothing is lost (20 minutes)
	@$(BIN)/python -m tests.chaos --report docs/reliability.md $(ARGS)

check: lint types layers test  ## run all checks that a change must pass

lint: setup  ## check style and common mistakes
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup  ## check static types, strictly; of measurements and tests only their calls and names
	@$(BIN)/mypy
	@$(BIN)/mypy -p bench -p deploy -p tests

layers: setup  ## check which packages import which
	@$(BIN)/lint-imports

fix: setup  ## format, and apply ruff's fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: setup  ## crawl real pages with aragog, Scrapy, colly and fast Python, interleaved
	@scripts/setup bench
	@$(BIN)/python -m bench.crawl $(ARGS)

# ARGS='--urls 1000000 --qps 0.01' for a million.
crawls: setup  ## pause and stop 20 crawls with 100,000 waiting URLs, and kill everything twice
	@$(BIN)/python -m bench.crawls faults --urls 100000 --qps 0.05 --end-by deadline $(ARGS)

plan-check: setup  ## measure the costs of `aragog plan` here, and print which have changed (8 minutes)
	@$(BIN)/python -m bench.plan_check $(ARGS)

archives: setup  ## check WARC and WACZ exports with pywb, cdxj-indexer and wacz
	@scripts/setup archives
	@$(BIN)/python scripts/check_archives.py $(ARGS)

hbase: setup  ## run an HBase with its Thrift gateway in the foreground (Java, Maven)
	@$(BIN)/python -m deploy.hbase $(ARGS)

kafka: setup  ## run a Kafka broker in the foreground (Java, Maven)
	@$(BIN)/python -m deploy.kafka $(ARGS)

s3: setup  ## run an S3 server in the foreground (Go)
	@$(BIN)/python -m deploy.s3 $(ARGS)

two-hosts: setup  ## crawl with a cluster on two hosts (root, Go, Java, Maven); STORE=postgres
	@$(BIN)/python -m deploy.two_hosts

fleet: setup  ## restart and cut off HOSTS=6 machines (5 to 60) while they crawl and serve (root); STORE=hbase
	@$(BIN)/python -m tests.fleet --hosts $(HOSTS) $(ARGS)

pinlater-dist: setup  ## build the distribution celery-pinlater into dist/
	@$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist packages/pinlater

# Building a commit twice produces identical files (scripts/sbom.py).
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
dist: setup  ## build the wheels of aragog and its libraries into dist/, with bills of materials
	@rm -rf build/lib build/bdist.* packages/*/build dist/*.whl
	@for folder in . $(patsubst %/pyproject.toml,%,$(wildcard packages/*/pyproject.toml)); do \
		$(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python \
			--out-dir dist $$folder || exit 1; done
	@$(BIN)/python scripts/sbom.py dist/*.whl

try-wheel: setup  ## install the wheel from dist/ in an empty environment, and crawl; ON=3.14
	@$(BIN)/python scripts/try_wheel.py --python $(ON)

chart: setup  ## write the Helm chart from deploy/kubernetes and lint it (Helm, else Go builds it)
	@$(BIN)/python -m deploy.helm $(ARGS)

release-check: setup  ## check that the tree is one release; TAG=v0.1.0
	@$(BIN)/python scripts/release_check.py $(TAG)

platforms: setup  ## check that every dependency has a wheel, on each Python and platform (PyPI)
	@$(BIN)/python scripts/check_platforms.py $(ARGS)

docs: setup  ## build the documentation as a site, build/docs
	@scripts/setup docs
	@$(BIN)/python scripts/reference_docs.py build/docs-reference
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict

screenshots: setup  ## write the pictures of docs/images (Chromium)
	@$(BIN)/python -m tests.screenshots $(IMAGES)

lock: setup  ## resolve requirements.lock again from pyproject.toml, and build.lock
	@$(BIN)/uv pip compile pyproject.toml $(wildcard packages/*/pyproject.toml) --all-extras \
		--universal --generate-hashes $(addprefix --no-emit-package ,$(LIBRARIES)) \
		--no-emit-index-url --no-header --quiet -o requirements.lock
	@$(BIN)/uv pip compile scripts/build.in --universal --generate-hashes \
		--no-emit-index-url --no-header --quiet -o scripts/build.lock
	@$(BIN)/uv pip compile bench/requirements.in --universal --generate-hashes \
		--no-emit-index-url --no-header --quiet -o bench/requirements.lock
	@$(BIN)/uv pip compile docs/requirements.in --universal --generate-hashes \
		--no-emit-index-url --no-header --quiet -o docs/requirements.lock
	@$(BIN)/uv pip compile scripts/archives.in --universal --generate-hashes \
		--no-emit-index-url --no-header --quiet -o scripts/archives.lock

clean:  ## remove installed and cached files (not ./var, which has the data)
	@rm -rf .venv .venv-bench .venv-docs .venv-archives .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
