// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bytes"
	"io"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

func TestSame(t *testing.T) {
	offheap.CheckLeaks(t)
	var got [2][]bytes.Buffer
	for i, send := range []func([]io.Writer, int){Plain, Frames} {
		got[i] = make([]bytes.Buffer, 20)
		var conns []io.Writer
		for k := range got[i] {
			conns = append(conns, &got[i][k])
		}
		send(conns, 30)
	}
	for k := range got[0] {
		if got[0][k].Len() < 30*60*20 || !bytes.Equal(got[0][k].Bytes(), got[1][k].Bytes()) {
			t.Fatalf("connection %d gets %d and %d bytes, or others", k, got[0][k].Len(), got[1][k].Len())
		}
	}
}
