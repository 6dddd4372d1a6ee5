// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestTry(t *testing.T) {
	wrong := errors.New("wrong")
	for _, c := range []struct {
		f        func() error
		want     string
		panicked bool
	}{
		{func() error { return nil }, "", false},
		{func() error { return wrong }, "wrong", false},
		{func() error { panic(wrong) }, "wrong", true},
		{func() error { panic("words") }, "words", true},
	} {
		err, panicked := Try(c.f)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || panicked != c.panicked {
			t.Errorf("%q, %t; want %q, %t", got, panicked, c.want, c.panicked)
		}
	}
}

func TestStream(t *testing.T) {
	s := Stream{1, 2}
	if got := []byte{s.Byte(), s.Byte(), s.Byte()}; !slices.Equal(got, []byte{1, 2, 0}) {
		t.Errorf("read %v", got)
	}
	if !slices.Equal(Noise(7, 100), Noise(7, 100)) || slices.Equal(Noise(7, 100), Noise(8, 100)) {
		t.Error("noise is not what its seed says")
	}
}

func TestRecord(t *testing.T) {
	cleaned := 0
	for want, f := range map[string]func(t testing.TB){
		"":                func(t testing.TB) { t.Cleanup(func() { cleaned++ }) },
		"one 1\ntwo":      func(t testing.TB) { t.Errorf("one %d", 1); t.Error("two") },
		"fatal":           func(t testing.TB) { t.Fatal("fatal"); panic("not reached") },
		"FailNow":         func(t testing.TB) { t.FailNow() },
		"panic: no\nlate": func(t testing.TB) { t.Cleanup(func() { t.Error("late") }); panic("no") },
		"ends":            func(t testing.TB) { t.Error("ends"); runtime.Goexit() },
	} {
		if got := Record(f); got != want {
			t.Errorf("%q, want %q", strings.ReplaceAll(got, "\n", "; "), want)
		}
	}
	if cleaned != 1 {
		t.Errorf("%d cleanups ran, want 1", cleaned)
	}
}
