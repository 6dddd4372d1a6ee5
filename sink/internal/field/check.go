// SPDX-License-Identifier: Apache-2.0

package field

import (
	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/record"
)

// A Checker checks that values are JSON. It serves one goroutine at a time.
type Checker struct{ text []byte }

// Check reads a record's value behind its framing, from the first byte to the last, unless that was done before. The error is a *record.Bad.
func (c *Checker) Check(r *record.Record) error {
	if r.CheckedJSON {
		return nil
	}
	if r.Schema != nil {
		return c.convert(r)
	}
	if err := arenajson.Pick(nil, r.Payload(), nil, nil, alias); err != nil {
		return bad(err)
	}
	return nil
}

// convert checks a value that a schema makes JSON of.
func (c *Checker) convert(r *record.Record) (err error) {
	if c.text, err = r.Schema.AppendJSON(c.text[:0], r.Payload()); cap(c.text) > keptValue {
		c.text = nil
	}
	return err
}
