// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
)

// TestFreedArena decodes messages that need no memory into a freed arena. Each use of it panics, before
// it changes the message.
func TestFreedArena(t *testing.T) {
	a := arena.NewArena()
	a.Free()
	m := &proto3.All{FInt32: 7}
	merge := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Merge: true}, AliasInput: true}
	for name, f := range map[string]func() error{
		"Unmarshal": func() error { return Unmarshal(a, nil, m) },
		"Merge":     func() error { return merge.Unmarshal(a, []byte{8, 1}, m) },
		"fallback":  func() error { return Unmarshal(a, nil, dynamicpb.NewMessage(m.ProtoReflect().Descriptor())) },
		"Into":      func() error { return proto.UnmarshalOptions{Merge: true}.Unmarshal(nil, Into(a, m)) },
		"New":       func() error { _, err := New[proto3.All](a, nil); return err },
		"Each": func() error {
			for _, err := range Each[proto3.All](a, new(bytes.Buffer)) {
				return err
			}
			return nil
		},
	} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, "freed") || m.FInt32 != 7 {
					t.Errorf("%s: %s; the message is %v", name, r, m)
				}
			}()
			t.Errorf("%s: no panic, error %v", name, f())
		}()
	}
}
