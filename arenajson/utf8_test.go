// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// TestValid compares valid with utf8.Valid for characters of all planes, for sequences of four bytes from all edges, and for
// texts of runs with random damage.
func TestValid(t *testing.T) {
	check := func(b []byte) {
		t.Helper()
		if valid(b) != utf8.Valid(b) {
			t.Fatalf("%x: %v", b, valid(b))
		}
	}
	edges := []byte{0, 'a', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff}
	for _, before := range []string{"", "a", "é", "語", "語語", "éé語", "😀"} {
		for _, a := range edges {
			for _, b := range edges {
				for _, c := range edges {
					for _, d := range edges {
						check(append([]byte(before), a, b, c, d, 'a', 'b', 'c', 'd'))
					}
				}
			}
		}
	}
	for r := rune(0); r <= utf8.MaxRune; r += 7 {
		check([]byte(string([]rune{r, r, r, r, 'x', r, 0xe9, r})))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	runs := []string{"plain text", "été", "слово", "日本語", "ไทย", "한국어", "😀", "\u07ff", "\u0800", "\ud7ff", "\ue000"}
	for range 20000 {
		var text []byte
		for range 1 + rng.IntN(6) {
			text = append(text, runs[rng.IntN(len(runs))]...)
		}
		check(text)
		text[rng.IntN(len(text))] ^= 1 << rng.IntN(8)
		check(text)
		check(text[:rng.IntN(len(text)+1)])
	}
}
