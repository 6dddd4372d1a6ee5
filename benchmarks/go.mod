module github.com/freehold-go/freehold/benchmarks

go 1.26.0

require (
	github.com/apache/arrow-go/v18 v18.8.0
	github.com/dgraph-io/ristretto/v2 v2.4.2
	github.com/freehold-go/freehold v0.1.0
	github.com/freehold-go/freehold/cmd v0.1.0
	github.com/ortuman/nuke v1.3.0
	modernc.org/memory v1.12.1
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/jedib0t/go-pretty/v6 v6.8.3 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/mattn/go-runewidth v0.0.20 // indirect
	github.com/urfave/cli/v3 v3.14.0 // indirect
	golang.org/x/perf v0.0.0-20250813145418-2f7363a06fe1 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/term v0.45.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

// Nobody installs this module, so it may point at what lies beside it.
replace (
	github.com/freehold-go/freehold => ../
	github.com/freehold-go/freehold/cmd => ../cmd
)
