// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"strconv"
	"strings"
)

// Budgets takes guardmaps=N and guardbytes=SIZE, with K, M or G for powers of 1024, out of words for
// the variable FREEHOLD. FREEHOLD does not know them. The caller sets debugmode.Budgets in the child.
func Budgets(words string) (rest string, maps int, bytes int64) {
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
