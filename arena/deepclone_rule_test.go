// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/template/parse"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// mustRefuse clones v, which must be refused with words for a reason.
func mustRefuse[T any](t *testing.T, v T, words string, options ...CloneOptions) {
	t.Helper()
	a := NewArena()
	defer a.Free()
	if _, err := tryDeepClone(a, v, options...); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), words) {
		t.Errorf("DeepClone of %T: %v, want: %s", v, err, words)
	}
	if _, err := tryHeap(v, options...); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), words) {
		t.Errorf("Heap of %T: %v, want: %s", v, err, words)
	}
}

func share[T any]() CloneOptions { return CloneOptions{Share: []reflect.Type{reflect.TypeFor[T]()}} }
func trust[T any]() CloneOptions {
	return CloneOptions{UnsafeTrust: []reflect.Type{reflect.TypeFor[T]()}}
}

// TestDeepCloneSlogValues has values whose fields are not what they seem: a string is a *byte and a
// length.
func TestDeepCloneSlogValues(t *testing.T) {
	type entry struct{ at slog.Value }
	text := strings.Repeat("secret ", 3)
	const words = "entry.at.any: interface {} leads to memory from an unexported field of slog.Value, a type of another module"
	mustRefuse(t, &entry{slog.StringValue(text)}, words)
	mustRefuse(t, &entry{slog.GroupValue(slog.Int("a", 1), slog.String("b", text))}, words)
	mustRefuse(t, slog.AnyValue(new(int)), "Value.any")
	for _, v := range []slog.Value{{}, slog.Int64Value(1 << 40), slog.BoolValue(true), slog.DurationValue(3), slog.StringValue("constant")} {
		if c := Heap(&entry{v}); !c.at.Equal(v) {
			t.Errorf("%v became %v", v, c.at)
		}
	}
	if c := Heap(&entry{slog.StringValue(text)}, share[slog.Value]()); c.at.String() != text {
		t.Errorf("the shared string became %q", c.at.String())
	}
}

func TestDeepCloneTimers(t *testing.T) {
	type derived time.Timer
	type job struct {
		timer  *time.Timer
		ticker *time.Ticker
		value  time.Timer
		own    *derived
	}
	after := time.AfterFunc(time.Hour, func() {})
	defer after.Stop()
	fresh := time.NewTimer(time.Hour)
	defer fresh.Stop()
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	const words = "is known to the runtime by its address"
	for _, o := range []CloneOptions{{}, share[<-chan time.Time](), trust[time.Timer]()} {
		mustRefuse(t, &job{timer: after}, "job.timer: time.Timer "+words, o)
		mustRefuse(t, &job{timer: fresh}, "job.timer: time.Timer "+words, o)
		mustRefuse(t, &job{ticker: ticker}, "job.ticker: time.Ticker "+words, o)
		mustRefuse(t, &job{own: (*derived)(after)}, words, o)
	}
	values := CloneOptions{Share: []reflect.Type{reflect.TypeFor[time.Timer](), reflect.TypeFor[time.Ticker]()}}
	v := &job{timer: after, ticker: ticker}
	if c := Heap(v, values); c.timer != after || c.ticker != ticker {
		t.Error("pointers to shared timers are others")
	}
	v.value.C = fresh.C
	mustRefuse(t, v, "job.value: time.Timer "+words, values)
	mustRefuse(t, v, "hold it by a pointer, and name time.Timer in CloneOptions.Share", CloneOptions{})
}

// TestDeepCloneSharedParts: what must not be copied is not copied as a part of a shared value either. Pointers to the
// value are shared.
func TestDeepCloneSharedParts(t *testing.T) {
	type worker struct {
		name  *string
		timer time.Timer
		Arena Arena
	}
	type queue struct {
		one   worker
		row   [6][1]worker
		boxed any
		whole *worker
	}
	fresh := time.NewTimer(time.Hour)
	defer fresh.Stop()
	a := NewArena()
	defer a.Free()
	name, busy, owner := "name", worker{}, worker{}
	busy.timer.C = fresh.C
	reflect.ValueOf(&owner).Elem().FieldByName("Arena").Set(reflect.ValueOf(a).Elem())
	for _, c := range []struct {
		w     *worker
		words string
	}{{&busy, "time.Timer is known to the runtime by its address"}, {&owner, "arena.Arena is a handle that owns memory"}} {
		var one, row queue
		set := func(to *worker) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(c.w).Elem()) }
		set(&one.one)
		set(&row.row[5][0])
		for _, v := range []*queue{&one, &row, {boxed: reflect.ValueOf(c.w).Elem().Interface()}} {
			mustRefuse(t, v, c.words, share[worker]())
		}
	}
	v := &queue{whole: &busy}
	v.one.name, v.row[5][0].name = &name, &name
	if c := Heap(v, share[worker]()); c.one.name != &name || c.row[5][0].name != &name || c.whole != v.whole {
		t.Error("what is shared has been copied")
	}
}

func TestDeepCloneContexts(t *testing.T) {
	type call struct{ ctx context.Context }
	for _, make := range []func() (context.Context, context.CancelFunc){
		func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
		func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
		func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Hour)
		},
		func() (context.Context, context.CancelFunc) {
			return context.WithValue(context.Background(), new(int), 1), func() {}
		},
		func() (context.Context, context.CancelFunc) {
			return context.WithoutCancel(t.Context()), func() {}
		},
	} {
		ctx, cancel := make()
		defer cancel()
		mustRefuse(t, &call{ctx}, "is a context, which is known by its address")
		if c := Heap(&call{ctx}, share[context.Context]()); c.ctx != ctx {
			t.Error("a shared context is another")
		}
	}
	if c := Heap(&call{context.Background()}); c.ctx != context.Background() {
		t.Error("the empty context is another")
	}
}

func TestDeepCloneFuncs(t *testing.T) {
	pc, _, _, _ := runtime.Caller(0)
	f := runtime.FuncForPC(pc)
	type frame struct{ fn *runtime.Func }
	if c := Heap(&frame{f}); c.fn != f || c.fn.Name() != f.Name() {
		t.Error("a *runtime.Func is another")
	}
}

// opaque is like an incomplete type of C: what lies behind a pointer to it has a size that Go does
// not know.
type opaque struct{}

func TestDeepClonePointersToNothing(t *testing.T) {
	type owner struct {
		n     int
		first opaque
		m     int
		last  opaque
		_     int
	}
	type holder struct {
		one, two *opaque
		ages     map[*opaque]int
		slice    []*opaque
	}
	w := &owner{}
	cloners(t, func(t *testing.T, clone func(*holder, ...CloneOptions) *holder) {
		h := &holder{&w.first, &w.last, map[*opaque]int{&w.first: 1, &w.last: 2}, []*opaque{&w.last}}
		c := clone(h)
		if c.one != h.one || c.two != h.two || len(c.ages) != 2 || c.ages[c.two] != 2 || c.slice[0] != c.two {
			t.Errorf("%+v became %+v", h, c)
		}
	})
}

// ownHandles has each of freehold's handles.
type ownHandles struct {
	arena   Arena
	pool    Pool
	builder Builder
	table   Map[int, int]
	local   offheap.Local
	purpose offheap.Purpose

	builderAt *Builder
}

// setNonzero sets the first byte of the value at v.
func setNonzero(v reflect.Value) { *unsafex.As[byte](v.Addr().UnsafePointer()) = 1 }

func TestDeepCloneHandles(t *testing.T) {
	fields := reflect.TypeFor[ownHandles]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Type.Kind() != reflect.Struct {
			continue
		}
		v := make([]ownHandles, 2)
		setNonzero(reflect.ValueOf(v).Index(1).Field(i))
		mustRefuse(t, &v[1], "ownHandles."+f.Name+": "+f.Type.String())
		mustRefuse(t, v, "[1]."+f.Name+": "+f.Type.String())
	}
	a := NewArena()
	defer a.Free()
	b := NewBuilder(a)
	b.WriteString("text")
	mustRefuse(t, &ownHandles{builderAt: b}, "ownHandles.builderAt: arena.Builder belongs to its arena")
	type derived Arena
	l := offheap.NewLocal()
	defer l.Close()
	type pointers struct {
		arena   *Arena
		derived *derived
		pool    *Pool
		local   *offheap.Local
		purpose *offheap.Purpose
		in      offheap.Typed[int]
		of      offheap.Typed[string]
	}
	v := &pointers{a, (*derived)(a), &Pool{}, l, offheap.NewPurpose("p"), offheap.In[int](l), offheap.Typed[string]{}}
	if c := Heap(v); *c != *v {
		t.Errorf("%+v became %+v", v, c)
	}
	if c := DeepClone(a, v); *c != *v {
		t.Errorf("%+v became %+v", v, c)
	}
}

// TestHandlesAreListed holds handles against the types that the packages arena and offheap export.
func TestHandlesAreListed(t *testing.T) {
	// Values of these may be copied: none of them owns memory.
	values := []string{"arena.Checkpoint", "arena.Typed", "offheap.AtomicRef", "offheap.Leak", "offheap.MisuseError", "offheap.Ref",
		"offheap.SliceRef", "offheap.Typed"}
	// Maps: see inUse. Of the others unexported fields are refused, as those of any foreign type.
	listed := map[string]bool{"arena.Map": true, "arena.Round": true, "arena.UnsafeType": true, "arena.UnsafeSlabs": true, "arena.UnsafeCursor": true}
	for _, name := range values {
		listed[name] = true
	}
	for _, h := range handles {
		listed[h.typ.String()] = true
	}
	for folder, pkg := range map[string]string{".": "arena", "../offheap": "offheap"} {
		names := structsOf(t, folder)
		if len(names) < 4 {
			t.Fatalf("%s exports %v only", pkg, names)
		}
		for _, name := range names {
			if !listed[pkg+"."+name] {
				t.Errorf("%s.%s is neither a handle nor known as a value that may be copied", pkg, name)
			}
		}
	}
}

// structsOf lists the struct types with unexported fields that the package in a folder exports.
func structsOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	files := token.NewFileSet()
	notTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(files, folder, notTest, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		ast.Inspect(p, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() {
				if fields, ok := s.Type.(*ast.StructType); ok && slices.ContainsFunc(fields.Fields.List, isUnexported) {
					names = append(names, s.Name.Name)
				}
			}
			return true
		})
	}
	return names
}

func isUnexported(f *ast.Field) bool {
	return slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return !n.IsExported() })
}

// foreign makes a struct type of another module, with a field x of each type.
func foreign(fields ...reflect.Type) reflect.Type {
	var list []reflect.StructField
	for i, t := range fields {
		list = append(list, reflect.StructField{Name: "x" + string(rune('0'+i)), PkgPath: "example.com/foreign/pkg", Type: t})
	}
	return reflect.StructOf(list)
}

var globalNumber = 5

// TestDeepCloneForeignFields has each kind of unexported field of a type of another module.
func TestDeepCloneForeignFields(t *testing.T) {
	a := NewArena()
	defer a.Free()
	heapText := strings.Repeat("h", 3)
	inArena := String(a, "in the arena")
	onHeap := freehold.HeapMode() // Then it is not.
	n := new(int)
	for _, c := range []struct {
		name  string
		value any
		held  bool
	}{
		{"string on the heap", heapText, true},
		{"constant", "constant", true},
		{"string in an arena", inArena, onHeap},
		{"empty string", inArena[:0], true},
		{"pointer to the heap", n, false},
		{"nil pointer", (*int)(nil), true},
		{"pointer to a global", &globalNumber, true},
		{"slice of the heap", []int{1}, false},
		{"slice of a global", globalTable[:], true},
		{"nil slice", []int(nil), true},
		{"empty slice", []int{}, true},
		{"map", map[int]int{}, false},
		{"function", func() {}, true},
		{"closure", func() { *n++ }, false},
		{"channel", make(chan int), false},
		{"unsafe.Pointer", unsafex.PtrOf(n), false},
		{"time", time.Now(), true},
		{"number", 5, true},
		{"many strings", [9]string{8: heapText}, true},
		{"many strings in an arena", [9]string{8: inArena}, onHeap},
		{"struct", struct{ s []int }{[]int{1}}, false},
		{"big.Int in a foreign field", *big.NewInt(1), false},
		{"scalar in an interface", [1]any{5}, true},
		{"large scalar in an interface", [1]any{int64(1) << 40}, true},
		{"text in an interface", [1]any{heapText}, true},
		{"text of an arena in an interface", [1]any{inArena}, onHeap},
		{"pointer in an interface", [1]any{n}, false},
		{"nil pointer in an interface", [1]any{(*int)(nil)}, true},
		{"nothing in an interface", [1]any{struct{}{}}, true},
		{"sentinel in an interface", [1]error{io.EOF}, true},
		{"type in an interface", [1]any{reflect.TypeFor[int]()}, true},
		{"slice in an interface", [1]any{[]int{1}}, false},
		{"box with a pointer", [1]any{[2]*int{n}}, false},
	} {
		v := reflect.New(foreign(reflect.TypeOf(c.value), reflect.TypeFor[int]()))
		reflect.NewAt(reflect.TypeOf(c.value), v.UnsafePointer()).Elem().Set(reflect.ValueOf(c.value))
		for _, x := range []any{v.Interface(), v.Elem().Interface(), []any{v.Interface()}} {
			_, err := tryHeap(x)
			if c.held != (err == nil) {
				t.Errorf("%s: %v", c.name, err)
			}
			if err != nil && (!errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), ".x0")) {
				t.Errorf("%s: %v", c.name, err)
			}
			if _, err := tryDeepClone(a, x); c.held != (err == nil) {
				t.Errorf("%s: DeepClone: %v", c.name, err)
			}
		}
	}
}

// TestDeepCloneForeignFieldOfBlock has a string in a block of offheap, in an unexported field of a type of
// another module. In each mode it is refused, because a free of the block would change the copy.
func TestDeepCloneForeignFieldOfBlock(t *testing.T) {
	var purposes []*offheap.Purpose
	for name, o := range map[string]offheap.PurposeOptions{"plain": {}, "wiped": {Wipe: true}} {
		purposes = append(purposes, offheap.NewPurposeWith(name+" texts", o))
	}
	for _, p := range purposes {
		a := NewOffHeap(Options{Purpose: p})
		b := p.Alloc(4)
		for where, text := range map[string]string{"block": unsafex.StringOf(unsafex.DataOf(b), 4), "arena": String(a, "text")} {
			v := reflect.New(foreign(reflect.TypeFor[string](), reflect.TypeFor[int]()))
			*unsafex.As[string](v.UnsafePointer()) = text
			if _, err := tryHeap(v.Interface()); !errors.Is(err, ErrUncloneable) {
				t.Errorf("%s, %s: %v", p.Name(), where, err)
			}
		}
		offheap.Free(b)
		a.Free()
	}
}

// TestDeepCloneHolds compares the values that the copy holds with the original's.
func TestDeepCloneHolds(t *testing.T) {
	text := strings.Repeat("h", 3)
	typ := foreign(reflect.TypeFor[string](), reflect.TypeFor[*int](), reflect.TypeFor[any](), reflect.TypeFor[[]int](), reflect.TypeFor[[6]string]())
	v := reflect.New(typ)
	type same struct {
		text   string
		number *int
		any    any
		table  []int
		many   [6]string
	}
	s := unsafex.As[same](v.UnsafePointer())
	*s = same{text, &globalNumber, text, globalTable[1:], [6]string{5: text}}
	cloners(t, func(t *testing.T, clone func(any, ...CloneOptions) any) {
		c := unsafex.As[same](reflect.ValueOf(clone(v.Interface())).UnsafePointer())
		if c == s || !reflect.DeepEqual(c, s) || unsafex.StringData(c.text) != unsafex.StringData(text) || c.number != s.number || &c.table[0] != &s.table[0] {
			t.Errorf("%+v became %+v", s, c)
		}
	})
}

// TestDeepCloneTrusts has types of another package with unexported pointers: each node leads to its
// tree.
func TestDeepCloneTrusts(t *testing.T) {
	trees, err := parse.Parse("name", "{{if .x}}text {{.y | print}}{{end}}", "", "", map[string]any{"print": fmt.Sprint})
	if err != nil {
		t.Fatal(err)
	}
	tree := trees["name"]
	mustRefuse(t, tree, "from an unexported field of parse.ListNode, a type of another module: a part of the value cannot be copied; name parse.ListNode in CloneOptions.Share, or in UnsafeTrust if")
	mustRefuse(t, tree.Root, "from an unexported field of parse.ListNode", trust[ast.File]())
	cloners(t, func(t *testing.T, clone func(*parse.ListNode, ...CloneOptions) *parse.ListNode) {
		for _, o := range []CloneOptions{trust[*parse.Tree](), trust[parse.ListNode](), {UnsafeTrust: []reflect.Type{nil, reflect.TypeFor[parse.NodeType]()}}} {
			if c := clone(tree.Root, o); c == tree.Root || c.Nodes[0] == tree.Root.Nodes[0] || c.String() != tree.Root.String() {
				t.Errorf("the tree became %v", c)
			}
		}
	})
}

// A declared type of another module says that its fields are what they seem. The test makes it
// foreign by its callers: see moduleOf.
type declaring struct{ s []int }

func (declaring) UnsafeCloneFields() (_ declaring) { panic("called") }

type declaringByPointer struct{ s []int }

func (*declaringByPointer) UnsafeCloneFields() (_ declaringByPointer) { panic("called") }

type inheriting struct {
	declaring
	s []int
}

type misdeclaring struct{ s []int }

func (misdeclaring) UnsafeCloneFields() {}

func TestDeclaresClone(t *testing.T) {
	for v, want := range map[any]bool{
		new(declaring): true, new(declaringByPointer): true, new(inheriting): false, new(misdeclaring): false, new(member): false, new(big.Int): false,
	} {
		if got := graph.DeclaresClone(reflect.TypeOf(v).Elem()); got != want {
			t.Errorf("%T: %v, want %v", v, got, want)
		}
	}
	strangers := &plans{module: "example.com/stranger"}
	defer func(f func() string) { mainModule = f }(mainModule)
	mainModule = func() string { return "example.com/stranger" }
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[declaring](): true, reflect.TypeFor[inheriting](): false, reflect.TypeFor[Stats](): true, reflect.TypeFor[big.Int](): true,
	} {
		if got := strangers.opens(typ); got != want {
			t.Errorf("%s is opened: %v, want %v", typ, got, want)
		}
	}
}

// TestHome: a type of another module is not the caller's own.
func TestHome(t *testing.T) {
	if (&plans{}).home("time") || (&plans{module: "example.com/a"}).home("example.com/b") {
		t.Error("a type of another module is the caller's own")
	}
}

// TestTrustNamesPackages: a type of no package, such as a slice, vouches for nothing, and says so.
func TestTrustNamesPackages(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[[]url.URL](), reflect.TypeFor[int](), reflect.TypeFor[map[string]*url.URL]()} {
		wantPanic(t, typ.String(), func() { Heap(new(int), CloneOptions{UnsafeTrust: []reflect.Type{typ}}) }, "UnsafeTrust names "+typ.String())
	}
}

// TestCallerPlans has calls in places where the compiler may inline.
func TestCallerPlans(t *testing.T) {
	const own = "github.com/freehold-go/freehold"
	for name, s := range map[string]*plans{"direct": callerPlans(0), "in a literal": func() *plans { return callerPlans(0) }(), "one up": oneUp()} {
		if s.module != own || s != plansOfModule(own) {
			t.Errorf("%s: module %q", name, s.module)
		}
	}
	var seen string
	slices.SortFunc([]int{2, 1}, func(int, int) int { seen = callerPlans(1).module; return 0 })
	if seen != "" {
		t.Errorf("package slices is of module %q", seen)
	}
}

func oneUp() *plans { return callerPlans(1) }

// TestGroundOffHeap: memory off the heap is no package-level variable to GC-7.
func TestGroundOffHeap(t *testing.T) {
	v := offheap.MakeSlice[int](8, 8)
	defer offheap.FreeSlice(v)
	if g := new(graph.Grounds).Of(unsafex.DataOf(v)); g == graph.InGlobals {
		t.Errorf("off the heap: %d", g)
	}
}
