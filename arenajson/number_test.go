// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"fmt"
	"math"
	bignum "math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestPowers computes each power of ten with package math/big.
func TestPowers(t *testing.T) {
	needPowers()
	for q := minPower; q <= maxPower; q++ {
		n := bignum.NewInt(1)
		if q >= 0 {
			n.Exp(bignum.NewInt(10), bignum.NewInt(int64(q)), nil)
		} else {
			n.Div(n.Lsh(n, 2000), new(bignum.Int).Exp(bignum.NewInt(10), bignum.NewInt(int64(-q)), nil))
		}
		if up := 128 - n.BitLen(); up > 0 {
			n.Lsh(n, uint(up))
		} else {
			n.Rsh(n, uint(-up))
		}
		lo := new(bignum.Int).And(n, new(bignum.Int).SetUint64(math.MaxUint64))
		want := power{n.Rsh(n, 64).Uint64(), lo.Uint64()}
		if got := powers[q-minPower]; got != want {
			t.Errorf("10^%d: %x, want %x", q, got, want)
		}
	}
}

// checkFloat reads a number, and compares with package strconv bit for bit.
func checkFloat(t *testing.T, s string) {
	t.Helper()
	for _, doc := range []string{s, s + strings.Repeat(" ", 9)} { // With and without room for whole words.
		d := scanner{data: []byte(doc)}
		got, next, ok := d.float(0)
		want, err := strconv.ParseFloat(s, 64)
		if next != len(s) || ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: %v to %d, %t; want %v to %d, %v", doc, got, next, ok, want, len(s), err)
		}
	}
}

// TestFloats reads numbers of all lengths and exponents, and those next to the middle of two floats.
func TestFloats(t *testing.T) {
	needPowers()
	for _, s := range []string{"0", "-0", "0.0", "1", "0.1", "123456789012345678901234567890", "9007199254740993", "9007199254740992.5", "5e-324", "2.4703282292062327208e-324", "2.4703282292062328e-324",
		"2.2250738585072014e-308", "2.2250738585072011e-308", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e309", "1e-400", "0e999999999", "1e99999999999999999999", "-1e-99999999999999999999",
		"0.00000000000000000000000000000000000000000000000001", "6.631236846766476e-316", "89255.0e-22", "104110013277974872254e-225", "8.5e15", "1.00000000000000011102230246251565", "1e22", "1e23", "123456789e22", "0.000001", "12345678.12345678"} {
		checkFloat(t, s)
	}
	rng, count := rand.New(rand.NewPCG(1, 2)), 20000
	if testing.Short() {
		count = 2000
	}
	for range count {
		f := math.Float64frombits(rng.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		checkFloat(t, strconv.FormatFloat(f, 'g', -1, 64))
		checkFloat(t, strconv.FormatFloat(f, 'e', rng.IntN(25), 64))
		if m := math.Abs(f); m > 1e-20 && m < 1e20 {
			checkFloat(t, strconv.FormatFloat(f, 'f', rng.IntN(20), 64))
		}
		// The middle between two floats, exactly, and a little beside it.
		mid := new(bignum.Float).SetPrec(2000).Add(bignum.NewFloat(f), bignum.NewFloat(math.Nextafter(f, 0)))
		checkFloat(t, mid.Quo(mid, bignum.NewFloat(2)).Text('e', 16+rng.IntN(6)))
		checkFloat(t, fmt.Sprintf("%d.%de%d", rng.IntN(10), rng.Uint64()>>rng.IntN(64), rng.IntN(700)-350))
	}
}

// TestFloat32 does so for floats of 32 bits, which must not be rounded twice.
func TestFloat32(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	check := func(s string) {
		same(t, []byte(s), func() any { return new(float32) })
	}
	for _, s := range []string{"1.00000017881393421514957253748434595763683319091796875001", "16777217", "16777216", "3.4028235e38", "3.4028236e38", "1e-45", "7e-46", "-0", "0.1"} {
		check(s)
	}
	for range 1000 {
		f := math.Float32frombits(rng.Uint32())
		if g := float64(f); !math.IsNaN(g) && !math.IsInf(g, 0) {
			check(strconv.FormatFloat(g, 'g', 1+rng.IntN(20), 64))
		}
	}
}

// TestNotNumbers are texts that begin like numbers.
func TestNotNumbers(t *testing.T) {
	needPowers()
	for _, s := range []string{"", "-", "+1", "01", "-01", ".5", "1.", "1.e5", "1e", "1e+", "1e-", "e5", "--1", "a", "-a", "0x1", "00", "1._", "Infinity", "NaN"} {
		for _, doc := range []string{s, s + "          "} {
			d := scanner{data: []byte(doc)}
			if _, next, _ := d.float(0); next == len(s) && s != "" {
				t.Errorf("float of %q ends at %d", doc, next)
			}
			d = scanner{data: []byte(doc)}
			if next := d.skipNumber(0); next == len(s) && s != "" {
				t.Errorf("skipNumber of %q ends at %d", doc, next)
			}
		}
	}
}
