// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"testing"
)

// TestNilHandles: functions that are no fast path name the mistake of a call of a nil handle.
func TestNilHandles(t *testing.T) {
	var p *Purpose
	var l *Local
	for name, f := range map[string]func(){
		"Purpose.Name":     func() { _ = p.Name() },
		"Purpose.SetLimit": func() { p.SetLimit(1) },
		"Local.TryAlloc":   func() { _, _ = l.TryAlloc(1) },
		"Local.Close":      func() { l.Close() },
	} {
		v := caught(f)
		var m *MisuseError
		if err, _ := v.(error); !errors.As(err, &m) {
			t.Errorf("%s of nil: panic %v, want a MisuseError", name, v)
		}
	}
	for name, f := range map[string]func(){
		"Purpose.Alloc": func() { p.Alloc(1) },
		"Local.Alloc":   func() { l.Alloc(1) },
		"Local.Free":    func() { l.Free(nil) },
	} {
		if caught(f) == nil {
			t.Errorf("%s of nil: no panic", name)
		}
	}
}
