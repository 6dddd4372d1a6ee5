// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// sizeText writes n the way people say it: "32 B", "2M".
func (w *Workload) sizeText(n int) string {
	if w.Size == "bytes" {
		return terminal.ExactBytes(n)
	}
	return terminal.ExactCount(n) + " " + w.Size
}

// ratioText writes a ratio, or a dash where there is none.
func ratioText(r *float64) string {
	if r == nil {
		return "–"
	}
	return terminal.Ratio(*r)
}

// spreadText is a dash if there was only one pass.
func spreadText(r *Row) string {
	if r.Passes < 2 {
		return "–"
	}
	return terminal.Percent(r.Spread)
}

// barText draws value as a part of most in eighths of a character.
func barText(value, most float64, width int) string {
	if most <= 0 || value <= 0 {
		return ""
	}
	eighths := int(math.Round(value / most * float64(width*8)))
	eighths = max(1, min(eighths, width*8))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}
