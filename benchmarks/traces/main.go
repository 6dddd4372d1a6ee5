// Command traces replays recorded requests against cache.Cache and others, and compares the share
// that each finds.
//
//	go run ./traces -caffeine DIR [-libcachesim DIR] [-doc FILE]    # or make traces-cache
//
// DIR are checkouts of github.com/ben-manes/caffeine and github.com/1a1a11a/libCacheSim, in which the
// traces lie. The command needs xz. It exits with status 1 if a bar is missed.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	caffeine := flag.String("caffeine", "", "read traces from a checkout of Caffeine in `DIR`")
	libcachesim := flag.String("libcachesim", "", "read cloudPhysicsIO from a checkout of libCacheSim in `DIR`")
	doc := flag.String("doc", "", "write the tables to `FILE`, too")
	flag.Parse()
	if *caffeine == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, *caffeine, *libcachesim, *doc, 1_500_000); err != nil {
		fmt.Fprintln(os.Stderr, "traces:", err)
		os.Exit(1)
	}
}

// run reads at most a number of requests of each trace.
func run(out io.Writer, caffeine, libcachesim, doc string, most int) error {
	var text bytes.Buffer
	if doc != "" {
		out = io.MultiWriter(out, &text)
		fmt.Fprint(out, preface)
	}
	r := report{most: most}
	for _, s := range sources(caffeine, libcachesim, most) {
		t, err := s.read()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := r.replay(t, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %d requests for %d keys\n", s.name, len(t.requests), t.keys())
	}
	failed := r.write(out)
	if doc != "" {
		if err := os.WriteFile(doc, text.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return failed
}

const preface = `# The cache on recorded requests

` + "`make traces-cache CAFFEINE=DIR LIBCACHESIM=DIR DOC=docs/cache-traces.md`" + ` writes this page. [Caches](cache.md#eviction) describes the policy.

`

// sources are what is read, in the order of the tables.
func sources(caffeine, libcachesim string, most int) []source {
	in := filepath.Join(caffeine, "simulator/src/main/resources/com/github/benmanes/caffeine/cache/simulator/parser")
	file := func(name string, f format, held bool) source {
		return source{name: name, held: held, read: func() (*trace, error) { return readFile(filepath.Join(in, name), f, most) }}
	}
	var list []source
	for _, name := range []string{"2_pools", "backf", "cpp", "cs", "gli", "loop", "multi1", "multi2", "multi3", "ps", "scan", "sprite", "zigzag"} {
		list = append(list, file("lirs/"+name+".trace.gz", lines, false))
	}
	list = append(list,
		source{name: "Zipf 1.01", read: func() (*trace, error) { return zipf(false, most), nil }},
		source{name: "Zipf with scans", read: func() (*trace, error) { return zipf(true, most), nil }})
	for _, name := range []string{"orm-busy", "orm-night", "web07", "web12"} {
		list = append(list, file("cache2k/"+name+".trace.xz", words32, true))
	}
	list = append(list, file("cloud_physics/w106.trace.xz", words32, true), file("corda/trace_vaultservice.gz", words64, true),
		file("scarab/scarab-recs.trace.xz", words64, true), file("adapt_size/request.trace.xz", adaptSize, true))
	bySize := []source{file("adapt_size/request.trace.xz", adaptSizeSized, true)}
	if libcachesim != "" {
		path := filepath.Join(libcachesim, "data/cloudPhysicsIO.csv")
		list = append(list, source{name: "cloudPhysicsIO", held: true, read: func() (*trace, error) { return readFile(path, csv, most) }})
		bySize = append(bySize, source{name: "cloudPhysicsIO", read: func() (*trace, error) { return readFile(path, csvSized, most) }})
	}
	return append(list, bySize...)
}
