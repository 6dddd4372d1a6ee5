// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A cell is what Cells is told.
type cell struct {
	leaf, rep, def int
	bits           uint64
	bytes          []byte
	null           bool
}

type cellList struct{ cells []cell }

func (l *cellList) Number(leaf, rep, def int, bits uint64) {
	l.cells = append(l.cells, cell{leaf: leaf, rep: rep, def: def, bits: bits})
}

func (l *cellList) Bytes(leaf, rep, def int, b []byte) {
	l.cells = append(l.cells, cell{leaf: leaf, rep: rep, def: def, bytes: b})
}

func (l *cellList) Null(leaf, rep, def int) {
	l.cells = append(l.cells, cell{leaf: leaf, rep: rep, def: def, null: true})
}

// naive shreds a dynamic message by the definition of the levels.
type naive struct {
	t     testing.TB
	w     *world
	cells map[int][]string // by leaf
}

func (n *naive) add(c *Column, rep, def int, text any) {
	n.cells[c.Leaf] = append(n.cells[c.Leaf], fmt.Sprint(rep, " ", def, " ", text))
}

func (n *naive) null(c *Column, rep, def int) {
	if c.Leaf >= 0 {
		n.add(c, rep, def, "null")
	}
	for _, child := range c.Children {
		n.null(child, rep, def)
	}
}

// message shreds a message whose columns have these levels when they are not there.
func (n *naive) message(columns []*Column, m protoreflect.Message, rep, def, depth int) {
	for _, c := range columns {
		fd := m.Descriptor().Fields().ByNumber(c.f.number)
		if fd == nil {
			x, err := n.w.types.FindExtensionByNumber(m.Descriptor().FullName(), c.f.number)
			if err != nil {
				n.t.Fatal(err)
			}
			fd = x.TypeDescriptor()
		}
		v := m.Get(fd)
		switch {
		case fd.IsList() && v.List().Len() > 0:
			level := rep
			for i := range v.List().Len() {
				n.value(c, fd, v.List().Get(i), level, def+1, depth+1)
				level = depth + 1
			}
		case fd.IsMap() && v.Map().Len() > 0:
			var keys []protoreflect.MapKey
			v.Map().Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool { keys = append(keys, k); return true })
			slices.SortFunc(keys, func(a, b protoreflect.MapKey) int {
				switch fd.MapKey().Kind() {
				case protoreflect.BoolKind:
					return map[bool]int{true: 1}[a.Bool()] - map[bool]int{true: 1}[b.Bool()]
				case protoreflect.StringKind:
					return slices.Compare([]byte(a.String()), []byte(b.String()))
				case protoreflect.Uint64Kind:
					return map[bool]int{true: 1, false: -1}[a.Uint() > b.Uint()]
				}
				return map[bool]int{true: 1, false: -1}[a.Int() > b.Int()]
			})
			level := rep
			for _, k := range keys {
				n.value(c.Children[0], fd.MapKey(), k.Value(), level, def+1, depth+1)
				n.value(c.Children[1], fd.MapValue(), v.Map().Get(k), level, def+1, depth+1)
				level = depth + 1
			}
		case fd.IsList() || fd.IsMap() || fd.HasPresence() && !m.Has(fd):
			n.null(c, rep, def)
		default:
			n.value(c, fd, v, rep, def+1, depth)
		}
	}
}

func (n *naive) value(c *Column, fd protoreflect.FieldDescriptor, v protoreflect.Value, rep, def, depth int) {
	if c.Leaf < 0 {
		n.message(c.Children, v.Message(), rep, def, depth)
		return
	}
	if fd.Message() != nil && c.Kind != JSON {
		m := v.Message()
		switch c.Kind {
		case Timestamp:
			n.add(c, rep, def, m.Get(m.Descriptor().Fields().ByNumber(1)).Int()*1_000_000+m.Get(m.Descriptor().Fields().ByNumber(2)).Int()/1000)
			return
		case Text:
			if fd.Message().Name() != "StringValue" {
				n.add(c, rep, def, normal(n.t, n.json(m)))
				return
			}
		}
		fd = m.Descriptor().Fields().ByNumber(1)
		v = m.Get(fd)
	}
	switch {
	case c.Kind == JSON:
		n.add(c, rep, def, normal(n.t, n.json(v.Message())))
	case fd.Enum() != nil:
		text := fmt.Sprint(v.Enum())
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			text = string(e.Name())
		}
		n.add(c, rep, def, text)
	case c.Kind == Bytes:
		n.add(c, rep, def, string(v.Bytes()))
	case c.Kind == Bool:
		n.add(c, rep, def, v.Bool())
	default:
		n.add(c, rep, def, v.Interface())
	}
}

func (n *naive) json(m protoreflect.Message) string {
	text, err := protojson.MarshalOptions{Resolver: n.w.types, AllowPartial: true}.Marshal(m.Interface())
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// text is a cell as naive writes it.
func (c cell) text(t testing.TB, k Kind) string {
	var v any
	switch {
	case c.null:
		v = "null"
	case k == Bool:
		v = c.bits != 0
	case k == Int32 || k == Int64 || k == Timestamp:
		v = int64(c.bits)
	case k == Float:
		v = math.Float32frombits(uint32(c.bits))
	case k == Double:
		v = math.Float64frombits(c.bits)
	case k == JSON:
		v = normal(t, string(c.bytes))
	case k == Text || k == Bytes:
		v = string(c.bytes)
	default:
		v = c.bits
	}
	return fmt.Sprint(c.rep, " ", c.def, " ", v)
}

// TestColumns compares random messages with what follows from the definition of Parquet's levels.
func TestColumns(t *testing.T) {
	w := newWorld(t, Options{})
	n := 3000
	if testing.Short() {
		n = 600
	}
	for _, name := range []string{"test.All", "test.Two", "test.Ed", "test.Inner"} {
		of, m := w.message(t, name)
		columns, err := of.Columns()
		if err != nil {
			t.Fatal(err)
		}
		to := &cellList{}
		s := columns.NewShredder(to)
		taken := 0
		for seed := range uint64(n / 4) {
			g := &maker{rand.New(rand.NewPCG(seed, 6)), w}
			b := append(g.message(m, 5), g.message(m, 4)...)
			d, _, wantErr := w.expected(m, b)
			to.cells = to.cells[:0]
			if err := s.Shred(b); err != nil {
				if wantErr == nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				continue
			}
			if wantErr != nil { // A number that JSON cannot have may have a column.
				continue
			}
			taken++
			want := &naive{t, w, map[int][]string{}}
			want.message(columns.Top, d.ProtoReflect(), 0, 0, 0)
			got := map[int][]string{}
			for _, c := range to.cells {
				got[c.leaf] = append(got[c.leaf], c.text(t, columns.Leaves[c.leaf].Kind))
			}
			if !reflect.DeepEqual(got, want.cells) {
				for leaf := range columns.Leaves {
					if !slices.Equal(got[leaf], want.cells[leaf]) {
						t.Errorf("seed %d: %s: leaf %d %s\n%q\n%q", seed, name, leaf, columns.Leaves[leaf].Name, got[leaf], want.cells[leaf])
					}
				}
				t.FailNow()
			}
		}
		if taken < n/40 {
			t.Errorf("%s: %d messages were taken", name, taken)
		}
		to.cells = to.cells[:0]
		s.Null()
		if len(to.cells) != len(columns.Leaves) || !to.cells[0].null {
			t.Error("Null does not give null to each leaf")
		}
	}
	for _, name := range []string{"google.protobuf.Struct", "google.protobuf.Empty"} {
		of, _ := w.message(t, name)
		if _, err := of.Columns(); err == nil {
			t.Errorf("%s has columns", name)
		}
	}
	of, _ := w.message(t, "test.All")
	columns, err := of.Columns()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]Kind{"self": JSON, "time": Timestamp, "wI64": Int64, "struct": JSON, "duration": Text, "color": Text, "empty": JSON, "tree": Map, "inner": Message, "someBytes": Bytes}
	for _, c := range columns.Top {
		if k, ok := kinds[c.Name]; ok && c.Kind != k {
			t.Errorf("%s is of the kind %d, want %d", c.Name, c.Kind, k)
		}
	}
}

func BenchmarkShred(b *testing.B) {
	_, of, _, message := order(b)
	columns, err := of.Columns()
	if err != nil {
		b.Fatal(err)
	}
	to := &cellList{}
	s := columns.NewShredder(to)
	b.ReportAllocs()
	b.SetBytes(int64(len(message)))
	for b.Loop() {
		to.cells = to.cells[:0]
		if err := s.Shred(message); err != nil {
			b.Fatal(err)
		}
	}
}
