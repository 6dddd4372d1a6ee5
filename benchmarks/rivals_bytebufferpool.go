package main

import (
	"io"

	"github.com/valyala/bytebufferpool"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

func init() {
	const name, own = "bytebufferpool", "pool.Buffer"
	newWay := func() workloads.BufferWay {
		p := new(bytebufferpool.Pool)
		return workloads.BufferWay{
			Get: func() io.Writer { return p.Get() },
			Len: func(w io.Writer) int { return w.(*bytebufferpool.ByteBuffer).Len() },
			Put: func(w io.Writer) { p.Put(w.(*bytebufferpool.ByteBuffer)) },
		}
	}
	const fill, burst = "pool/buffer", "pool/after-burst"
	set.Add(fill, bench.Contestant{Name: name, Prepare: workloads.PoolBuffer(newWay)})
	set.AddBars(fill, bench.AtMost("pool/buffer, pool.Buffer by bytebufferpool", 0.9, bench.TimeRatio(fill, 0, own, name)))
	set.Add(burst, bench.Contestant{Name: name, Prepare: workloads.PoolAfterBurst(newWay)})
	set.AddBars(burst, bench.AtMost("pool/after-burst, resident memory, pool.Buffer by bytebufferpool", 0.1, bench.ExtraRatio(burst, own, name, "rss_after_bytes")))
}
