// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"container/list"
	rings "container/ring"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime/multipart"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A sample is a value of a type of the standard library. The text of a copy must be that of the
// value.
type sample struct {
	value any
	text  func(v any) string // nil for fmt.Sprint.
}

// known returns a value for each entry of graph.KnownTypes, and others.
func known() []sample {
	return []sample{
		{bytes.NewBufferString(strings.Repeat("b", 3)), nil},
		{bytes.NewReader([]byte("text")), func(v any) string { return fmt.Sprint(v.(*bytes.Reader).Len()) }},
		{strings.NewReader("text"), func(v any) string { return fmt.Sprint(v.(*strings.Reader).Len()) }},
		{listOf(1, "two", 3.0), func(v any) string {
			text := ""
			for e := v.(*list.List).Front(); e != nil; e = e.Next() {
				text += fmt.Sprint(e.Value, " ")
			}
			return text
		}},
		{listOf(1).Front(), func(v any) string { return fmt.Sprint(v.(*list.Element).Value, v.(*list.Element).Next()) }},
		{rings.New(3), func(v any) string { return fmt.Sprint(v.(*rings.Ring).Len()) }},
		{must1(x509.ParseOID("1.2.3")), nil},
		{errors.Join(io.EOF, fmt.Errorf("late %d", 1)), nil},
		{fmt.Errorf("one: %w", io.EOF), nil},
		{fmt.Errorf("two: %w, %w", io.EOF, io.ErrNoProgress), nil},
		{big.NewRat(3, 7), nil},
		{new(big.Int).Lsh(big.NewInt(3), 200), nil},
		{new(big.Float).SetPrec(300).Quo(big.NewFloat(1), big.NewFloat(3)), nil},
		{formFile(), func(v any) string {
			f, err := v.(*multipart.FileHeader).Open()
			if err != nil {
				return err.Error()
			}
			content, err := io.ReadAll(f)
			return fmt.Sprint(string(content), err, v.(*multipart.FileHeader).Header)
		}},
		{url.UserPassword("user", strings.Repeat("p", 3)), nil},
		{builderOf("built"), func(v any) string { v.(*strings.Builder).WriteString("!"); return v.(*strings.Builder).String()[:5] }},
		{sync.NewCond(&sync.Mutex{}), func(v any) string { v.(*sync.Cond).Signal(); return fmt.Sprintf("%T", v.(*sync.Cond).L) }},
		{atomicOf([]int{1, 2}), func(v any) string { return fmt.Sprint(v.(*atomic.Value).Load()) }},

		// Without an entry.
		{must1(url.Parse("http://u:p@h/p?q#f")), nil},
		{time.Now(), nil},
		{must1(netip.ParseAddrPort("[fe80::1%eth0]:80")), nil},
		{netip.MustParsePrefix("10.0.0.0/8"), nil},
		{http.Header{"A": {"b"}}, nil},
		{&mail.Address{Name: "n", Address: "a@b"}, nil},
		{json.RawMessage("{}"), nil},
		{&os.PathError{Op: "open", Path: "p", Err: os.ErrNotExist}, nil},
		{must1(regexp.Compile("a+")), nil},
		{strings.NewReplacer("a", "b"), func(v any) string { return v.(*strings.Replacer).Replace("aa") }},
		{&http.Cookie{Name: "n", Expires: time.Now()}, nil},
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func listOf(values ...any) *list.List {
	l := list.New()
	for _, v := range values {
		l.PushBack(v)
	}
	return l
}

func builderOf(text string) *strings.Builder {
	b := &strings.Builder{}
	b.WriteString(text)
	return b
}

func atomicOf(v any) *atomic.Value {
	a := &atomic.Value{}
	a.Store(v)
	return a
}

// formFile is an uploaded file in memory.
func formFile() *multipart.FileHeader {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part := must1(w.CreateFormFile("field", "name"))
	part.Write([]byte("content"))
	w.Close()
	form := must1(multipart.NewReader(&body, w.Boundary()).ReadForm(1 << 20))
	return form.File["field"][0]
}

// TestKnownTypes is GC-10: it fails if a Go release changes the fields of a type that graph.KnownTypes or
// RefusedTypes has. Then read the package of the type again: does all its code still store in each
// field what the field's type says?
func TestKnownTypes(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range known() {
		typ := reflect.TypeOf(k.value)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Struct {
			seen[graph.FieldsOf(typ)] = true
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[time.Timer](), reflect.TypeFor[time.Ticker](), reflect.TypeFor[os.File](), reflect.TypeFor[sync.Map]()} {
		seen[graph.FieldsOf(typ)] = true
		if graph.RefusedTypes[graph.FieldsOf(typ)].Why == "" {
			t.Errorf("%s has other fields than RefusedTypes says: %s", typ, graph.FieldsOf(typ))
		}
	}
	for key := range graph.KnownTypes {
		if !seen[key] {
			t.Errorf("no type has the fields of the entry %q of KnownTypes", key)
		}
	}
	for key := range graph.RefusedTypes {
		if !seen[key] {
			t.Errorf("no type has the fields of the entry %q of RefusedTypes", key)
		}
	}
}

func TestDeepCloneKnown(t *testing.T) {
	cloners(t, func(t *testing.T, clone func(any, ...CloneOptions) any) {
		for _, k := range known() {
			text := k.text
			if text == nil {
				text = func(v any) string { return fmt.Sprint(v) }
			}
			c := clone(k.value)
			if got, want := text(c), text(k.value); got != want {
				t.Errorf("a %T became %s, want %s", k.value, got, want)
			}
			typ := reflect.TypeOf(k.value)
			shared := typ.Kind() == reflect.Pointer && graph.SharedNames[typ.Elem().PkgPath()+"."+typ.Elem().Name()]
			if typ.Kind() == reflect.Pointer && shared != (c == k.value) {
				t.Errorf("a %T is shared: %v", k.value, !shared)
			}
		}
	})
}

// TestDeepCloneDerived has types that are declared here with the fields of others.
func TestDeepCloneDerived(t *testing.T) {
	type number big.Int
	type moment time.Time
	type buffer bytes.Buffer
	type both struct {
		n *number
		t moment
		b buffer
	}
	v := &both{n: (*number)(big.NewInt(1 << 40)), t: moment(time.Now())}
	(*bytes.Buffer)(&v.b).WriteString("text")
	cloners(t, func(t *testing.T, clone func(*both, ...CloneOptions) *both) {
		c := clone(v)
		if c.n == v.n || (*big.Int)(c.n).Cmp((*big.Int)(v.n)) != 0 || c.t != v.t || (*bytes.Buffer)(&c.b).String() != "text" {
			t.Errorf("%+v became %+v", v, c)
		}
	})
}

// TestKnownCopiesAreApart changes copies of values that hold memory.
func TestKnownCopiesAreApart(t *testing.T) {
	n, b := new(big.Int).Lsh(big.NewInt(1), 70), bytes.NewBufferString("text")
	cn, cb := Heap(n), Heap(b)
	cn.Add(cn, cn.Set(big.NewInt(5)))
	cb.Truncate(1)
	cb.WriteString("other")
	if n.BitLen() != 71 || b.String() != "text" || cb.String() != "tother" {
		t.Errorf("the originals are %v and %q, the copy %q", n, b, cb)
	}
	l := listOf(1, 2)
	c := Heap(l)
	c.PushBack(3)
	if l.Len() != 2 || c.Len() != 3 || c.Back().Prev().Value != 2 {
		t.Errorf("the list has %d values, the copy %d", l.Len(), c.Len())
	}
	m := &sync.Map{}
	if Heap(m) == m {
		t.Error("an empty sync.Map was shared")
	}
	m.Store(1, 2)
	mustRefuse(t, m, "sync.Map keeps entries in memory of other types")
}

// TestDeepCloneBuilderOfStack copies Builders by value. A Builder notes its own address, and package
// strings hides that from escape analysis, so the address in a copy may be one of a stack. Memory of a stack
// that was given up shows anything, and the collector ends the process when it finds such an address.
func TestDeepCloneBuilderOfStack(t *testing.T) {
	type texts struct {
		pair  [2]strings.Builder
		whole *strings.Builder
		boxed any
	}
	cloners(t, func(t *testing.T, clone func(texts, ...CloneOptions) texts) {
		var v texts
		v.pair[0].WriteString("built")
		v.whole, v.boxed = builderOf("whole"), v.pair[0]
		c := clone(v)
		box := c.boxed.(strings.Builder)
		for name, b := range map[string]*strings.Builder{"field": &c.pair[0], "box": &box} {
			if at := loadWord(unsafex.PtrOf(b), 0); at != unsafex.Addr(&otherBuilder) || b.String() != "built" {
				t.Errorf("the copy in a %s holds %q, and the address %#x", name, b.String(), at)
			}
			if caught(func() { b.WriteString("!") }) == nil {
				t.Errorf("a write to the copy in a %s does not panic", name)
			}
		}
		c.pair[1].WriteString("second")
		c.whole.WriteString("!")
		if c.whole == v.whole || c.whole.String() != "whole!" || v.whole.String() != "whole" {
			t.Errorf("the copy of %q is %q", v.whole.String(), c.whole.String())
		}
	})
}

// TestDeepCloneSharedBuilder: CloneOptions.Share names strings.Builder, or types that contain one. The bytes are
// shared, so a write to the copy panics, and no copy has an address of the original.
func TestDeepCloneSharedBuilder(t *testing.T) {
	type pair struct {
		name string
		text strings.Builder
	}
	type texts struct {
		one   strings.Builder
		row   [6]strings.Builder
		pairs [5][2]pair
		boxed any
		list  []strings.Builder
		whole *strings.Builder
	}
	share := CloneOptions{Share: []reflect.Type{reflect.TypeFor[strings.Builder](), reflect.TypeFor[pair]()}}
	cloners(t, func(t *testing.T, clone func(texts, ...CloneOptions) texts) {
		var v texts
		v.list, v.whole = make([]strings.Builder, 2), builderOf("whole")
		v.list[1].WriteString("listed")
		v.one.WriteString("one")
		v.row[4].WriteString("row")
		v.pairs[3][1].text.WriteString("pair")
		v.pairs[3][1].name, v.boxed = "name", v.pairs[3][1]
		c := clone(v, share)
		if c.whole != v.whole || c.pairs[3][1].name != "name" {
			t.Error("what is shared has been copied")
		}
		boxed := c.boxed.(pair)
		for want, b := range map[string]*strings.Builder{"one": &c.one, "row": &c.row[4], "pair": &c.pairs[3][1].text, "listed": &c.list[1]} {
			if at := loadWord(unsafex.PtrOf(b), 0); at != unsafex.Addr(&otherBuilder) || b.String() != want {
				t.Errorf("the copy of %q holds %q, and the address %#x", want, b.String(), at)
			}
			if caught(func() { b.WriteString("!") }) == nil {
				t.Errorf("a write to the copy of %q does not panic", want)
			}
		}
		if at := loadWord(unsafex.PtrOf(&boxed.text), 0); at != unsafex.Addr(&otherBuilder) || boxed.text.String() != "pair" {
			t.Errorf("the copy in an interface holds %q, and the address %#x", boxed.text.String(), at)
		}
		c.row[0].WriteString("new")
		v.one.WriteString("!")
		if c.row[0].String() != "new" || v.one.String() != "one!" || c.one.String() != "one" {
			t.Errorf("after writes the texts are %q, %q and %q", c.row[0].String(), v.one.String(), c.one.String())
		}
	})
}

// TestDeepCloneBuilderMoves clones values with a Builder while the stack of the goroutine grows and the collector runs. No
// memory on the heap has the address of the stack before, on which the collector would end the process.
func TestDeepCloneBuilderMoves(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	type texts struct {
		one  strings.Builder
		row  [5][2]strings.Builder
		list *node
	}
	var list *node
	for range 20000 {
		list = &node{next: list}
	}
	var deep func(n int, a *Arena) (pad [100]byte)
	deep = func(n int, a *Arena) (pad [100]byte) {
		if n > 0 {
			pad = deep(n-1, a)
			pad[n%100]++
			return pad
		}
		v := texts{list: list}
		v.one.WriteString("one")
		v.row[4][1].WriteString("two")
		if c := DeepClone(a, v); c.one.String() != "one" || c.row[4][1].String() != "two" {
			t.Errorf("the clone has %q and %q", c.one.String(), c.row[4][1].String())
		}
		v.one.WriteString("!") // It is no copy.
		v.row[4][1].WriteString("!")
		return pad
	}
	for n := range 30 {
		a := NewArena()
		done := make(chan bool)
		go func() {
			defer close(done)
			deep(10*n, a)
			deep(10*n, nil)
		}()
		<-done
		a.Free()
	}
}
