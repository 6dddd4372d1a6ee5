// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !go1.28

package workloads

import (
	"io"
	"iter"

	"github.com/bytedance/sonic"

	"github.com/freehold-go/freehold/cmd/bench"
)

// sonicContestants are the contestants of sonic. On other processors, and with a Go version that it
// does not know yet, sonic calls encoding/json. By default its strings are parts of the document,
// which they keep alive. With ConfigStd it copies them, as all others do.
func sonicContestants(typed bool) []bench.Contestant {
	return []bench.Contestant{
		{Name: "sonic", Note: "Unmarshal; strings are parts of the document, which is kept alive", Prepare: Decode(func(data []byte, v any) error {
			return sonic.Unmarshal(data, v)
		}, typed)},
		{Name: "sonic, ConfigStd", Note: "as encoding/json does it: strings are copied and checked", Prepare: Decode(func(data []byte, v any) error {
			return sonic.ConfigStd.Unmarshal(data, v)
		}, typed)},
	}
}

// sonicLines is sonic's decoder of streams.
func sonicLines() []bench.Contestant {
	return []bench.Contestant{{Name: linesSonic, Note: "its Decoder; strings are parts of its buffer", Prepare: decodeLines(func(r io.Reader) iter.Seq2[*lineOrder, error] {
		d := sonic.ConfigDefault.NewDecoder(r)
		return byDecoder(func(o *lineOrder) error { return d.Decode(o) })
	})}}
}

// sonicOrders decodes small documents.
func sonicOrders() []bench.Contestant {
	return []bench.Contestant{{Name: linesSonic, Note: "Unmarshal; strings are parts of the document, which is kept alive", Prepare: orderUnmarshal(func(data []byte, v any) error {
		return sonic.Unmarshal(data, v)
	})}}
}
