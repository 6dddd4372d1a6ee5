// SPDX-License-Identifier: Apache-2.0

package number_test

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	. "github.com/freehold-go/freehold/sink/internal/number"
)

// numbers are all kinds of numbers that JSON has: 60 of them.
var numbers = []string{
	"0", "-0", "0.0", "-0.0", "0e5", "0e-5", "0E+1000000000", "1", "-1", "7.0", "10.50", "1.5", "-1.5", "0.1", "0.10000000000000001", "0.30000000000000004",
	"1e0", "1E3", "1e+3", "1000e-3", "1001e-3", "12.345e2", "-12.345e3", "0.000001e6", "1e-3", "-1e-9", "0.9999999999999999999", "-0.0000000001",
	"2147483647", "2147483648", "-2147483649", "16777217", "9007199254740992", "9007199254740993", "-9007199254740993", "9007199254740993.5", "9.007199254740993e15",
	"9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "9.223372036854775807e18", "18446744073709551615", "1e19", "123456789012345678901234567890",
	"1618540600943", "1618540600943.0", "1.618540600943E12", "1.618540600943E9", "1618540600.9434999999", "-1618540600943.5",
	"3.4e38", "3.5e38", "1.7976931348623157e308", "1.8e308", "-1e400", "5e-324", "3e-324", "1e1000000000", "-1e-1000000000",
}

func init() {
	if sorted := slices.Sorted(slices.Values(numbers)); len(sorted) != 60 || len(slices.Compact(sorted)) != 60 {
		panic("the table has not 60 numbers")
	}
}

// shorter makes exponents of a thousand million ones of five thousand, which are beyond all that is held, too.
var shorter = strings.NewReplacer("e1000000000", "e5000", "e-1000000000", "e-5000", "E+1000000000", "E+5000")

// rat is a number by math/big.
func rat(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(shorter.Replace(s))
	if !ok {
		panic(s)
	}
	return r
}

// integer is the number by math/big, and whether it is an integer between the limits of so many bits.
func integer(s string, bits uint) (int64, bool) {
	r := rat(s)
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n := r.Num().Int64()
	return n, n>>(bits-1) == 0 || n>>(bits-1) == -1
}

// floor is the number times a factor, rounded down, by math/big. It stays within int64.
func floor(s string, factor int64) int64 {
	r := new(big.Rat).Mul(rat(s), new(big.Rat).SetInt64(factor))
	n := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: down, because denominators are positive.
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// nearest is the nearest float of so many bits by math/big, and whether the number is in the range.
func nearest(s string, bits int) (float64, bool) {
	if bits == 32 {
		f, _ := rat(s).Float32()
		return float64(f), !math.IsInf(float64(f), 0)
	}
	f, _ := rat(s).Float64()
	return f, !math.IsInf(f, 0)
}

// digits is the number of digits of a number between the first and the last that is not zero.
func digits(s string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	return len(strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0"))
}

// kept reports by math/big whether a float64 that is printed with the digits of the number is the number.
func kept(s string) bool {
	f, ok := nearest(s, 64)
	n := digits(s)
	if !ok || n > 17 {
		return false
	}
	return n == 0 || rat(new(big.Float).SetFloat64(f).Text('e', n-1)).Cmp(rat(s)) == 0
}

// spellings are other texts of the same number.
func spellings(s string) []string {
	list := []string{s, "00" + s}
	if strings.HasPrefix(s, "-") {
		list[1] = "-00" + s[1:]
	}
	if !strings.ContainsAny(s, "eE") {
		list = append(list, s+"e0", s+"E-00")
		if !strings.Contains(s, ".") {
			list = append(list, s+"."+strings.Repeat("0", 300), s+strings.Repeat("0", 300)+"e-300")
		}
	}
	return list
}

func TestReader(t *testing.T) {
	for _, number := range numbers {
		for _, s := range spellings(number) {
			if !Quoted(s) {
				t.Errorf("%s is no number", s)
			}
			want, fits := integer(number, 64)
			if n, ok := Int(s); ok != fits || ok && n != want {
				t.Errorf("Int(%s) = %d %v, want %d %v", s, n, ok, want, fits)
			}
			for shift, factor := range map[int]int64{0: 1, 3: 1000} {
				if n, ok := Floor(s, shift); !ok || n != floor(number, factor) {
					t.Errorf("Floor(%s, %d) = %d %v, want %d", s, shift, n, ok, floor(number, factor))
				}
			}
			for _, bits := range []int{32, 64} {
				want, fits := nearest(number, bits)
				if f, ok := Float(s, bits); ok != fits || ok && f != want {
					t.Errorf("Float(%s, %d) = %v %v, want %v %v", s, bits, f, ok, want, fits)
				}
			}
			f, _ := nearest(number, 64)
			if got, ok := Kept(s); ok != kept(number) || ok && got != f {
				t.Errorf("Kept(%s) = %v %v, want %v %v", s, got, ok, f, kept(number))
			}
		}
	}
}

func TestNoNumbers(t *testing.T) {
	for _, s := range []string{"", "-", "+1", ".5", "5.", "-.5", "1.e3", "e3", "1e", "1e+", "1e1.5", "1..5", "1.5.0", "0x10", "1_000", " 1", "1 ", "nan", "Inf", "1f", "--1", "٣"} {
		_, isInt := Int(s)
		_, isTime := Floor(s, 3)
		_, isKept := Kept(s)
		if Quoted(s) || isInt || isTime || isKept {
			t.Errorf("%q is taken for a number", s)
		}
	}
}

// A long text costs what its length costs, and a long exponent nothing.
func TestLong(t *testing.T) {
	zeros := strings.Repeat("0", 1<<20)
	for s, want := range map[string]int64{"1" + zeros + "e-1048576": 1, "0." + zeros + "25e1048578": 25, "0e" + zeros + "9": 0, "-3." + zeros: -3, "7e" + zeros + "1": 70} {
		if n, ok := Int(s); !ok || n != want {
			t.Errorf("%s...: %d %v, want %d", s[:10], n, ok, want)
		}
	}
	for s, want := range map[string]float64{"-25" + zeros + "e-1048577": -2.5, "0." + zeros + "15e1048576": 0.15, "0e" + zeros + "9": 0, "1" + zeros + "1e-1048577": 1, "1." + zeros[:2000] + "1": 1, "1e-1" + zeros: 0} {
		for _, bits := range []int{32, 64} {
			if f, ok := Float(s, bits); !ok || f != want && f != float64(float32(want)) {
				t.Errorf("%s...: %v %v, want %v", s[:4], f, ok, want)
			}
		}
	}
	nines := strings.Repeat("9", 1<<20)
	for _, s := range []string{nines, "1e" + nines, "1e-" + nines, "0." + nines} {
		if n, ok := Int(s); ok {
			t.Errorf("%s... is the integer %d", s[:10], n)
		}
		if f, ok := Float(s, 64); ok == (s == nines || s == "1e"+nines) {
			t.Errorf("%s... is %v %v", s[:10], f, ok)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range numbers {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, exp, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(exp) > 4 || !Quoted(s) {
			return // math/big would expand a large exponent.
		}
		want, fits := integer(s, 64)
		if n, ok := Int(s); ok != fits || ok && n != want {
			t.Errorf("Int(%s) = %d %v, want %d %v", s, n, ok, want, fits)
		}
		if n, _ := Floor(s, 3); n != floor(s, 1000) {
			t.Errorf("Floor(%s, 3) = %d, want %d", s, n, floor(s, 1000))
		}
		if _, ok := Kept(s); ok != kept(s) {
			t.Errorf("Kept(%s) = %v, want %v", s, ok, kept(s))
		}
	})
}

func BenchmarkInt(b *testing.B) {
	for _, s := range []string{"7", "1618540600943", "9223372036854775807", "1.618540600943E12"} {
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				if _, ok := Int(s); !ok {
					b.Fatal(s)
				}
			}
		})
	}
}
