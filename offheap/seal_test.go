// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// copyOf copies a handle in a way that go vet does not see.
func copyOf[T any](p *T) *T {
	c := new(T)
	overwrite(c, p)
	return c
}

// overwrite is *to = *from, which go vet does not see.
func overwrite[T any](to, from *T) {
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
}

// TestVetSeesCopies: each handle has the field that the copylocks analyzer of vet looks for, whose
// pointer has Lock and Unlock.
func TestVetSeesCopies(t *testing.T) {
	for _, h := range []reflect.Type{reflect.TypeFor[Local](), reflect.TypeFor[Purpose]()} {
		if f := h.Field(0); f.Type != reflect.TypeFor[noCopy]() || f.Type.Size() != 0 {
			t.Errorf("the first field of %s is %s %s, want a noCopy", h, f.Name, f.Type)
		}
	}
}

// purposeCalls are all calls of a Purpose.
func purposeCalls(p *Purpose) map[string]func() {
	return map[string]func(){
		"Alloc":          func() { p.Alloc(100) },
		"Alloc of 0":     func() { p.Alloc(0) },
		"TryAlloc":       func() { _, _ = p.TryAlloc(100) },
		"AllocUninit":    func() { p.AllocUninit(100) },
		"TryAllocUninit": func() { _, _ = p.TryAllocUninit(100) },
		"SetLimit":       func() { p.SetLimit(1) },
		"Name":           func() { _ = p.Name() },
		"For":            func() { For[point](p).New() },
		"For of bools":   func() { For[bool](p).MakeSlice(1, 1) },
	}
}

// TestCopiedPurpose calls everything of a copy, while the original allocates in other goroutines. A
// copy shares nothing with it that a call changes.
func TestCopiedPurpose(t *testing.T) {
	quiet(t)
	p := NewPurpose("copied")
	c := copyOf(p)
	var others sync.WaitGroup
	others.Go(func() {
		For[bool](p).Delete(For[bool](p).New())
		For[flags](p).Delete(For[flags](p).New())
	})
	for what, f := range purposeCalls(c) {
		m := wantMisuse(t, what, "use of a copied Purpose", f)
		if !strings.Contains(m.Error(), "the pointer that NewPurpose returned") {
			t.Errorf("%s: %v", what, m)
		}
	}
	others.Wait()
	if a := account(t, "copied"); a.InUse != 0 || a.Limit != 0 {
		t.Errorf("a call of a copy changed the account: %+v", a)
	}
}

// TestZeroPurpose: a zero Purpose, as json makes one, panics and says where Purposes come from.
func TestZeroPurpose(t *testing.T) {
	var config struct{ Purpose *Purpose }
	if err := json.Unmarshal([]byte(`{"Purpose":{}}`), &config); err != nil {
		t.Fatal(err)
	}
	for what, f := range purposeCalls(config.Purpose) {
		wantMisuse(t, what, "use of a Purpose that NewPurpose did not make", f)
	}
}

// TestPurposeOverwritten writes one Purpose over another while both have blocks. The counts and
// limits of both stay right, and an older copy that is written back does not change them.
func TestPurposeOverwritten(t *testing.T) {
	quiet(t)
	p, q := NewPurpose("overwritten"), NewPurpose("written over it")
	p.SetLimit(8 << 20)
	defer p.SetLimit(0)
	saved, typed := copyOf(p), For[flags](p)
	b, d, v := p.Alloc(4096), q.Alloc(8192), typed.New()
	want := func(when, name string, use, limit int64) {
		t.Helper()
		if a := account(t, name); a.InUse < use || a.InUse > use+100 || a.Limit != limit {
			t.Errorf("%s: %+v, want %d bytes in use, limit %d", when, a, use, limit)
		}
	}
	overwrite(p, q)
	want("overwritten", "overwritten", 4096, 8<<20)
	want("overwritten", "written over it", 8192, 0)
	for what, f := range purposeCalls(p) {
		wantMisuse(t, what, "use of a copied Purpose", f)
	}
	wantMisuse(t, "NewPurposeWith", "use of a copied Purpose", func() { NewPurposeWith("overwritten", PurposeOptions{}) })
	typed.Delete(typed.New()) // A Typed has its account.
	Free(b)
	want("freed", "overwritten", 0, 8<<20)
	overwrite(p, saved)
	b = p.Alloc(1024)
	want("restored", "overwritten", 1024, 8<<20)
	Free(b)
	Free(d)
	typed.Delete(v)
	if err := Check(); err != nil {
		t.Error(err)
	}
}
