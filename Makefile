# Nothing here is needed to use Posthouse: `go run ./cmd/posthouse dev` and
# `go test ./...` are enough. These are the longer commands, by name.

.PHONY: build test long race vet lint fmt cover bench fuzz powercut kills histories differential deliveries chaos grants stalls damage docs figures release check

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
FUZZTIME ?= 1000000x
GOAL ?= 1000
HISTORIES ?= 100
SEQUENCES ?= 10000
RUNS ?= 10000
SEED ?= 0

build: ## bin/posthouse, static
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/posthouse ./cmd/posthouse

test: ## the README's second command
	go test ./...

long: ## both suites over every store with 1,000 rounds of each race and history; 1,000,000 deliveries; servers that are gone for a minute
	POSTHOUSE_LONG=1 go test -timeout 0 -run 'TestStore|TestStress|TestLinearizable|TestLedger' ./store/...
	POSTHOUSE_LONG=1 go test -timeout 0 -run 'TestDeliveries$$' ./dispatch
	POSTHOUSE_LONG=1 go test -timeout 0 -run 'TestServerStopped$$' ./internal/proof/e2e/shared

race:
	go test -race ./...

vet:
	go vet ./...

lint: vet ## go vet and staticcheck (pinned in tools/go.mod)
	go tool -modfile=tools/go.mod staticcheck ./...

fmt:
	gofmt -w .

cover: ## statement coverage per package
	go test -short -cover ./...

bench: ## the workloads with their raw baselines, as ratios
	go run ./cmd/posthouse bench

fuzz: ## every fuzz target, FUZZTIME executions each
	@grep -rl --include=*_test.go 'func Fuzz' . | xargs -n1 dirname | sort -u | while read -r pkg; do \
		for target in $$(grep -rhoE --include=*_test.go 'func Fuzz[A-Za-z0-9_]+' $$pkg/*_test.go | cut -c6- | sort -u); do \
			echo "== $$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

powercut: ## power cuts on every store until the record has GOAL of each; STORES=file,sqlite, SEED=7
	go run ./internal/proof/powercut/cmd/powercut -goal $(GOAL) -seed $(SEED) $(if $(STORES),-stores $(STORES))

kills: ## the same with SIGKILL of processes that write, and of servers
	go run ./internal/proof/powercut/cmd/powercut -kills -goal $(GOAL) -seed $(SEED) $(if $(STORES),-stores $(STORES))

histories: ## clients at once on every store until the record has HISTORIES of each; STORES=file,redis, SEED=7 MORE=1
	go run ./internal/proof/history/cmd/histories -goal $(HISTORIES) -seed $(SEED) $(if $(MORE),-more $(MORE)) $(if $(STORES),-stores $(STORES))

differential: ## the same random operations on every store until the record has SEQUENCES; SEED=7 MORE=25
	go run ./internal/proof/differential/cmd/differential -goal $(SEQUENCES) -seed $(SEED) $(if $(MORE),-more $(MORE)) $(if $(STORES),-stores $(STORES))

deliveries: ## 1,000,000 deliveries of calls between workers and engines, put on record
	POSTHOUSE_LONG=1 go test -timeout 0 -count 1 -run 'TestDeliveries$$' ./dispatch -record

chaos: ## RUNS runs on engines and workers that are killed and frozen, over servers that are; SEED=7
	go run ./internal/proof/chaos/cmd/chaos -runs $(RUNS) -seed $(SEED)

grants: ## RUNS random programs, people and processes against the rules of approvals, put on record; SEED=7
	nice go test ./internal/proof/e2e/grants -run 'TestApprovals$$' -count 1 -timeout 0 -v -cases $(RUNS) $(if $(filter-out 0,$(SEED)),-seed $(SEED)) -record

stalls: ## GOAL stalls longer than the lease for each shared store, and freezes over SQLite, put on record; STORES=postgres,sqlite, SEED=7
	go run ./internal/proof/stalling/cmd/stalls -stalls $(GOAL) -seed $(SEED) $(if $(STORES),-stores $(STORES))

damage: ## every byte of a small store of each kind, flipped and cut off, for hours; STORES=file,sqlite
	nice go run ./internal/proof/damage/cmd/damage $(if $(STORES),-stores $(STORES))

docs: figures ## the pages of the documentation: what is written from the code, figures, and the archive that the binary embeds
	go test ./app/internal/cli -run TestReference -update
	go test ./docs/snippets -run TestPages -update
	go -C tools run ./docs .. ../ui/docs.tar.zst

figures: ## pictures of the documentation's figures that are missing or older than their source; needs Node and Chromium
	go -C tools run ./docs -figures .. > tools/figures/todo.json
	@if grep -q name tools/figures/todo.json; then npm --prefix tools/figures ci --no-audit --no-fund && node tools/figures/draw.mjs tools/figures/todo.json docs/figures; fi

release: ## the files of a release in dist: six platforms, packages, checksums; VERSION=v0.1.0
	go -C tools run ./release -root .. -out ../dist -version $(VERSION) $(if $(PLATFORMS),-platforms $(PLATFORMS))

check: ## what CI runs
	.ci/run
