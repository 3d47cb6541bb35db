# What a newcomer waits for is the build, and `make test` uses the same one; `release` is for
# `make bench` and containers.
CONFIGURATION ?= debug
PORT ?= 8080

# As in the container; with Swift's runtime in a library, a request takes a tenth longer.
RELEASE = --configuration release --static-swift-stdlib
BUILD = swift build $(if $(filter release,$(CONFIGURATION)),$(RELEASE),--configuration $(CONFIGURATION))
PRODUCTS = .build/$(CONFIGURATION)
SOURCES = Sources Tests Benchmarks Examples clients Package.swift

.PHONY: help setup demo run key env test sanitize scale chaos bench docs lint format clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing, or say how
	@.ci/setup

demo: setup ## show the service at work; URL=https://… downloads that instead
	$(BUILD) --product transferd
	$(BUILD) --product transferctl
	$(BUILD) --product transferd-demo
	@$(PRODUCTS)/transferd-demo --transferd $(PRODUCTS)/transferd \
		--transferctl $(PRODUCTS)/transferctl $${URL:+--url "$$URL"}

run: setup ## run the service on 127.0.0.1:8080 until Ctrl-C; PORT=… for another port
	$(BUILD) --product transferd
	$(BUILD) --product transferctl
	@.ci/serve $(PRODUCTS)/transferd --port $(PORT)

key: ## print the API key of `make run`
	@.ci/serve --key

env: ## print the variables of `make run` and transferctl: eval "$(make -s env)"
	@.ci/serve --env $(CURDIR)/$(PRODUCTS)

test: ## run all tests; they start their own PostgreSQL
	@.ci/setup --test
	@.ci/test

sanitize: ## test for data races under the thread sanitizer; builds everything again
	@.ci/setup --test
	@.ci/sanitize

scale: ## test the database's work beside a million tasks; TASKS=… for another number
	@.ci/setup --test
	TRANSFERD_SCALE_TASKS=$${TASKS:-1000000} swift test --filter 'ScaleTests|ScaleRouteTests'

chaos: ## an hour of faults over real processes; CHAOS_SEED=… CHAOS_MINUTES=… for another run
	@.ci/setup --test
	CHAOS_MINUTES=$${CHAOS_MINUTES:-60} swift test --filter ChaosTests.ChaosCampaignTests

bench: ## measure the service beside its peers
	@.ci/setup --bench
	swift build $(RELEASE) --product transferd
	swift build $(RELEASE) --product transferd-bench
	.build/release/transferd-bench --transferd .build/release/transferd

docs: setup ## make pages of the Swift client's documentation, in .build/docs
	TRANSFERD_DOCS=1 swift package --allow-writing-to-directory .build/docs \
	    generate-documentation --product TransferClient --output-path .build/docs \
	    --transform-for-static-hosting --warnings-as-errors

lint: setup ## check the format of the code
	swift format lint --strict --recursive --parallel $(SOURCES)

format: setup ## format the code
	swift format --in-place --recursive --parallel $(SOURCES)

clean: ## remove what was built, but not the data of `make run`
	swift package clean
