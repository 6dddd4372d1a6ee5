//go:build cgo

package main

import (
	"unsafe"

	"github.com/freehold-go/freehold/benchmarks/cmalloc"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

// tunedConf makes jemalloc give memory back by itself, about as soon as freehold does. Without it
// jemalloc keeps pages for ten seconds, and longer while no code calls it.
const tunedConf = "MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0"

// defaultConf spells out jemalloc's own defaults, because in a build with the tag jemalloc package
// jemalloc sets others.
const defaultConf = "MALLOC_CONF=background_thread:false,metadata_thp:disabled"

const (
	jemallocName = "jemalloc (cgo)"
	tunedName    = "jemalloc (cgo), tuned"
	mimallocName = "mimalloc (cgo)"
)

func init() {
	je := rival{
		name: jemallocName, note: "mallocx and dallocx, default options", env: []string{defaultConf},
		zeroed: way{cmalloc.JeCalloc, sizeless(cmalloc.JeFree)}, plain: way{cmalloc.JeMalloc, sizeless(cmalloc.JeFree)},
	}
	je.register()
	tuned := je
	tuned.name, tuned.note, tuned.env = tunedName, "background_thread, decay of one second", []string{tunedConf}
	for _, w := range []string{"fragmentation/log", "fragmentation/big"} {
		set.Add(w, tuned.contestant(workloads.Fragmentation(tuned.plain.bytes, nil)))
		set.AddBars(w, bench.AtMost(w+", CPU by tuned jemalloc", 0.7, bench.TimeRatio(w, 0, "offheap", tunedName)))
	}
	rival{
		name: mimallocName, note: "mi_malloc or mi_calloc, and mi_free",
		zeroed: way{cmalloc.MiCalloc, sizeless(cmalloc.MiFree)}, plain: way{cmalloc.MiMalloc, sizeless(cmalloc.MiFree)},
	}.register()
	rival{
		name: "glibc (cgo)", note: "malloc or calloc, and free",
		zeroed: way{cmalloc.Calloc, sizeless(cmalloc.Free)}, plain: way{cmalloc.Malloc, sizeless(cmalloc.Free)},
	}.register()
	set.AddBars("list", bench.AtMost("list, offheap New by jemalloc through cgo", 1.0/6, bench.TimeRatio("list", 0, "offheap New", jemallocName)))
	set.AddBars("churn", bench.AtMost("churn, offheap by mimalloc through cgo", 1.3, bench.TimeRatio("churn", 0, "offheap", mimallocName)))
}

// sizeless makes a free that does not want to know the size.
func sizeless(free func(unsafe.Pointer)) func(unsafe.Pointer, int) {
	return func(p unsafe.Pointer, _ int) { free(p) }
}
