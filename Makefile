# SPDX-FileCopyrightText: The Cotenant Authors
# SPDX-License-Identifier: Apache-2.0

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

OUT := $(CURDIR)/out
BIN := $(OUT)/bin
SIM := $(OUT)/sim
VERSION := 0.1.0-dev
GOBUILD := go build -ldflags='-s -w'
# One set of flags for everything that compiles, so that it is compiled once.
export GOFLAGS := -trimpath -buildvcs=false
CLUSTER := $(BIN)/cluster --out $(OUT)/cluster

.PHONY: help
help: ## say what there is
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

# ---- the two commands

.PHONY: demo
demo: lab ## a real Kubernetes with a simulated GPU node, and the walkthrough played on it; KEEP=1 leaves it up
	@$(BIN)/demo $(if $(KEEP),--keep)

.PHONY: test
test: packages check unit e2e ## all tests

# ---- their parts

.PHONY: unit
unit: ## tests without root, network or GPU
	@echo "unit: go test -race ./... (the first time this compiles for some minutes)"
	@test/progress go test -race -timeout 15m ./...
	@for m in tools test/cluster; do echo "unit: $$m"; test/progress go -C $$m test -timeout 10m ./...; done

.PHONY: e2e
e2e: lab ## end-to-end tests on a real control plane, kubelet, containerd and runc
	@echo "e2e: go test -tags e2e"
	@test/progress go test -tags e2e -count=1 -p 1 -timeout 30m -v ./test/e2e/... ./test/sim/conformance

.PHONY: check
check: ## formatting, vet, staticcheck, dead code, generated files
	@echo "check: gofmt"; unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@echo "check: go vet"; test/progress go vet ./... && go vet -tags e2e,hardware ./test/...
	@mkdir -p $(BIN); for t in honnef.co/go/tools/cmd/staticcheck golang.org/x/tools/cmd/deadcode; do \
	  test/progress go -C tools build -o $(BIN)/ $$t; done
	@echo "check: staticcheck"; test/progress $(BIN)/staticcheck -tags e2e,hardware ./...
	@# What test/sim exports to C has its callers in other processes.
	@echo "check: dead code"; dead=$$(test/progress $(BIN)/deadcode -test -tags e2e,hardware ./... | grep -vE '(^|/)test/sim/' || true); \
	  if [ -n "$$dead" ]; then echo "$$dead"; exit 1; fi
	@echo "check: generated files are up to date"; test/generated

.PHONY: generate
generate: ## write what is generated: deep copies, CRDs, the base of the simulated NVML
	@tools/generate
	@go generate ./test/sim/...

.PHONY: bench
bench: lab ## figures against their bars: placement, allocation, and the plugin over its sockets; writes out/bench.json
	@$(BIN)/bench --out $(OUT)/bench.json

.PHONY: hardware
hardware: ## compare the simulated GPU with those of this machine, as root; changes nothing; NVML_LIBRARY=<file> for another library, DRIVER_ROOT=<directory> for another driver root
	@OUT=$(OUT)/hardware go test -tags hardware -count=1 -v -run '^TestHardware$$' ./test/hardware

.PHONY: packages
packages: ## install the Debian packages that are missing (as root)
	@test/packages gcc libc6-dev git

# ---- what is built

.PHONY: build
build: ## the programs, into out/bin
	@echo "build: cotenant-plugin, cotenant-mps, cotenant-controller, nvidia-cdi-hook"
	@mkdir -p $(BIN)
	@test/progress $(GOBUILD) -o $(BIN)/cotenant-plugin ./cmd/cotenant-plugin
	@$(GOBUILD) -o $(BIN)/nvidia-cdi-hook github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook
	@CGO_ENABLED=0 test/progress $(GOBUILD) -o $(BIN)/ ./cmd/cotenant-controller ./cmd/cotenant-mps

.PHONY: images
images: build ## container images of the programs, into out/images
	@mkdir -p $(OUT)/images
	@go -C tools build -o $(BIN)/image ./image
	@for i in plugin controller mps; do echo "images: $$i"; \
	  $(BIN)/image --file deploy/images/$$i.yaml --source $(BIN) --output $(OUT)/images/$$i.tar >/dev/null; done

.PHONY: sim
sim: ## the simulated GPU's programs and library, into out/sim
	@echo "sim: simctl, nvidia-smi, nvidia-cuda-mps-control, simcuda, libnvidia-ml.so.1"
	@mkdir -p $(SIM)
	@CGO_ENABLED=0 $(GOBUILD) -o $(SIM)/ ./test/sim/cmd/nvidia-smi ./test/sim/cmd/nvidia-cuda-mps-control ./test/sim/cmd/nvidia-cuda-mps-server ./test/sim/cmd/simcuda ./test/sim/cmd/simctl
	@test/progress $(GOBUILD) -buildmode=c-shared -ldflags '-s -w -extldflags=-Wl,-soname,libnvidia-ml.so.1' -o $(SIM)/libnvidia-ml.so.1 ./test/sim/cmd/libnvidia-ml

.PHONY: cluster
cluster: ## a real Kubernetes, built from Go modules, into out/cluster
	@go -C test/cluster build -o $(BIN)/cluster .
	@$(CLUSTER) build

.PHONY: lab
lab: packages images sim cluster ## all of that, and the programs that use it
	@$(GOBUILD) -o $(BIN)/ ./test/demo ./test/bench

.PHONY: down
down: ## stop the clusters that were left up
	@[ ! -x $(BIN)/cluster ] || $(CLUSTER) down --all
	@rm -rf $(OUT)/lab

.PHONY: clean
clean: down ## stop clusters and remove out/
	rm -rf $(OUT)
