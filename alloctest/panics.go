// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// MustPanic calls f, and makes the test fail unless f panics with a message that contains each of
// the words, in upper or lower case. It returns the message, "" if there was no panic. It is for
// contracts that no interface can express, such as the refusal of a type with Go pointers.
func MustPanic(t testing.TB, f func(), words ...string) string {
	t.Helper()
	err, panicked := trial.Try(func() error { f(); return nil })
	if !panicked || err == nil {
		t.Errorf("alloctest: no panic, want one with %q", words)
		return ""
	}
	message := err.Error()
	for _, w := range words {
		if !strings.Contains(strings.ToLower(message), strings.ToLower(w)) {
			t.Errorf("alloctest: panic with %q, want %q in it", message, w)
		}
	}
	return message
}

// checkBugPanic checks the panic for an argument that is out of its range. Its message must name
// the value, or describe the mistake in words, as that of make does.
func checkBugPanic(t testing.TB, what string, err error, value int) {
	t.Helper()
	message := strings.ToLower(err.Error())
	for _, w := range []string{strconv.Itoa(value), "negative", "len out of range", "power of two"} {
		if strings.Contains(message, w) {
			return
		}
	}
	t.Errorf("alloctest: %s panicked with %q, want a message that names the value", what, err)
}

// A kind is a way to misuse Free.
type kind int

const (
	double kind = iota
	interior
	foreign
)

// kindWords are the words that name each kind in the message of a panic.
var kindWords = [...][]string{
	double:   {"double free", "already"},
	interior: {"interior", "inside"},
	foreign:  {"foreign", "not allocated"},
}

// kindsIn returns the kinds that a message names.
func kindsIn(message string) (kinds []kind) {
	message = strings.ToLower(message)
	for k, words := range kindWords {
		for _, w := range words {
			if strings.Contains(message, w) {
				kinds = append(kinds, kind(k))
				break
			}
		}
	}
	return kinds
}

// mustRefuse calls f, which misuses the allocator, and makes the test fail unless it panics with a
// message that names one of the kinds and no other. It reports whether there was a panic.
func mustRefuse(t testing.TB, what string, f func(), want ...kind) bool {
	t.Helper()
	err, panicked := trial.Try(func() error { f(); return nil })
	if !panicked || err == nil {
		t.Errorf("alloctest: %s: no panic, want one that says %q", what, kindWords[want[0]])
		return false
	}
	got := kindsIn(err.Error())
	if len(got) == 1 {
		for _, k := range want {
			if k == got[0] {
				return true
			}
		}
	}
	t.Errorf("alloctest: %s: panic with %q, want one that says %q and nothing else",
		what, err, kindWords[want[0]])
	return true
}
