// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gnu skips the test on systems without GNU sort.
func gnu(t *testing.T) {
	t.Helper()
	out, err := exec.Command("sort", "--version").Output()
	if err != nil || !bytes.Contains(out, []byte("GNU coreutils")) {
		t.Skipf("no GNU sort to compare with: %v", err)
	}
}

// A result is what a command wrote, and its exit status.
type result struct {
	stdout, stderr string
	status         int
}

func runGNU(t *testing.T, dir string, args []string, stdin []byte) result {
	t.Helper()
	cmd := exec.Command("sort", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// runOurs runs the command in this process, in the folder dir.
func runOurs(t *testing.T, dir string, args []string, stdin []byte) result {
	t.Helper()
	if dir != "" {
		t.Chdir(dir)
	}
	var out, errs bytes.Buffer
	status := Main(args, "v0", bytes.NewReader(stdin), &out, &errs)
	return result{out.String(), errs.String(), status}
}

// generator makes command lines and inputs.
type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

// chance is true once in n times.
func (g generator) chance(n int) bool { return g.IntN(n) == 0 }

// letters returns ordering options, most of them compatible.
func (g generator) letters() (s string) {
	if g.chance(3) {
		s += "b"
	}
	if g.chance(4) {
		s += "r"
	}
	switch g.IntN(12) {
	case 0, 1:
		s += "n"
	case 2:
		s += "h"
	case 3:
		s += "M"
	case 4:
		s += "d"
	case 5:
		s += "i"
	case 6:
		s += "di"
	}
	if g.chance(4) {
		s += "f"
	}
	if g.chance(60) {
		s += g.one("n", "h", "M", "d", "i")
	}
	return s
}

// position returns a field and perhaps a character.
func (g generator) position(least int) string {
	s := fmt.Sprint(1 + g.IntN(4))
	if g.chance(3) {
		s += fmt.Sprintf(".%d", least+g.IntN(5))
	}
	return s
}

func (g generator) key() string {
	if g.chance(12) {
		s := fmt.Sprintf("+%d.%d%s", g.IntN(3), g.IntN(3), g.letters())
		return s
	}
	s := g.position(1) + g.letters()
	if !g.chance(3) {
		s += "," + g.position(0) + g.letters()
	}
	return g.one("-k", "--key=") + s
}

// args returns options of the order.
func (g generator) args() (args []string) {
	if l := g.letters(); l != "" && g.chance(2) {
		args = append(args, "-"+l)
	}
	for range g.IntN(4) {
		args = append(args, g.key())
	}
	if g.chance(3) {
		args = append(args, "-t"+g.one(",", ":", "a", `\0`, "\t", " "))
	}
	for _, o := range []string{"-s", "-u", "-z", "--parallel=1", "--parallel=3"} {
		if g.chance(4) {
			args = append(args, o)
		}
	}
	g.Shuffle(len(args), func(i, j int) { args[i], args[j] = args[j], args[i] })
	return args
}

// word returns what stands in a field.
func (g generator) word() string {
	switch g.IntN(9) {
	case 0:
		return ""
	case 1: // a number
		s := g.one("", "", "-", "--", " -", "+") + g.one("", "0", "00", "1", "12", "120", "9", "99999999999999999999", "100000000000000000000")
		if g.chance(2) {
			s += "." + g.one("", "0", "5", "50", "05", "0005", "123456789012345678901", ".1")
		}
		return s + g.one("", "", "", "K", "k", "M", "m", "G", "T", "Ki", "x", "e3", " K")
	case 2:
		return g.one("jan", "JAN", "Feb", "FEBruary", "mAr", "ma", "dec", " oct", "NaN", "n f", "sept")
	case 3: // any bytes
		b := make([]byte, g.IntN(4))
		for i := range b {
			b[i] = byte(g.one("\x00", "\x01", "\x02", "\xff", "\xfe", "\x7f", "\x80", "\t")[0])
		}
		return string(b)
	case 4:
		return fmt.Sprint(g.IntN(3000) - 1000)
	}
	b := make([]byte, g.IntN(5))
	for i := range b {
		b[i] = "aAbBzZ-_.,:019 "[g.IntN(15)]
	}
	return string(b)
}

// input returns lines that end with eol, the last perhaps without.
func (g generator) input(eol string) []byte {
	var b bytes.Buffer
	for range g.IntN(25) {
		for range g.IntN(5) {
			b.WriteString(g.word() + g.one(" ", " ", "  ", "\t", ",", ":", "a", "\x00", "\n"))
		}
		b.WriteString(g.word())
		b.WriteString(eol)
	}
	if b.Len() > 0 && g.chance(3) {
		b.Truncate(b.Len() - 1)
	}
	return b.Bytes()
}

func eolOf(args []string) string {
	if slices.Contains(args, "-z") {
		return "\x00"
	}
	return "\n"
}

// TestLikeGNU compares the output and the exit status with GNU sort's, for random options and
// inputs: of a sort, a merge of sorted and of unsorted files, and a check.
func TestLikeGNU(t *testing.T) {
	gnu(t)
	cases := 1000
	if testing.Short() {
		cases = 200
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for seed := range uint64(cases) {
		g := generator{rand.New(rand.NewPCG(seed, 44))}
		args := g.args()
		in := g.input(eolOf(args))
		switch seed % 6 {
		case 0:
			args = append(args, g.one("-c", "-C", "--check=quiet", "--check=diag"))
			if g.chance(2) {
				in = []byte(runGNU(t, dir, args[:len(args)-1], in).stdout)
			}
		case 1:
			args = append(args, "-m")
			fallthrough
		case 2:
			for i := range 1 + g.IntN(4) {
				name := fmt.Sprintf("in%d", i)
				content := g.input(eolOf(args))
				if slices.Contains(args, "-m") && !g.chance(4) {
					content = []byte(runGNU(t, dir, slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-m" || strings.HasPrefix(a, "in") }), content).stdout)
				}
				if err := os.WriteFile(name, content, 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, name)
			}
		}
		want, got := runGNU(t, dir, args, in), runOurs(t, "", args, in)
		if got.stdout != want.stdout || got.status != want.status || want.status == 1 && got.stderr != want.stderr {
			t.Fatalf("seed %d: sort %q of %q\ngot  %d %q %q\nwant %d %q %q", seed, args, in, got.status, got.stdout, got.stderr, want.status, want.stdout, want.stderr)
		}
	}
}

// TestLikeGNUOnDisk compares the output for random options and inputs that do not fit in memory.
func TestLikeGNUOnDisk(t *testing.T) {
	gnu(t)
	dir := t.TempDir()
	for seed := range uint64(8) {
		g := generator{rand.New(rand.NewPCG(seed, 45))}
		args := g.args()
		var in []byte
		for len(in) < 1_500_000 {
			if in = append(in, g.input(eolOf(args))...); len(in) > 0 && in[len(in)-1] != eolOf(args)[0] {
				in = append(in, eolOf(args)...)
			}
		}
		want, got := runGNU(t, dir, args, in), runOurs(t, "", append(args, "-S1M"), in)
		if got.stdout != want.stdout || got.status != want.status {
			t.Errorf("seed %d: sort %q: %d, want %d: %s", seed, args, got.status, want.status, got.stderr)
			reportDifference(t, got.stdout, want.stdout)
		}
	}
}

// ownMessages are command lines whose messages differ. An abbreviation stands for one more option,
// unusual characters are not quoted, and older versions said stdin.
var ownMessages = []string{"--c a", `-t \\ a`, "--files0-from=-", "--files0-from=list-"}

// TestLikeGNUCommandLines compares output, messages and exit status for command lines that are wrong
// or unusual.
func TestLikeGNUCommandLines(t *testing.T) {
	gnu(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"a": "b\na\n", "b": "c\n", "list": "a\x00b", "list-": "-\x00", "+1": "x\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, line := range []string{
		"a", "a b", "- a", "a -", "-- a", "-r -- a -", "a -r", "-ra", "-rnsa", "-k", "--key", "-k 1,1 a", "-k1 a", "--key=2 a", "--key 1 a", "-kx a", "-k1x a", "-k0 a",
		"-k1.0 a", "-k1,0 a", "-k1,x a", "-k1. a", "-k1,1. a", "-k1,1.0 a", "-k99999999999999999999999 a", "-k1,99999999999999999999999 a", "-k1b,1br a", "-k1nM a", "-nM a", "-hn a", "-di a", "-dn a", "-iM a", "-k1dfgiMnR a",
		"--reverse=1 a", "--rev a", "--re a", "--r a", "--nope a", "--c a", "-Z a", "-5 a", "--check a", "--check=q a", "--check=silent a", "-c -C a", "-c a b", "-C a b", "-c -o x a", "-C -o x a", "-c nope", "-c",
		"--sort=num a", "--sort=month a", "--sort=human-numeric a", "-t a", "-t xx a", "-t x -t y a", "-tx -tx a", `-t \0 a`, `-t \\ a`,
		"-S", "-S x a", "-S 1x a", "-S 1xx a", "-S 1 a", "-S 10b a", "-S 1K a", "-S 1k a", "-S 1m a", "-S 1g a", "-S 1t a", "-S 10% a", "-S 1%% a", "-S K a", "-S b a", "-S -5 a", "-S 99999999999999999999 a", "-S 99Y a", "--buffer-size=1x a", "--buffer-size=x a",
		"--parallel=0 a", "--parallel=x a", "--parallel -1 a", "--parallel= a", "--p=1 a", "--batch-size=1 a", "--batch-size=0 a", "--batch-size=x a", "--batch-size=-1 a", "--batch-size=2 a", "--batch-size=99999999999999999999 a",
		"-o x -o y a", "-o", "nope", "a nope", "nope a", ".", "a .", "-o no/such/file a", "-o . a", "-m nope a", "-m .", "-c .", "+1", "+1 a", "+0 -1 a", "+0.1 -0.2 a", "+x a", "+0n a", "+0 -x a", "+0 -1x a", "+0.x a", "+1x a", "+0 -1. a",
		"--files0-from=list", "--files0-from=list a", "--files0-from=-", "--files0-from=list-", "--files0-from=nope", "--files0-from=empty", "--files0-from=/dev/null", "--files0-from=.", "-z a", "-T nope a", "-T . -T .. a", "-u -u a", "-s -s -s a", "-mu a a", "-mr a b", "-mc a", "-cm a b",
	} {
		args := strings.Fields(line)
		want, got := runGNU(t, dir, args, []byte("z\ny\n")), runOurs(t, "", args, []byte("z\ny\n"))
		if got.stdout != want.stdout || got.status != want.status {
			t.Errorf("sort %s\ngot  %d %q %q\nwant %d %q %q", line, got.status, got.stdout, got.stderr, want.status, want.stdout, want.stderr)
			continue
		}
		if !slices.Contains(ownMessages, line) && got.stderr != want.stderr {
			t.Errorf("sort %s\ngot  %q\nwant %q", line, got.stderr, want.stderr)
		}
	}
}

// TestLikeGNUEnvironment compares command lines whose meaning depends on the environment.
func TestLikeGNUEnvironment(t *testing.T) {
	gnu(t)
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{"a": "b x\na y\n", "-r": "c z\n", "+1": "d w\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, env := range []string{"POSIXLY_CORRECT=", "POSIXLY_CORRECT=1", "_POSIX2_VERSION=199209", "_POSIX2_VERSION=200112", "_POSIX2_VERSION=200809"} {
		t.Run(env, func(t *testing.T) {
			name, value, _ := strings.Cut(env, "=")
			t.Setenv(name, value)
			for _, line := range []string{"a -r", "-r a", "a -- -r", "a -o /dev/null", "+1 a", "+1 -2 a", "+0 -1 a", "a +1", "+1"} {
				args := strings.Fields(line)
				want, got := runGNU(t, "", args, nil), runOurs(t, "", args, nil)
				if got.stdout != want.stdout || got.status != want.status {
					t.Errorf("sort %s\ngot  %d %q %q\nwant %d %q %q", line, got.status, got.stdout, got.stderr, want.status, want.stdout, want.stderr)
				}
			}
		})
	}
}
