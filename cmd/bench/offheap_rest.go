package bench

import "github.com/freehold-go/freehold/offheap"

// addFragmentationOffheap adds the ways of freehold to both modes of fragmentation.
func addFragmentationOffheap() {
	freed := []Contestant{
		{Name: "offheap", Note: "AllocUninit and Free", Prepare: Fragmentation(offheapUninit, nil)},
		{Name: "offheap, purged", Note: "and Purge after every shrink", Prepare: Fragmentation(offheapUninit, offheap.Purge), FullOnly: true},
	}
	addOwn("fragmentation/log", freed...)
	addOwn("fragmentation/big", freed...)
	addFragmentationBars("offheap")
}

func offheapUninit() Bytes      { return Bytes{Alloc: offheap.AllocUninit, Free: offheap.Free} }
func offheapZeroed() Bytes      { return Bytes{Alloc: offheap.Alloc, Free: offheap.Free} }
func offheapLocal() Bytes       { l := offheap.NewLocal(); return Bytes{Alloc: l.AllocUninit, Free: l.Free} }
func offheapLocalZeroed() Bytes { l := offheap.NewLocal(); return Bytes{Alloc: l.Alloc, Free: l.Free} }

// addChurnOffheap adds the ways of freehold to churn and churn/zeroed.
func addChurnOffheap() {
	addOwn("churn",
		Contestant{Name: "offheap", Note: "AllocUninit and Free", Prepare: Churn(offheapUninit, false)},
		Contestant{Name: "offheap Local", Note: "AllocUninit and Free of a Local for each goroutine", Prepare: Churn(offheapLocal, false)},
	)
	addOwn("churn/zeroed",
		Contestant{Name: "offheap", Note: "Alloc and Free", Prepare: Churn(offheapZeroed, true)},
		Contestant{Name: "offheap Local", Note: "Alloc and Free of a Local for each goroutine", Prepare: Churn(offheapLocalZeroed, true)},
	)
	addSampled("churn", 0, "offheap", Churn(offheapUninit, false), 1.03, 1.03)
	addSampled("churn/zeroed", 0, "offheap", Churn(offheapZeroed, true), 1.02, 1.01)
}

// addHandoffOffheap adds the ways of freehold to handoff.
func addHandoffOffheap() {
	addOwn("handoff",
		Contestant{Name: handoffNew, Note: "New here, Delete there", Prepare: Handoff(handoffOffheap, false)},
		Contestant{Name: handoffHome, Note: "New here, Delete here, after the same way there and back", Prepare: Handoff(handoffOffheap, true)},
	)
	AddBar(Bar{"handoff, offheap New by the local pair in the same shape", 2, TimeRatio("handoff", 0, handoffNew, handoffHome)})
	AddBar(Bar{"handoff, growth of the resident set while it runs, MiB", handoffGrowth >> 20, handoffGrowthOf(handoffNew)})
}

const (
	handoffNew  = "offheap New"
	handoffHome = "offheap New, at home"
)

func handoffOffheap() HandoffWay {
	return HandoffWay{
		Fill: func(b *HandoffBatch, seq uint64) {
			for i := range b {
				p := offheap.New[HandoffBlock]()
				p.Seq = seq + uint64(i)
				b[i] = p
			}
		},
		Empty: func(b *HandoffBatch) {
			for i, p := range b {
				offheap.Delete(p)
				b[i] = nil
			}
		},
	}
}

// addScanOffheap adds the ways of freehold to scan/nodes.
func addScanOffheap() {
	addOwn("scan/nodes",
		Contestant{Name: "offheap *node", Note: "[]*node, nodes outside of the Go heap", Prepare: scanPointers},
		Contestant{Name: "offheap Ref", Note: "[]Ref[node], nodes outside of the Go heap", Prepare: scanRefs},
	)
	AddBar(Bar{"scan of nodes by Ref, by the Go heap", 0.01, TimeRatio("scan/nodes", 0, "offheap Ref", heapName)})
}

func scanPointers(r *Run) func() uint64 {
	nodes := make([]*plainNode, r.N)
	keep = append(keep, nodes)
	for i := range nodes {
		nodes[i] = offheap.New[plainNode]()
		nodes[i].a = uint64(i)
	}
	r.Cleanup(func() {
		for _, n := range nodes {
			offheap.Delete(n)
		}
	})
	return scanRound(func() (sum uint64) {
		for _, n := range nodes {
			sum = sum*31 + n.a
		}
		return sum
	})
}

func scanRefs(r *Run) func() uint64 {
	nodes := make([]offheap.Ref[plainNode], r.N)
	keep = append(keep, nodes)
	for i := range nodes {
		nodes[i] = offheap.NewRef[plainNode]()
		nodes[i].Ptr().a = uint64(i)
	}
	r.Cleanup(func() {
		for _, n := range nodes {
			offheap.DeleteRef(n)
		}
	})
	return scanRound(func() (sum uint64) {
		for _, n := range nodes {
			sum = sum*31 + n.Ptr().a
		}
		return sum
	})
}
