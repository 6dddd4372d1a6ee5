package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// sizeText writes n the way people say it: "32 B", "2M".
func (w *Workload) sizeText(n int) string {
	if w.Size == "bytes" {
		return exactSize(n)
	}
	return countText(n) + " " + w.Size
}

// countText writes a number of things: "2M", "1.5k", "1234".
func countText(n int) string {
	switch {
	case n >= 1_000_000 && n%100_000 == 0:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
	case n >= 1000 && n%100 == 0:
		return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) + "k"
	}
	return strconv.Itoa(n)
}

func exactSize(n int) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	i := 0
	for n >= 1024 && n%1024 == 0 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return fmt.Sprintf("%d %s", n, units[i])
}

// ratioText writes a ratio with its sign, or a dash where there is none.
func ratioText(r *float64) string {
	if r == nil {
		return "–"
	}
	if *r > 0 && *r < 0.01 {
		return strconv.FormatFloat(*r, 'f', 4, 64) + " ×"
	}
	return terminal.Significant(*r) + " ×"
}

// spreadText is empty where one pass has nothing to be compared with.
func spreadText(r *Row) string {
	if r.Passes < 2 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", r.Spread*100)
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
