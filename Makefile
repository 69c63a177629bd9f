SHELL := bash
.DEFAULT_GOAL := help

# One static binary. The race detector alone needs cgo.
export CGO_ENABLED := 0

GO       ?= go
ARGS     ?=
FUZZTIME ?= 10m
SOAKTIME ?= 1h
# make install writes below PREFIX; packagers set DESTDIR to write below DESTDIR/PREFIX.
PREFIX   ?= $(HOME)/.local
DESTDIR  ?=
# Packages whose Go benchmarks `make bench` runs too, for example PARTS=./transcript/...
PARTS    ?=

# Development tools have a module of their own, so that sm's go.mod lists only what sm links.
TOOL := $(GO) tool -modfile=deploy/tools/go.mod

# Folders of completions below PREFIX/share.
COMPLETIONS := bash-completion/completions zsh/site-functions fish/vendor_completions.d

# tool:package[+package], by the names of Debian. promtool and amtool check the rules and the routes.
TOOLS := tmux:tmux prometheus:prometheus promtool:prometheus amtool:prometheus-alertmanager \
	prometheus-alertmanager:prometheus-alertmanager victoria-metrics:victoria-metrics systemd-analyze:systemd \
	strace:strace setpriv:util-linux jq:jq curl:curl git:git chromium:chromium

# The race detector needs a C compiler together with the headers of libc: Debian can have the one without the other.
CAN_RACE = $$($(GO) env CC) -include stdlib.h -E -x c /dev/null >/dev/null 2>&1

.PHONY: help build run install uninstall stage release test deps check lint e2e bench fuzz soak sidebyside many realclient realcodex versions screenshots clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# HTTP/2 is half a megabyte of net/http, and neither the page nor scrapes need it.
TAGS := nethttpomithttp2

# Both are stamped with a hash of the hooks' sources, so that sm recognizes an sm-hook of another build without a commit.
build: ## compile bin/sm, and bin/sm-hook for the hooks of clients
	hooks=$$($(GO) list -trimpath -export -f '{{.BuildID}}' ./cmd/internal/hooks) && \
	$(GO) build -tags $(TAGS) -trimpath -ldflags "-s -w -X sm/cmd/internal/version.hooks=$${hooks##*/}" -o bin/ ./cmd/sm ./cmd/sm-hook

run: build ## build, then watch this machine: bin/sm observe $(ARGS)
	bin/sm observe $(ARGS)

# The programs are moved into place, so that one that runs, or a hook that starts meanwhile, finds the old or the new one.
install: build ## put sm, its completions and manual pages below PREFIX (~/.local)
	@set -e; to="$(DESTDIR)$(PREFIX)"; \
	mkdir -p "$$to/bin" $(COMPLETIONS:%="$$to/share/%") "$$to/share/man/man1"; \
	for p in sm sm-hook; do cp bin/$$p "$$to/bin/.$$p.new"; mv -f "$$to/bin/.$$p.new" "$$to/bin/$$p"; done; \
	bin/sm completion bash >"$$to/share/bash-completion/completions/sm"; \
	bin/sm completion zsh >"$$to/share/zsh/site-functions/_sm"; \
	bin/sm completion fish >"$$to/share/fish/vendor_completions.d/sm.fish"; \
	bin/sm man "$$to/share/man/man1"; \
	echo "installed $$to/bin/sm, its completions and manual pages"; \
	[ -n "$(DESTDIR)" ] || ls {/usr,"$${HOMEBREW_PREFIX:-/usr/local}"}/share/bash-completion/bash_completion 2>/dev/null | grep -q . || \
		echo "bash loads the completion of sm by itself with the package bash-completion, which is not installed; without it, have 'source <(sm completion bash)' in ~/.bashrc"; \
	case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) \
		[ -n "$(DESTDIR)" ] || echo "$(PREFIX)/bin is not in your PATH: add it there, so that you and your agents find sm";; esac

uninstall: ## remove what make install has put below PREFIX
	@echo "the hooks and status line of sm install stay; sm uninstall, or later bin/sm uninstall, removes them"; \
	to="$(DESTDIR)$(PREFIX)"; \
	gone=$$(rm -fv "$$to/bin/sm" "$$to/bin/sm-hook" "$$to/share/bash-completion/completions/sm" "$$to/share/zsh/site-functions/_sm" \
		"$$to/share/fish/vendor_completions.d/sm.fish" "$$to/share/man/man1/sm.1" "$$to/share/man/man1/"sm-*.1) || exit 1; \
	if [ -z "$$gone" ]; then echo "nothing to remove below $$to"; exit; fi; \
	for d in $(COMPLETIONS:%="$$to/share/%") "$$to/share/man/man1" "$$to/bin"; do \
		(cd / && rmdir -p "$$d" 2>/dev/null) || true; done; \
	echo "removed $$to/bin/sm, its completions and manual pages"

# What packages and archives have besides the programs, laid out below bin/stage. The units name the path of a package.
stage:
	@set -e; umask 022; rm -rf bin/stage; \
	export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); \
	$(MAKE) --no-print-directory install DESTDIR=bin/stage PREFIX=/usr >/dev/null; \
	cd bin/stage/usr; rm -r bin; root=$$OLDPWD; \
	mkdir -p share/doc/sm share/sm lib/systemd/user; \
	(cd $$root; cp --parents CHANGELOG.md README.md */README.md */*/README.md "$$OLDPWD/share/doc/sm"); \
	cp $$root/LICENSE share/doc/sm/copyright; \
	cp -r $$root/deploy/config.example.yaml $$root/deploy/alertmanager $$root/deploy/prometheus $$root/dashboards/grafana share/sm/; \
	mkdir share/sm/rules; cp $$root/dashboards/prometheus/*.rules.yml share/sm/rules/; \
	for unit in sm.service sm.socket; do \
		sed -e 's|%h/.local/bin/sm|/usr/bin/sm|' -e '/^#   cp /d' $$root/deploy/systemd/$$unit >lib/systemd/user/$$unit; \
	done; \
	find . -exec touch -d "$$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" {} +

release: stage ## of a tagged commit: archives, packages, bills of materials, checksums in dist; ARGS=--snapshot for any other
	$(GO) tool -modfile=deploy/tools/goreleaser/go.mod goreleaser release --clean $(ARGS)

# The race detector is for packages that start goroutines. cmd/sm only starts programs, which the detector makes slow.
CONCURRENT = grep -rlE '^[[:space:]]*go [a-z]|\.Go\(' --include='*.go' . | xargs -n1 dirname | sort -u | grep -vE '^\./cmd/(sm|bench)$$'

# Slow tests skip themselves, or do less, in short mode: directly, or by one of the functions named here.
SHORTENED = testing\.Short\(\)|killsOf\(t|shortcut\(|steps\(t|races\(\)
LONG = awk '/^func / {name = ""} /^func Test/ {name = $$2; sub(/\(.*/, "", name)} \
	/$(SHORTENED)/ && name != "" {print FILENAME, name}' \
	$$(grep -rlE '$(SHORTENED)' --include='*_test.go' .) | sort -u

# A program built for the race detector sleeps for a second at its end unless GORACE is set, and tests start hundreds.
# Timeouts are for each package; they end tests that hang, not slow machines.
test: deps ## vet and all tests, those that take long in short mode; works on a fresh machine
	$(GO) vet -tags realclient ./...
	@set -e; concurrent=; \
	if $(CAN_RACE); then concurrent=$$($(CONCURRENT)); \
	else echo "test: no C compiler with libc headers: going without the race detector"; fi; \
	others=$$($(GO) list -f '{{.Dir}}' ./... | sed "s|^$(CURDIR)|.|" | grep -vxF "$${concurrent:-none}"); \
	set -x; \
	if [ -n "$$concurrent" ]; then CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 $(GO) test -race -short -shuffle=on -timeout 20m $$concurrent; fi; \
	$(GO) test -short -shuffle=on -timeout 20m $$others

e2e: deps ## the tests that take long, in full: real servers, browsers, kills at random moments
	@long=$$($(LONG)); \
	names=$$(awk '{print $$2}' <<<"$$long" | sort -u | paste -sd '|'); \
	folders=$$(awk '{sub(/\/[^\/]*$$/, "", $$1); print $$1}' <<<"$$long" | sort -u | xargs); \
	set -ex; $(GO) test -shuffle=on -timeout 20m -run "^($$names)\$$" $$folders

# policy-rc.d keeps Debian's prometheus, alertmanager and victoria-metrics from starting as services where there is
# systemd; one that is there already is the owner's own and stays as it is.
deps: ## install what the tests need (as root, with apt-get), else say how
	@missing() { \
		local t; for t in $(TOOLS); do command -v "$${t%%:*}" >/dev/null || printf '%s\n' "$$t"; done; \
		$(CAN_RACE) || echo gcc:gcc+libc6-dev; \
	}; \
	packages() { missing | cut -d: -f2 | tr '+' '\n' | sort -u | xargs; }; \
	tools() { missing | cut -d: -f1 | sort -u | xargs; }; \
	want=$$(packages); if [ -z "$$want" ]; then exit 0; fi; \
	echo "deps: missing: $$(tools)"; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		policy=/usr/sbin/policy-rc.d; \
		if [ ! -e $$policy ]; then \
			trap "rm -f $$policy" EXIT; \
			printf '#!/bin/sh\nexit 101\n' >$$policy && chmod 755 $$policy; \
		fi; \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get -q update; \
		apt-get -q -y -o DPkg::Lock::Timeout=60 install --no-install-recommends $$want; \
		hash -r; want=$$(packages); if [ -z "$$want" ]; then exit 0; fi; \
		echo "deps: still missing: $$(tools)"; \
	fi; \
	echo "deps: to install, run: sudo apt-get update && sudo apt-get install -y --no-install-recommends $$want"; \
	if [ "$${CI:-}" = true ]; then echo "deps: CI=true allows no skipped test" >&2; exit 1; fi; \
	echo "deps: the tests that need them will be skipped"

check: ## what a release must pass: formatting, vet, fix, tidy, lint, staticcheck, actionlint, 30 s of each fuzz target, test
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then printf 'gofmt -w these:\n%s\n' "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags realclient ./...
	GOOS=darwin $(GO) vet ./...
	@out=$$($(GO) fix -diff ./... 2>&1) && [ -z "$$out" ] || { printf '%s\ngo fix ./... would change this\n' "$$out"; exit 1; }
	$(GO) mod tidy -diff
	@$(MAKE) --no-print-directory lint
	$(TOOL) staticcheck ./...
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	@$(MAKE) --no-print-directory fuzz FUZZTIME=30s
	@$(MAKE) --no-print-directory test

lint: ## golangci-lint: formatting, doc comments, width of lines, direction of imports
	$(TOOL) golangci-lint run ./...

bench: build ## the figures against other tools, as ratios; PARTS=./... adds go benchmarks
	$(GO) test -count=1 -timeout 0 -run '^$$' -bench Figures -benchtime 1x ./cmd/bench -args -sm $(CURDIR)/bin/sm $(ARGS)
	@if [ -n "$(PARTS)" ]; then set -x; $(GO) test -run '^$$' -bench . -benchmem $(PARTS); fi

# go test runs one fuzz target at a time. The list is whole before the first starts: a package that does not compile ends it here.
fuzz: ## each fuzz target for FUZZTIME (10m)
	@set -o pipefail; \
	targets=$$($(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ {name[n++] = $$1; next} \
		$$1 == "ok" {for (i = 0; i < n; i++) print $$2, name[i]} {n = 0}') || exit 1; \
	if [ -z "$$targets" ]; then echo "fuzz: no targets"; exit 0; fi; \
	while read -r package name; do \
		echo "fuzz: $$package $$name for $(FUZZTIME)"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; \
	done <<<"$$targets"

soak: deps ## the tests named Soak, for SOAKTIME (1h) of real time, under the race detector where there is one
	@race=; if $(CAN_RACE); then race=-race; export CGO_ENABLED=1; fi; set -x; \
	SM_SOAK=$(SOAKTIME) $(GO) test $$race -count=1 -v -timeout 0 -run Soak ./...

# Without the race detector, so that what the observer uses is what it says at the end. It is part of `make soak` too.
sidebyside: deps ## an observer of both clients under load for SOAKTIME (1h); SM_SOAK_RATE=100 is lines a second of each
	SM_SOAK=$(SOAKTIME) $(GO) test -count=1 -v -timeout 0 -run SoakClients ./cmd/sm

# Each kill is a start of the observer.
many: deps ## the tests of deliveries with many texts, moves and kills, for hours
	SM_TEXTS=10000 SM_MOVES=10000 SM_ENDINGS=1000 $(GO) test -count=1 -v -timeout 0 ./handoff/tmux
	SM_KILLS_DELIVERY=10000 SM_KILLS_TYPING=1000 $(GO) test -count=1 -v -timeout 0 -run Delivery ./cmd/sm

realclient: deps ## against the real client, offline, in tmux
	$(GO) test -count=1 -v -timeout 30m -tags realclient ./cmd/sm -run RealClient -skip RealClientVersions

realcodex: deps ## against the real Codex client, offline, in tmux
	$(GO) test -count=1 -v -timeout 90m -tags realclient ./cmd/sm -run RealCodex

# Each version is installed once into the user's cache directory; the tests of `realclient` take one version.
versions: deps ## what sm install writes, against ten versions of the real client
	$(GO) test -count=1 -v -timeout 30m -tags realclient ./cmd/sm -run RealClientVersions

screenshots: build deps ## make the README's recording and pictures of the demo anew
	SM_SCREENSHOTS=$(CURDIR)/dashboards/page/screenshots $(GO) test -count=1 -v ./observer -run 'Screenshots|Recording'

clean: ## remove what the other targets made
	rm -rf bin dist coverage* bench-* ./*.out
	find . -path ./.git -prune -o \( -name '*.test' -o -name '*.prof' \) -type f -exec rm -f {} +
