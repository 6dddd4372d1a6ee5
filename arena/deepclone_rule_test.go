// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/template/parse"
	"time"
	"unique"
	"weak"

	"github.com/freehold-go/freehold/offheap"
)

func share[T any]() CloneOptions { return CloneOptions{Share: []reflect.Type{reflect.TypeFor[T]()}} }
func trust[T any]() CloneOptions {
	return CloneOptions{UnsafeTrust: []reflect.Type{reflect.TypeFor[T]()}}
}

// A sample is a value of a type of the standard library. The text of a copy must be that of the
// value.
type sample struct {
	value any
	text  func(v any) string // nil for fmt.Sprint.
}

// known returns a value for each entry of knownTypes, and others.
func known() []sample {
	parsed, err := url.Parse("http://u:p@h/p?q#f")
	must(err)
	stored := &atomic.Value{}
	stored.Store([]int{1, 2})
	return []sample{
		{bytes.NewBufferString("bbb"), nil},
		{errors.Join(io.EOF, fmt.Errorf("late %d", 1)), nil},
		{fmt.Errorf("one: %w", io.EOF), nil},
		{fmt.Errorf("two: %w, %w", io.EOF, io.ErrNoProgress), nil},
		{big.NewRat(3, 7), nil},
		{new(big.Int).Lsh(big.NewInt(3), 200), nil},
		{new(big.Float).SetPrec(300).Quo(big.NewFloat(1), big.NewFloat(3)), nil},
		{stored, func(v any) string { return fmt.Sprint(v.(*atomic.Value).Load()) }},

		// Without an entry.
		{url.UserPassword("user", "ppp"), nil},
		{parsed, nil},
		{time.Now(), nil},
		{time.Now().In(time.FixedZone("zone", 3600)), nil},
		{netip.MustParseAddrPort("[fe80::1%eth0]:80"), nil},
		{netip.MustParsePrefix("10.0.0.0/8"), nil},
		{http.Header{"A": {"b"}}, nil},
		{&mail.Address{Name: "n", Address: "a@b"}, nil},
		{json.RawMessage("{}"), nil},
		{&os.PathError{Op: "open", Path: "p", Err: os.ErrNotExist}, nil},
		{&http.Cookie{Name: "n", Expires: time.Now()}, nil},
		{strings.NewReader("text"), func(v any) string { return fmt.Sprint(v.(*strings.Reader).Len()) }},
	}
}

// TestKnownTypes is GC-10: it fails if a Go release changes the fields of a type that knownTypes has.
// Then read the package of the type again: does all its code still store in each field what the
// field's type says?
func TestKnownTypes(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range known() {
		typ := reflect.TypeOf(k.value)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Struct {
			seen[fieldsOf(typ)] = true
		}
	}
	for key := range knownTypes {
		if !seen[key] {
			t.Errorf("no type has the fields of the entry %q of knownTypes", key)
		}
	}
}

func TestDeepCloneKnown(t *testing.T) {
	cloners(t, func(t *testing.T, clone func(any, ...CloneOptions) (any, error)) {
		for _, k := range known() {
			text := k.text
			if text == nil {
				text = func(v any) string { return fmt.Sprint(v) }
			}
			c, err := clone(k.value)
			if err != nil {
				t.Errorf("a %T: %v", k.value, err)
				continue
			}
			if got, want := text(c), text(k.value); got != want {
				t.Errorf("a %T became %s, want %s", k.value, got, want)
			}
			if reflect.TypeOf(k.value).Kind() == reflect.Pointer && c == k.value {
				t.Errorf("a %T is shared", k.value)
			}
		}
	})
	v := big.NewInt(1 << 40)
	c, err := Heap(v)
	if must(err); v.SetInt64(2).Cmp(c) == 0 {
		t.Error("the copy of a big.Int has the words of the original")
	}
}

// TestDeepCloneIdentities: values that do not change, or that are known by their address, are shared.
func TestDeepCloneIdentities(t *testing.T) {
	a := NewArena()
	defer a.Free()
	target := new(int)
	v := &struct {
		typ     reflect.Type
		zone    *time.Location
		regexp  *regexp.Regexp
		replace *strings.Replacer
		end     error
		handle  unique.Handle[string]
		weak    weak.Pointer[int]
		arena   *Arena
		pool    *Pool
		purpose *offheap.Purpose
		self    offHeapOnly
		pair    [2]error
	}{reflect.TypeFor[member](), time.UTC, regexp.MustCompile("a+"), strings.NewReplacer("a", "b"), io.EOF, unique.Make("text"), weak.Make(target),
		a, &Pool{}, offheap.NewPurpose(t.Name()), offHeapOnly{p: offheap.New[int]()}, [2]error{io.EOF, io.ErrNoProgress}}
	defer offheap.Delete(v.self.p)
	cloners(t, func(t *testing.T, clone func(any, ...CloneOptions) (any, error)) {
		c, err := clone(v)
		if err != nil {
			t.Fatal(err)
		}
		x, y := reflect.ValueOf(v).Elem(), reflect.ValueOf(c).Elem()
		for i := range x.NumField() {
			if !x.Field(i).Equal(y.Field(i)) {
				t.Errorf("%s is not shared", x.Type().Field(i).Name)
			}
		}
	})
	if weak.Make(target) != v.weak {
		t.Error("the weak pointer lost its target")
	}
}

type offHeapOnly struct {
	_ offheap.UnsafeSelfContained
	p *int
}

// TestDeepCloneRefuses: what is refused, and by which path.
func TestDeepCloneRefuses(t *testing.T) {
	mustRefuse(t, make(chan int), "v: chan int cannot be copied")
	mustRefuse(t, func() {}, "func() cannot be copied")
	mustRefuse(t, &struct{ list [5]struct{ f func() } }{[5]struct{ f func() }{3: {func() {}}}}, "v.list[3].f: func() cannot be copied")
	mustRefuse(t, &member{staff: []*member{nil, {any: make(chan int)}}}, "member.staff[1].any: chan int")
	mustRefuse(t, map[string]any{"a": []any{1, make(chan int)}}, `v["a"].([]interface {})[1]: chan int`)
	mustRefuse(t, map[any]int{[1]any{func() *int { return nil } == nil}: 1, make(chan int): 2}, " key of type interface {}: chan int")
	mustRefuse(t, slog.StringValue("text"), "Value.any: interface {} leads to memory from an unexported field of slog.Value, a type of another module")
	mustRefuse(t, context.WithValue(context.Background(), number(1), 2), "an unexported field of context.valueCtx")
	mustRefuse(t, time.NewTimer(time.Hour), "time.Timer is known to the runtime")
	mustRefuse(t, time.AfterFunc(time.Hour, func() {}), "time.Timer is known to the runtime")
	mustRefuse(t, os.Stdout, "an unexported field of os.File")
	mustRefuse(t, builtText("text"), "Builder")
	mustRefuse(t, parsed(), "an unexported field of parse.ListNode")
	mustRefuse(t, list.New().Init(), "an unexported field of list.List")
	used := &sync.Map{}
	used.Store(1, 2)
	mustRefuse(t, used, "unexported field")
	mustRefuse(t, *NewMap[int, int](nil, 3), "is a handle that owns memory")
	chain := &member{any: make(chan int)}
	for range 100 {
		chain = &member{boss: chain}
	}
	mustRefuse(t, chain, "member….boss.boss.boss")
}

// parsed is a tree of another module's types that lead to each other.
func parsed() *parse.Tree {
	trees, err := parse.Parse("text", "{{.Name}} text", "", "")
	must(err)
	return trees["text"]
}

// builtText is a value of another module's type with a pointer.
func builtText(text string) *strings.Builder {
	b := &strings.Builder{}
	b.WriteString(text)
	return b
}

// TestDeepCloneAtRest: zero values of refused types, and plain parts of types of other modules, are
// copied.
func TestDeepCloneAtRest(t *testing.T) {
	type parts struct {
		mu      sync.Mutex
		builder strings.Builder
		value   slog.Value
		timer   *time.Timer
		m       sync.Map
		n       atomic.Int64
		p       atomic.Pointer[member]
		once    sync.Once
		done    chan int
	}
	v := &parts{}
	v.n.Store(5)
	v.p.Store(&member{name: "stored"})
	cloners(t, func(t *testing.T, clone func(any, ...CloneOptions) (any, error)) {
		r, err := clone(v)
		if err != nil {
			t.Fatal(err)
		}
		c := r.(*parts)
		if c.n.Load() != 5 || c.p.Load() == v.p.Load() || c.p.Load().name != "stored" {
			t.Errorf("%v", c.p.Load())
		}
		c.mu.Lock()
		c.builder.WriteString("x")
	})
}

// TestDeepCloneOptions: Share and UnsafeTrust.
func TestDeepCloneOptions(t *testing.T) {
	type job struct {
		done chan bool
		who  *member
		tree *parse.Tree
	}
	v := &job{make(chan bool), &member{name: "x"}, parsed()}
	mustRefuse(t, v, "job.done: chan bool", trust[*parse.Tree]())
	c, err := Heap(v, share[chan bool](), trust[*parse.Tree]())
	if must(err); c.done != v.done || c.who == v.who || c.tree == v.tree || c.tree.Root.String() != v.tree.Root.String() || c.tree.Root == v.tree.Root {
		t.Errorf("%+v", c)
	}
	c, err = Heap(v, CloneOptions{Share: []reflect.Type{reflect.TypeFor[chan bool](), reflect.TypeFor[member](), reflect.TypeFor[parse.Tree]()}})
	if must(err); c == v || c.who != v.who || c.tree != v.tree {
		t.Errorf("%+v", c)
	}
	whole, err := Heap([]job{*v}, share[job]())
	if must(err); whole[0] != *v {
		t.Errorf("%+v", whole)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	same, err := Heap(&struct{ t *time.Timer }{timer}, share[time.Timer]())
	if must(err); same.t != timer {
		t.Error("a Timer was copied")
	}
	wantPanic(t, "UnsafeTrust", func() { _, _ = Heap(v, trust[[]int]()) }, "which no package declares")
}

// A declared type promises that its fields hold values of their types; one that embeds it does not.
type declared struct{ p *int }

func (declared) UnsafeCloneFields() (_ declared) { return }

func TestDeclaresClone(t *testing.T) {
	type embeds struct {
		declared
		q *int
	}
	for typ, want := range map[reflect.Type]bool{reflect.TypeFor[declared](): true, reflect.TypeFor[embeds](): false, reflect.TypeFor[member](): false} {
		if got := declaresClone(typ); got != want {
			t.Errorf("%s: %v", typ, got)
		}
	}
	// Without the rule for the main module the method decides.
	var r rules
	if t1, t2 := reflect.TypeFor[declared](), reflect.TypeFor[slog.Value](); !r.opens(t1) || r.opens(t2) {
		t.Error("opens")
	}
}

func TestInModule(t *testing.T) {
	for _, k := range []struct {
		pkg, main string
		want      bool
	}{
		{"main", "", true}, {"main", "a.org/b", true}, {"command-line-arguments", "", true},
		{"a.org/b", "a.org/b", true}, {"a.org/b/c", "a.org/b", true}, {"a.org/bc", "a.org/b", false}, {"a.org", "a.org/b", false},
		{"a.org/b/sub", "a.org/b", false}, {"a.org/b/sub/x", "a.org/b", false}, {"a.org/b/subx", "a.org/b", true},
		{"log/slog", "log", false}, {"log", "log", false}, {"time", "", false}, {"app/x", "app", true}, {"application", "app", false},
	} {
		if got := inModule(k.pkg, k.main, []string{"a.org/b/sub"}); got != k.want {
			t.Errorf("%s of %s: %v", k.pkg, k.main, got)
		}
	}
	if !ofMainModule(reflect.TypeFor[member]().PkgPath()) || ofMainModule("log/slog") {
		t.Error("the module of the tests")
	}
}
