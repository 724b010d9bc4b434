# Everything a newcomer or a machine does here. `make help` lists it.

CARGO ?= cargo
TOOLS := $(CURDIR)/.tools/bin
VERSITYGW_VERSION := v1.8.0
DATA ?= .rawline/data
# What `make full` built stays in the binary that `make run` builds.
FEATURES := $(shell cat target/.features 2>/dev/null)

.PHONY: help run test bench fuzz check tools release full clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

run: release ## Run a broker on a local directory (.rawline/data)
	@mkdir -p $(DATA)
	@echo
	@echo "  Try in a second shell:  alias rawline=$(CURDIR)/target/release/rawline"
	@echo "                          seq 1000 | rawline produce numbers"
	@echo "                          rawline consume numbers --max-records 3"
	@echo
	@exec target/release/rawline serve --storage $(DATA)

release: ## Build the binary: target/release/rawline
	$(CARGO) build --release --locked --bin rawline $(addprefix --features ,$(FEATURES))

full: ## Build it with measurements and Avro, and with the formats that bench compares ours with
	@mkdir -p target && echo full > target/.features
	$(MAKE) release

tools: $(TOOLS)/versitygw ## Install what the tests need: a real S3 server

$(TOOLS)/versitygw:
	@command -v go >/dev/null || { echo "the S3 server is built with Go: install Go 1.24 or newer, then run make again"; exit 1; }
	GOBIN=$(TOOLS) go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)

test: tools ## Run every test, over every store, a real S3 server included
	$(CARGO) test --workspace --locked --features rawline-server/full

check: ## Formatting and lints
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked --features rawline-server/full -- -D warnings
	$(CARGO) clippy -p rawline-server --locked -- -D warnings

bench: release ## A short benchmark: write, read, latency, and what the machine can do
	target/release/rawline bench limits
	target/release/rawline bench write -r 3 -w 16
	target/release/rawline bench read --local-broker=true -r 3 -w 16 --batches=4096 --record-size=1024 --records-per-batch=256 --records-per-request=1024 --requests 20000
	target/release/rawline bench latency --rate 500 --seconds 5

fuzz: ## Fuzz every driver for a minute each (needs a nightly toolchain and cargo-fuzz)
	@for target in $$(cd fuzz && cargo +nightly fuzz list); do \
		(cd fuzz && cargo +nightly fuzz run $$target -- -max_total_time=60) || exit 1; done

clean: ## Remove what was built and the data of `make run`
	$(CARGO) clean
	rm -rf .rawline .tools
