// SPDX-License-Identifier: Apache-2.0

package typeinfo

import (
	"reflect"
	"strings"
	"testing"
)

// A linkTo is a link to a T.
type linkTo[T any] struct {
	_ [0]*T
	n uint64
}

func linked(t reflect.Type) reflect.Type {
	if !strings.HasPrefix(t.Name(), "linkTo[") {
		return nil
	}
	return t.Field(0).Type.Elem().Elem()
}

// The types of another version of a program, with what differs.
type (
	item struct {
		Next linkTo[item]
		N    int64
		Tail struct{ List [3]uint16 }
	}
	renamed struct {
		Before linkTo[renamed]
		Count  int64
		End    struct{ All [3]uint16 }
	}
	otherKind struct {
		Next linkTo[otherKind]
		N    float64
		Tail struct{ List [3]uint16 }
	}
	otherOrder struct {
		N    int64
		Next linkTo[otherOrder]
		Tail struct{ List [3]uint16 }
	}
	otherLength struct {
		Next linkTo[otherLength]
		N    int64
		Tail struct{ List [4]uint16 }
	}
	otherTarget struct { // Itself the same, but its links lead to something else.
		Next linkTo[int64]
		N    int64
		Tail struct{ List [3]uint16 }
	}
	oneMore struct {
		Next linkTo[oneMore]
		N    int64
		Tail struct{ List [3]uint16 }
		More byte // In the former padding.
	}
	oneLess struct {
		Next linkTo[oneLess]
		N    int64
		Tail int64
	}
)

// TestLayout compares the types of other versions of a program with an item.
func TestLayout(t *testing.T) {
	first := LayoutOf(reflect.TypeFor[item](), linked)
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[item]():        "",
		reflect.TypeFor[renamed]():     "",
		reflect.TypeFor[otherKind]():   `typeinfo.otherKind.N is "float64 at 8" here and "int64 at 8" there`,
		reflect.TypeFor[otherOrder]():  `typeinfo.otherOrder.N is "int64 at 0" here and "link to type 0 at 0" there`,
		reflect.TypeFor[otherLength](): "otherLength",
		reflect.TypeFor[otherTarget](): `typeinfo.otherTarget.Next is "link to type 1 at 0" here and "link to type 0 at 0" there`,
		reflect.TypeFor[oneMore]():     "there is no field from typeinfo.oneMore.More on (uint8 at 22 here)",
		reflect.TypeFor[oneLess]():     "oneLess.Tail",
		reflect.TypeFor[int64]():       "8 bytes",
	} {
		l := LayoutOf(typ, linked)
		if same := l.Digest == first.Digest; same != (want == "") || l.Digest == 0 {
			t.Errorf("%s: its digest is %x, that of an item %x", typ, l.Digest, first.Digest)
		}
		if got := l.Difference(first.Text()); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: the difference is %q, want %q", typ, got, want)
		}
	}
	more := LayoutOf(reflect.TypeFor[oneMore](), linked)
	if got := first.Difference(more.Text()); got != `there is "uint8 at 22" behind the last field` {
		t.Errorf("an item, where there was oneMore: %q", got)
	}
}
