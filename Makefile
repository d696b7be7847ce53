# Every target brings what it needs by itself; `make help` lists them.
# A CARGO_TARGET_DIR in the environment is respected.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

target := $(abspath $(or $(CARGO_TARGET_DIR),target))
site := $(target)/site
# Runs a command under the toolchain that set-up chose.
with := scripts/toolchain

.PHONY: help
help: ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: site ## Run server, simulator and a live workload; prints the address to open
	@echo "demo: building the server (minutes the first time)"
	@$(with) cargo build --package spillway-server
	@LEPTOS_SITE_ROOT="$(site)" exec "$(target)/debug/spillway" demo

.PHONY: test
test: setup ## Check formatting, lints, and every test, browser tests included
	@$(with) scripts/test

.PHONY: bench
bench: setup ## Measure engine, gateway, permits and floods against their peers, and the whole against other clients
	@$(with) cargo bench --package spillway --bench '*'
	@$(with) cargo bench --package spillway-onenote --bench convert
	@$(with) cargo bench --package spillway-server --bench threads
	@echo "bench: building the server (minutes the first time)"
	@$(with) cargo build --release --package spillway-server
	@SPILLWAY_BIN="$(target)/release/spillway" $(with) benches/gateway/bench
	@$(with) cargo build --release --package flood-counter
	@SPILLWAY_BIN="$(target)/release/spillway" COUNTER_BIN="$(target)/release/flood-counter" $(with) benches/floods/bench
	@SPILLWAY_BIN="$(target)/release/spillway" benches/viewers/bench
	@$(with) cargo build --package spillway-server
	@SPILLWAY_BIN="$(target)/debug/spillway" benches/spiral/bench

.PHONY: lint
lint: setup ## Check formatting and lints alone
	@$(with) scripts/lint

.PHONY: fmt
fmt: setup ## Format the sources
	@$(with) cargo fmt --all

.PHONY: site
site: setup ## Build what the browser loads (wasm, scripts, styles)
	@echo "site: building (minutes the first time)"
	@$(with) cargo xtask site

.PHONY: setup
setup: ## Install what this machine lacks
	@scripts/setup
