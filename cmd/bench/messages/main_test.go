// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/cmd/bench"
)

// TestUserTask decodes a file by all contestants, which have the same checksum, and refuses one that is no message.
func TestUserTask(t *testing.T) {
	s, err := structpb.NewStruct(map[string]any{"a": 1, "b": []any{"text", nil, true}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"good.pb": b, "bad.pb": b[:len(b)-1]} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	task := userTask(func() proto.Message { return new(structpb.Struct) })
	w := task.Workload()
	inputs, err := w.Inputs(&bench.Options{Flags: map[string]string{documentsName: filepath.Join(dir, "*.pb")}})
	if err != nil || len(inputs) != 2 || inputs[1].Name != "good" || inputs[1].Bytes != len(b) || !strings.Contains(w.Doc, "google.protobuf.Struct") {
		t.Fatalf("%v, %v; %s", inputs, err, w.Doc)
	}
	var want uint64
	for _, c := range w.Contestants {
		for _, in := range inputs {
			r := &bench.Run{Spec: bench.Spec{Input: in}}
			round := c.Prepare(r)
			sum := round()
			if in.Name == "bad" {
				if r.Err() == nil || !strings.HasPrefix(r.Err().Error(), "bench: proto: ") {
					t.Errorf("%s: half a message: %v", c.Name, r.Err())
				}
				continue
			}
			if want == 0 {
				want = sum
			}
			if r.Err() != nil || sum == 0 || sum != want {
				t.Errorf("%s: sum %x, want %x; %v", c.Name, sum, want, r.Err())
			}
			for range 2 * batch { // Arenas are reset on the way.
				if round() != uint64(len(b)) || r.Err() != nil {
					t.Fatalf("%s: %v", c.Name, r.Err())
				}
			}
		}
	}
	if _, err := w.Inputs(&bench.Options{}); err == nil {
		t.Error("no files, and no error")
	}
}

// TestSumsDiffer: a message that differs in one field has another checksum.
func TestSumsDiffer(t *testing.T) {
	task := userTask(func() proto.Message { return new(structpb.Value) })
	seen := map[uint64]bool{}
	for _, v := range []*structpb.Value{structpb.NewStringValue("a"), structpb.NewStringValue("b"), structpb.NewNumberValue(1), structpb.NewNullValue()} {
		sum, err := task.sum(v, nil, nil)
		if err != nil || seen[sum] {
			t.Errorf("%v: sum %x, %v", v, sum, err)
		}
		seen[sum] = true
	}
}
