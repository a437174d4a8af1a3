# SPDX-FileCopyrightText: The Cotenant Authors
# SPDX-License-Identifier: Apache-2.0

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

OUT := $(CURDIR)/out
BIN := $(OUT)/bin

.PHONY: help
help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

.PHONY: unit
unit: ## tests without root, network or GPU, in under two minutes when warm
	go test -race -timeout 10m ./...

.PHONY: test
test: packages check unit ## all tests

.PHONY: check
check: ## formatting, vet, staticcheck, generated files
	@echo "check: gofmt"; unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@echo "check: go vet"; go vet ./...

.PHONY: packages
packages: ## install the Debian packages that the tests need (as root)
	@test/packages gcc libc6-dev make git
