// SPDX-License-Identifier: Apache-2.0

package arena

import "testing"

// TestRound asks rounds how they ended.
func TestRound(t *testing.T) {
	var none *Arena
	if r := none.Round(); r != (Round{}) || r.Ended() != "" {
		t.Error("the round of a nil Arena ends")
	}
	for _, a := range []*Arena{NewArena(), NewShared(), NewWith(Options{NoReuse: true})} {
		want := func(r Round, how string) {
			t.Helper()
			if got := r.Ended(); got != how {
				t.Errorf("the round has ended by %q, want %q", got, how)
			}
		}
		first := a.Round()
		want(first, "")
		c := a.Checkpoint()
		second := a.Round()
		want(first, "")
		want(second, "")
		a.Rewind(c)
		third := a.Round()
		want(first, "")
		want(second, "rewound")
		want(third, "")
		a.Reset(Keep)
		fourth := a.Round()
		for _, r := range []Round{first, second, third} {
			want(r, "reset")
		}
		want(fourth, "")
		a.Free()
		want(fourth, "reset")
		if caught(func() { a.Round() }) == nil {
			t.Error("a freed arena has a round")
		}
	}
}
