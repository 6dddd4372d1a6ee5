// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/compress"
)

// member is a part of an object that is compressed on its own: a gzip member, a zstd frame. Such parts may stand one after another. So
// a few compressors serve any number of open objects.
type member struct {
	raw  []byte       // input; from the budget
	out  *block.Chain // output, complete when done is closed
	err  error
	done chan struct{}
}

// compressors compress members, each in a goroutine of its own.
type compressors struct {
	budget *block.Budget
	work   *work
	jobs   chan *member
}

func startCompressors(o Options, w *work) (*compressors, error) {
	c := &compressors{budget: o.Budget, work: w, jobs: make(chan *member)}
	for range o.Compressors {
		z, err := o.Codec.New(o.MemberBytes)
		if err != nil {
			c.stop()
			return nil, err
		}
		go c.compress(z)
	}
	return c, nil
}

func (c *compressors) compress(z *compress.Compressor) {
	defer z.Free()
	for m := range c.jobs {
		m.err = z.Member(m.out, m.raw)
		c.budget.Free(m.raw)
		m.raw = nil
		close(m.done)
		c.work.less()
	}
}

// start has a member compressed. It waits for a free compressor, so what waits to be compressed is bounded by the number of writers, each of
// which starts one at a time. It takes raw over.
func (c *compressors) start(raw []byte) *member {
	m := &member{raw: raw, out: block.NewChain(c.budget), done: make(chan struct{})}
	c.work.more()
	c.jobs <- m
	return m
}

// stop ends the goroutines. No member may be started afterwards.
func (c *compressors) stop() { close(c.jobs) }
