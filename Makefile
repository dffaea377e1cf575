# The version of the linter that .golangci.yml is written for.
GOLANGCI_LINT = v2.15.0

.PHONY: all fmt lint test test-all mutants bench soak fuzz dist tools

all: fmt lint test

fmt:
	gofmt -l -w .

lint:
	go vet ./...
	$$(go env GOPATH)/bin/golangci-lint run ./...

test:
	go test ./...

# All tests, also those that take long: processes and managers that are killed again
# and again, matches under load, a thousand leagues with faults. Continuous
# integration runs a part of them.
test-all:
	EVENODD_TEST_ALL=1 go test ./...

# Plants the bugs of testdata/mutants, one after the other, and names the test that finds each.
mutants:
	go test -timeout 1h -parallel 2 -run '^TestPlantedBugsAreFound$$' -v . -mutants

# The benchmarks of docs/performance.md, BENCHCOUNT times, and the largest leagues once.
# benchstat reads the output.
BENCHCOUNT ?= 6
bench:
	@go test -run '^$$' -bench . -skip '/players=(200|1000)$$' -count $(BENCHCOUNT) ./league/simulation ./cmd
	@go test -run '^$$' -bench '^Benchmark(Memory|Disk|Resume)$$/(floor|players=(200|1000)$$)' ./league/simulation ./cmd

# Random leagues with random faults until one breaks a rule or you stop it, from
# SEED; 0 for a random one.
SEED ?= 0
soak:
	cd league/simulation && go test -run 'TestSwarm$$' -soak -seed $(SEED) -timeout 0

# Every fuzzer there is, each for FUZZTIME. What one finds becomes a file under
# testdata/fuzz, which every later test run tries again.
FUZZTIME ?= 30s
fuzz:
	@set -e; for package in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
		for fuzzer in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$package/*_test.go | cut -c 6-); do \
			echo "$$package $$fuzzer"; \
			go test -vet=off -run '^$$' -fuzz "^$$fuzzer\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s $$package; \
		done; \
	done

# Release files in the folder dist: archives for six platforms, .deb and .rpm, SBOM and
# checksums. PLATFORMS="linux/amd64 darwin/arm64" makes those of some platforms.
PLATFORMS ?=
dist:
	@bash .ci/dist $(PLATFORMS)

tools:
	go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
