// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/messages"
)

// TestProtoInputs wants inputs of the sizes that the research measured, the same each time, and types that are decoded by plans alone.
func TestProtoInputs(t *testing.T) {
	for name, size := range map[string]int{"proto/otlp": 52_000, "proto/span": 529, "proto/pprof": 91_000, "proto/descriptors": 70_000, "proto/struct": 2700} {
		for _, task := range ProtoTasks() {
			if task.Name != name {
				continue
			}
			r := &bench.Run{Spec: bench.Spec{N: task.Sizes[0]}}
			b, err := task.Data(r)
			if err != nil || len(b) < size*3/4 || len(b) > size*4/3 {
				t.Errorf("%s: %d bytes, want about %d; %v", name, len(b), size, err)
			}
			m, again := task.New(), task.New()
			c, err := task.Data(r)
			if err != nil || proto.Unmarshal(b, m) != nil || proto.Unmarshal(c, again) != nil || !proto.Equal(m, again) {
				t.Errorf("%s: another message the second time; %v", name, err)
			}
			if report := arenaproto.Prepare(m); len(report.Fallbacks) != 0 && name != "proto/descriptors" { // Its options have extensions.
				t.Errorf("%s: %v", name, report)
			}
		}
	}
}

// TestProtoContestants wants the rivals that the documentation names.
func TestProtoContestants(t *testing.T) {
	for _, name := range []string{messages.Unmarshal, messages.VTProto, googlePprof, messages.Arena, messages.ArenaPool, messages.ArenaDrop, messages.ArenaNil} {
		if contestant(workload(t, "proto/pprof"), name) == nil {
			t.Errorf("proto/pprof has no %s", name)
		}
	}
	for _, task := range ProtoTasks() {
		for _, l := range protoLimits[task.Name] {
			w := workload(t, task.Name)
			if contestant(w, l.ours) == nil || contestant(w, l.theirs) == nil {
				t.Errorf("%s has a bar for contestants that it has not: %s by %s", task.Name, l.ours, l.theirs)
			}
		}
	}
}

// TestProtoRefuses wants an error of every contestant for a message that is cut.
func TestProtoRefuses(t *testing.T) {
	for _, task := range ProtoTasks() {
		whole := task.Data
		task.Data = func(r *bench.Run) ([]byte, error) {
			b, err := whole(r)
			return b[:len(b)-1], err
		}
		task.Rivals = nil
		for _, c := range task.Workload().Contestants {
			r := &bench.Run{Spec: bench.Spec{N: task.Sizes[0]}}
			c.Prepare(r)()
			if r.Err() == nil {
				t.Errorf("%s, %s: no error", task.Name, c.Name)
			}
		}
	}
}
