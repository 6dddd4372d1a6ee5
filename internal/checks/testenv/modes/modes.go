// SPDX-License-Identifier: Apache-2.0

// Package modes runs tests in debug modes.
package modes

import (
	"strconv"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/debugmode"
)

// InChild is testenv.InChild with words for the variable FREEHOLD. Beside its own it takes
// guardmaps=N and guardbytes=SIZE, with K, M or G for powers of 1024: the budgets of guarded pages in
// the child.
func InChild(t *testing.T, words string, env ...string) bool {
	t.Helper()
	words, maps, bytes := budgets(words)
	if !testenv.InChild(t, append(env, "FREEHOLD="+words)...) {
		return false
	}
	debugmode.Budgets.Maps, debugmode.Budgets.Bytes = maps, bytes
	if debugmode.On() && maps|int(bytes) != 0 {
		t.Fatal("the modes are in use already, with other budgets")
	}
	return true
}

// budgets takes the words that FREEHOLD does not know out of the others.
func budgets(words string) (rest string, maps int, bytes int64) {
	var list []string
	for word := range strings.SplitSeq(words, ",") {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "guardmaps":
			maps = int(number(value))
		case "guardbytes":
			bytes = number(value)
		default:
			list = append(list, word)
		}
	}
	return strings.Join(list, ","), maps, bytes
}

func number(text string) int64 {
	shift := 0
	for i, unit := range []string{"K", "M", "G"} {
		if rest, found := strings.CutSuffix(text, unit); found {
			text, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n << shift
}
