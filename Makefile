# Everything here sets up and builds what it needs: a fresh clone needs no step before.
NATS_SERVER_VERSION   := v2.15.3
GOLANGCI_LINT_VERSION := v2.15.0
CYCLONEDX_VERSION     := v1.10.0

MODULES  := docs gateway loadtest lua shared warmup worker
PROGRAMS := ./gateway ./worker ./warmup ./loadtest

# The sales that `make up` opens.
SALES    ?= docs/sales.yaml
GATEWAYS ?= 2
WORKERS  ?= 1
CLUSTER  ?=

.PHONY: help setup build build-race demo cluster-demo cluster-chaos cluster-matrix benchmarks test long up attack bench calibrate capacity pace slow chaos matrix mutants soak compare lint release reproducible clean

help: ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## Install what is missing: redis-server, Postgres, HAProxy, a C compiler, Chromium, nats-server and promtool in bin/
	@scripts/setup.sh $(NATS_SERVER_VERSION)

build: ## Build gateway, worker, warmup and loadtest into bin/
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags "$$(scripts/stamp.sh)" -o bin/ $(PROGRAMS)

# The same programs with the race detector, for the end-to-end tests.
build-race:
	@mkdir -p bin/race
	CGO_ENABLED=1 go build -race -o bin/race/ $(PROGRAMS)
	@ln -sf ../nats-server bin/race/nats-server

demo: setup build ## Run a whole flash sale on real servers, and audit it
	bin/loadtest demo

cluster-demo: setup build ## The demo on clustered stores, then with a server of each killed in turn, into out/cluster-demo
	bin/loadtest cluster-demo

up: setup build ## Run a stack in the foreground until Ctrl-C (GATEWAYS=2 WORKERS=1 SALES=file CLUSTER=1)
	bin/loadtest up -gateways $(GATEWAYS) -workers $(WORKERS) -sales $(SALES) $(if $(CLUSTER),-cluster)

attack: setup build ## Send what looks like a sale to a stack, and audit it, into out/attack
	bin/loadtest attack

bench: setup build ## Measure what a second holds, beside baselines, into out/bench
	bin/loadtest bench

calibrate: setup build ## Find the rate that a stack bears, recommend limits of admission and try them out, into out/calibrate
	bin/loadtest calibrate

capacity: setup build ## Measure what operations cost, and say how many processes a sale takes, into out/capacity
	bin/loadtest capacity

pace: setup build ## Measure whether workers find the right pace, into out/pace
	bin/loadtest pace

slow: setup build ## Measure what honest clients notice of 10,000 slow ones, into out/slow
	bin/loadtest slow

chaos: setup build ## Break running sales row by row of the matrix of faults, with three seeds, into out/chaos
	bin/loadtest chaos -seeds 3

matrix: build ## Put what the last make chaos found into docs/reliability.md
	bin/loadtest matrix -into docs/reliability.md

cluster-chaos: setup build ## The rows of the matrix that need clustered stores, with three seeds, into out/cluster-chaos
	bin/loadtest chaos -cluster -seeds 3

cluster-matrix: build ## Put what the last make cluster-chaos found into docs/reliability.md
	bin/loadtest matrix -cluster -into docs/reliability.md

mutants: setup build ## Take protections away, one at a time, and see that a row of the matrix notices, into out/mutants
	bin/loadtest mutants

# For how long `make soak` sells.
MINUTES ?= 30

soak: setup build ## Sell for long at half of what the stack bears, while something breaks every minute, into out/soak (MINUTES=30)
	bin/loadtest soak -minutes $(MINUTES)

compare: setup build ## Sell goods and give out coupons beside other ways to do it, on the same stores, into out/compare
	bin/loadtest compare

# Of whole stacks, by the programs as they are built for use; `make long` has the race
# detector in them. Their tests wait more than they compute.
STACKS := sluice/loadtest

# The package whose tests take longest begins first: the others fill what it leaves.
PARTS = sluice/worker $$(go list work | grep -vx $(STACKS))

# Of deploy, a module outside the workspace. Kubernetes' types are not compiled once more for
# the race detector.
DEPLOY_TEST := GOWORK=off CGO_ENABLED=0 go test -shuffle=on -count=1

# `make lint` vets.
TEST := -shuffle=on -vet=off -count=1

# By default a program with the race detector sleeps a second when it ends, and the
# tests start hundreds.
GORACE ?= atexit_sleep_ms=50

# Built as the tests are, so that nothing is compiled twice; figures are had without -race.
benchmarks: setup ## Run every benchmark of the parts once, on real servers, to see that it still runs
	CGO_ENABLED=1 GORACE=$(GORACE) go test -race -run '^$$' -bench . -benchtime 1x -benchmem -timeout=5m $$(scripts/benchmarks.sh $(MODULES))

test: setup build ## Run all tests on real servers, those of the parts with the race detector, then fuzz every target for 5 s
	SLUICE_BIN=$(CURDIR)/bin GORACE=$(GORACE) CGO_ENABLED=1 go test -race $(TEST) -timeout=25m $(PARTS)
	SLUICE_BIN=$(CURDIR)/bin go test $(TEST) -parallel=3 -timeout=25m $(STACKS)
	cd deploy && SLUICE_BIN=$(CURDIR)/bin $(DEPLOY_TEST) -timeout=5m ./...
	scripts/fuzz.sh 5s $(MODULES)

# For how long `make long` fuzzes each target.
FUZZTIME ?= 60s

long: setup build-race ## Run all tests at full size, all with the race detector, then fuzz every target (FUZZTIME=60s)
	SLUICE_LONG=1 SLUICE_BIN=$(CURDIR)/bin/race GORACE=$(GORACE) CGO_ENABLED=1 go test -race $(TEST) -timeout=90m $(PARTS) $(STACKS)
	cd deploy && SLUICE_LONG=1 SLUICE_BIN=$(CURDIR)/bin/race GORACE=$(GORACE) $(DEPLOY_TEST) -tags keda -timeout=30m ./...
	scripts/fuzz.sh $(FUZZTIME) $(MODULES)

lint: ## Check style, import rules and modules
	@scripts/lint.sh $(GOLANGCI_LINT_VERSION) $(MODULES)

# What a release is called; by default the newest tag, with what came after it.
export VERSION

release: ## Pack the programs for linux and darwin, amd64 and arm64, with bills of materials, into out/release (VERSION=v1.2.3)
	@scripts/release.sh $(CYCLONEDX_VERSION) out/release

reproducible: ## Build the release twice in different places and compare the bytes (PLATFORMS="linux/amd64" for one alone)
	@scripts/reproducible.sh $(CYCLONEDX_VERSION)

clean: ## Remove what was built and what runs wrote; tools in bin/ stay
	rm -rf out bin/race bin/gateway bin/worker bin/warmup bin/loadtest
