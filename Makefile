# The ordinary commands need no make: go test work, go run ./cmd/freehold bench, .ci/run. These are the slow ones.

# Go's environment for nested modules is theirs; make must not pass its own.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.PHONY: ci-full compare-accuracy sweep-accuracy fuzz stress sanitizers modes ramp conformance protocheck jsoncheck test-foreign-pool test-sort-kill test-coreutils test-memcached bench-memcached test-fastcache traces-cache bench-sort large-sort soak-cache test-kafka bench-sink kafka-tools simulate bench-full rivals accuracy doctor-picture large cross adapters-alone tidy golden

stressed = $$(go list ./... ./adapters/arenaproto | grep -v /internal/checks/lint)
adapters = $(patsubst %/go.mod,%,$(wildcard adapters/*/go.mod))
FUZZTIME ?= 10m

# All that .ci/run can check, before a release and before an issue is closed. 50 minutes with cold caches.
ci-full:
	FREEHOLD_CI=full .ci/run

# Each fuzz target of the workspace in turn.
fuzz:
	for dir in $$(git grep -l '^func Fuzz' -- '*_test.go' ':!benchmarks' | xargs -n1 dirname | sort -u); do \
		for target in $$(cat $$dir/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(f \*testing.F).*/\1/p'); do \
			echo "=== $$dir $$target"; \
			go test ./$$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; \
		done; \
	done

# The whole suite while the collector runs without pause, and with each check that the runtime and the compiler have.
# FREEHOLD_TEST_STRESS is how long the stress tests of offheap and arena run in each.
stress: export FREEHOLD_TEST_STRESS ?= 30s
stress:
	GOGC=1 go test -count=1 -timeout 1h $(stressed)
	GOGC=1 GODEBUG=gccheckmark=1,clobberfree=1 go test -count=1 -timeout 2h $(stressed)
	GOGC=1 go test -count=1 -timeout 1h -gcflags=all=-d=checkptr $(stressed)
	GOGC=1 GOEXPERIMENT=cgocheck2 go test -count=1 -timeout 1h $(stressed)
	GOGC=1 GOEXPERIMENT=nogreenteagc go test -count=1 -timeout 1h $(stressed)
	GOGC=1 go test -count=1 -race -timeout 2h $(stressed)
	GOGC=1 go test -count=1 -timeout 1h -tags freehold_nolinkname $(stressed)

# What each sanitizer must see, and the suites of offheap, arena and debugmode in builds for AddressSanitizer and MemorySanitizer. Only kept test
# binaries (-o) have the debug information that reports are compared by. As root it installs what is missing.
CLANG ?= clang-19
sanitizers: export CGO_ENABLED = 1
sanitizers:
	want=""; \
	command -v gcc >/dev/null || want+=" gcc libc6-dev"; \
	command -v $(CLANG) >/dev/null || want+=" $(CLANG) $(CLANG:clang%=llvm%) lib$(CLANG:clang%=clang-rt%)-dev"; \
	command -v valgrind >/dev/null || want+=" valgrind"; \
	if [ -n "$$want" ]; then apt-get update -qq && apt-get install -y -qq --no-install-recommends $$want; fi
	bin=$$(mktemp -d); trap 'rm -r "$$bin"' EXIT; \
	go test -count=1 -race ./internal/sanitize; \
	go test -count=1 -asan -o "$$bin/asan.test" ./internal/sanitize; \
	CC=$(CLANG) go test -count=1 -msan -o "$$bin/msan.test" ./internal/sanitize; \
	GOEXPERIMENT=nodwarf5 go test -count=1 -tags valgrind -o "$$bin/valgrind.test" -timeout 20m ./internal/sanitize
	FREEHOLD_TEST_SANITIZERS=race,asan,msan,valgrind go test -count=1 -timeout 1h -run '^TestBuilds$$' ./internal/checks/misuse
	go test -count=1 -asan -short -timeout 1h ./internal/checks/suite ./offheap ./arena ./pool ./internal/debugmode
	CC=$(CLANG) go test -count=1 -msan -short -timeout 1h ./internal/checks/suite ./offheap ./arena ./pool ./internal/debugmode

# Every workload of freehold bench in every debug mode: none may report a mistake. Half an hour.
modes:
	cd cmd && FREEHOLD_TEST_MODES=1 go test -count=1 -v -timeout 3h -run '^TestWorkloadsInModes$$' ./bench/workloads

# A program that grows for a minute in a control group of 256 MiB, half of it off the heap: it lives with a tuner and dies without.
# It takes root, or a delegated group. Under four minutes.
ramp:
	FREEHOLD_TEST_STRESS=60s go test -count=1 -v -run '^TestRampInCgroup$$' ./gctune

# The conformance suite of Protocol Buffers on adapters/arenaproto: five ways to decode, at the API levels open, hybrid and opaque.
# It takes npm, whose runner is for linux/amd64 with glibc 2.38 and libstdc++ of GCC 13. On an older Debian it downloads these and installs
# nothing. RUNNER names another runner.
conformance:
	cd benchmarks/protocheck && GOWORK=off go run -tags protolegacy . conformance -runner "$(RUNNER)"

# adapters/arenaproto beside protobuf-go at the three API levels: on the test data of hyperpb and the schemata google_message1 to 4, which it
# downloads, and then on random schemata.
PROTOTIME ?= 10m
protocheck:
	cd benchmarks/protocheck && GOWORK=off go run -tags protolegacy . corpus -time 1m
	cd benchmarks/protocheck && GOWORK=off go run -tags protolegacy . random -time $(PROTOTIME)

# freehold-sink as processes on real brokers of Kafka: killed more than 50 times, brokers killed, leaders moved, stores that refuse, a full disk.
# FREEHOLD_TEST_KAFKA is the number of records; 40000 make a quick run.
test-kafka: export FREEHOLD_TEST_KAFKA ?= 1000000
test-kafka: kafka-tools
	cd sink && go test -count=1 -v -timeout 2h -run '^TestKafka$$' ./cmd/freehold-sink

# freehold-sink beside a sink in plain Go and Kafka Connect, on a real broker. benchmarks/README.md says more.
bench-sink: kafka-tools
	cd benchmarks/sink && go run . -count 3

# As root this installs what is missing for a real broker: Java, and Maven, which fetches Kafka.
kafka-tools:
	want=""; \
	command -v java >/dev/null || want+=" openjdk-17-jre-headless"; \
	[ -n "$${FREEHOLD_KAFKA_LIBS:-}" ] || command -v mvn >/dev/null || want+=" maven"; \
	if [ -n "$$want" ] && [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq --no-install-recommends $$want; fi

# arenajson beside encoding/json on the 318 files of JSONTestSuite, which it downloads, the decoding tests of encoding/json and encoding/json/v2 on arenajson, and damaged documents.
# The tests are those of Go 1.27: with an older Go the target fails.
jsoncheck:
	go list -f '{{range context.ReleaseTags}}{{.}} {{end}}' unsafe | grep -qw go1.27
	FREEHOLD_TEST_OUTSIDE=1 go test -count=1 -v -run '^(TestOutsideSuite|TestStandardTables|TestV2StandardTables)$$' ./arenajson
	cd cmd && FREEHOLD_TEST_OUTSIDE=1 go test -count=1 -v -timeout 1h -run '^TestDamagedDocuments$$' ./bench/workloads

# How often freehold compare finds a slowdown of 5 % in a dependency, and one where nothing changed: twenty runs and fifty, on an idle machine.
compare-accuracy: export FREEHOLD_TEST_PLANTED ?= 20
compare-accuracy:
	go test ./cmd/compare -run TestPlanted -v -timeout 3h

# How often freehold sweep finds the knee that thirty rounds have, on programs of other people, which it downloads: most of an hour on an idle machine.
sweep-accuracy:
	cd benchmarks && go run ./foreign -sweep

# Package pool under other people's tests: those of bytes.Buffer and sync.Pool in Go's source, and those of fasthttp, which it downloads.
test-foreign-pool:
	FREEHOLD_TEST_OUTSIDE=1 go test -count=1 -v -timeout 30m -run '^TestForeign' ./pool

# Kills sorting processes 50 times, and fills a disk of 64 MiB in a spill, in a merge and in Save. It needs root.
test-sort-kill:
	FREEHOLD_TEST_SORT_KILL=1 go test -count=1 -v -timeout 10m -run '^TestSort(Kill|FullDisk)$$' ./sortbuf

# The tests of GNU sort on freehold sort, from a checkout of GNU coreutils that is not built. It takes Perl.
test-coreutils:
	test -d "$(COREUTILS)/tests/sort" || { echo "COREUTILS must name a checkout of GNU coreutils"; exit 1; }
	FREEHOLD_TEST_COREUTILS="$(abspath $(COREUTILS))" go test -count=1 -v -timeout 30m -run '^TestCoreutils$$' ./cmd/freehold

# The tests of memcached, from a checkout that is not built, and memccapable, on Debian's memcached and on freehold cache serve: what the first
# passes, the second must pass. With GOMEMCACHE, a checkout of gomemcache, its tests, too. It takes Perl. As root it installs what is missing.
test-memcached:
	test -d "$(MEMCACHED)/t" || { echo "MEMCACHED must name a checkout of memcached"; exit 1; }
	if ! { command -v memcached && command -v memccapable; } >/dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq --no-install-recommends memcached libmemcached-tools; fi
	FREEHOLD_TEST_MEMCACHED="$(abspath $(MEMCACHED))" FREEHOLD_TEST_GOMEMCACHE="$(abspath $(GOMEMCACHE))" go test -count=1 -v -parallel 8 -timeout 30m -run '^Test(Memcached|Memccapable|Gomemcache)$$' ./cmd/freehold

# freehold cache serve beside memcached: CPU time of the servers for pipelined gets.
bench-memcached:
	cd benchmarks && go run ./memcached

# The tests of fastcache on package cache, from a checkout of VictoriaMetrics/fastcache.
test-fastcache:
	test -f "$(FASTCACHE)/fastcache_test.go" || { echo "FASTCACHE must name a checkout of VictoriaMetrics/fastcache"; exit 1; }
	cd benchmarks && FREEHOLD_TEST_FASTCACHE="$(abspath $(FASTCACHE))" go test -count=1 -v -timeout 10m -run '^TestFastcache$$' ./fastcache

# The share of recorded requests that package cache, LRU and otter find, and the bars. CAFFEINE is a checkout of ben-manes/caffeine, LIBCACHESIM one of
# 1a1a11a/libCacheSim, which may be left out. DOC is a page to write. It takes xz. A minute.
traces-cache:
	test -d "$(CAFFEINE)/simulator" || { echo "CAFFEINE must name a checkout of ben-manes/caffeine"; exit 1; }
	cd benchmarks && go run ./traces -caffeine "$(abspath $(CAFFEINE))" -libcachesim "$(if $(LIBCACHESIM),$(abspath $(LIBCACHESIM)))" -doc "$(if $(DOC),$(abspath $(DOC)))"

# freehold sort beside GNU sort: 300 MB in memory, and 4 GB in 128 MiB. It takes 12 GB of disk.
bench-sort:
	cd benchmarks && go run ./sortlines

# 20 GB in 512 MiB, checked line by line. It takes 21 GB of disk.
large-sort:
	cd benchmarks && go run ./sortlines -large

# A cache under full load for ten minutes: resizes, saves, expiries; values carry checksums, resident memory is sampled. With -race for two more. Then 50 processes
# are killed while they save.
soak-cache: export FREEHOLD_TEST_STRESS ?= 10m
soak-cache:
	go test -count=1 -timeout 2h -v -run '^TestSoak$$' ./cache
	FREEHOLD_TEST_STRESS=2m go test -race -count=1 -timeout 2h -run '^TestSoak$$' ./cache
	FREEHOLD_TEST_CACHE_KILL=1 go test -count=1 -timeout 1h -run '^TestSaveKilled$$' ./cache

# The simulation of freehold-sink with 10,000 seeds: processes that die, stand still and lose sessions, stores and brokers that refuse and answer late. Ten minutes.
simulate: export FREEHOLD_TEST_SEEDS ?= 10000
simulate:
	cd sink && go test -count=1 -timeout 2h -run '^TestSimulation$$' .

# Every workload at full size. Only these figures count.
bench-full:
	go run ./cmd/freehold bench -full

# The same beside the rivals. benchmarks/README.md says what they need, and more for TAGS=jemalloc.
rivals:
	cd benchmarks && CGO_CFLAGS="-O2 -g -DJEMALLOC_NO_DEMANGLE=" go run -tags "$(TAGS)" . -full

# What the doctor predicts beside what is measured, on the sample programs; writes the tables of docs/doctor-accuracy.md.
accuracy:
	cd benchmarks && go run ./accuracy -doc ../docs/doctor-accuracy.md

# docs/doctor.png from the page that the doctor writes today. As root it installs Debian's chromium.
doctor-picture:
	if ! command -v chromium >/dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; fi
	dir=$$(mktemp -d); trap 'rm -r "$$dir"' EXIT; \
	go run ./cmd/freehold doctor -html "$$dir/doctor.html" >/dev/null; \
	chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update --hide-scrollbars \
		--user-data-dir="$$dir/profile" --window-size=1200,1500 --screenshot="$$PWD/docs/doctor.png" "file://$$dir/doctor.html"

# The doctor on profiles of 20 MB, three times: elapsed time (2 s at most) and peak RSS (300 MB at most, 286 MiB).
large:
	dir=$$(mktemp -d); trap 'rm -r "$$dir"' EXIT; \
	cd cmd; FREEHOLD_TEST_LARGE=$$dir go test -run '^$$' -bench '^BenchmarkLarge$$' -benchtime 1x ./doctor; \
	go build -o "$$dir/freehold" ./freehold; \
	"$$dir/freehold" compare -count 3 "$$dir/freehold doctor $$dir/cpu.pb $$dir/heap.pb" "$$dir/freehold doctor $$dir/cpu.pb $$dir/heap.pb"

# The library, the adapters and the command for every system that is promised.
cross:
	for target in linux/386 linux/arm linux/arm64 linux/riscv64 linux/ppc64le linux/s390x darwin/amd64 darwin/arm64 \
			windows/386 windows/amd64 windows/arm64 freebsd/amd64 netbsd/amd64 openbsd/amd64 js/wasm wasip1/wasm plan9/amd64; do \
		echo "=== $$target"; \
		GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 go vet ./...; \
		case $$target in linux/*|darwin/*|windows/*|freebsd/*) \
			GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 go build ./cmd/... github.com/freehold-go/freehold/adapters/... ;; esac; \
	done

# The tests of each adapter outside the workspace: with the Go version and the dependencies' versions that its own go.mod names, which
# are the lowest that work. On a copy of go.mod with a temporary replace.
adapters-alone:
	version=$$(sed -n 's/^replace github.com\/freehold-go\/freehold \(v[^ ]*\) => .*/\1/p' go.work); \
	for dir in $(adapters); do \
		copy=$$(mktemp -d); \
		cp $$dir/go.mod $$dir/go.sum $$copy; \
		go mod edit -replace=github.com/freehold-go/freehold@$$version=$$PWD $$copy/go.mod; \
		toolchain=go$$(sed -n 's/^go //p' $$dir/go.mod); \
		echo "=== $$dir with $$toolchain"; \
		(cd $$dir && GOWORK=off GOTOOLCHAIN=$$toolchain go test -short -modfile=$$copy/go.mod ./...); \
		rm -r $$copy; \
	done

# Tidies go.mod and go.sum of the nested modules, which require a version of the library that need not be tagged yet: on a copy with
# a temporary replace. Never go work sync: it would raise the Go version of the library, and the adapters' lowest versions.
tidy:
	version=$$(sed -n 's/^replace github.com\/freehold-go\/freehold \(v[^ ]*\) => .*/\1/p' go.work); \
	for dir in cmd $(adapters) sink; do \
		[ -f $$dir/go.mod ] || continue; \
		copy=$$(mktemp -d); \
		cp $$dir/go.mod $$copy/go.mod; [ ! -f $$dir/go.sum ] || cp $$dir/go.sum $$copy/go.sum; \
		for nested in '' /adapters/arenaproto /adapters/memprof; do go mod edit -replace=github.com/freehold-go/freehold$$nested@$$version=$$PWD$$nested $$copy/go.mod; done; \
		(cd $$dir && GOWORK=off go mod tidy -modfile=$$copy/go.mod); \
		for nested in '' /adapters/arenaproto /adapters/memprof; do go mod edit -dropreplace=github.com/freehold-go/freehold$$nested@$$version $$copy/go.mod; done; \
		cp $$copy/go.mod $$dir/go.mod; [ ! -f $$copy/go.sum ] || cp $$copy/go.sum $$dir/go.sum; \
		rm -r $$copy; \
	done

# Writes the golden files of internal/checks/lint anew, and lowers the numbers of circles.
golden:
	go test ./internal/checks/lint -run 'TestAPI|TestDependencies|TestOneWay$$' -update
