// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// coreutils is the variable with a checkout of GNU coreutils.
const coreutils = "FREEHOLD_TEST_COREUTILS"

// runAsVerb makes this test binary freehold sort if its name is sort, as in the tests of GNU sort, and
// freehold cache serve if its name is that of cacheServe.
func runAsVerb() {
	verb := []string{}
	switch filepath.Base(os.Args[0]) {
	case "sort":
		verb = []string{"freehold", "sort"}
	case cacheServe:
		verb = []string{"freehold", "cache", "serve"}
	default:
		return
	}
	os.Args = append(verb, os.Args[1:]...)
	main()
	os.Exit(0)
}

// TestCoreutils runs the tests of GNU sort from a checkout, against freehold sort under the name
// sort. Coreutils is not built: the tests in Perl run on the suite's own modules, those in shell on
// a small init.sh. Cases that fail must stand in a file with the reason, and no others may.
func TestCoreutils(t *testing.T) {
	checkout := os.Getenv(coreutils)
	if checkout == "" {
		t.Skip("set " + coreutils + " to a checkout of GNU coreutils: make test-coreutils COREUTILS=DIR")
	}
	checkout, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(checkout, "tests/sort/sort*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests/sort: %v", checkout, err)
	}
	bin := sortBin(t)
	exceptions := readExceptions(t, "testdata/coreutils/exceptions.txt")
	passed := 0
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			failed := map[string]bool{}
			var output string
			switch filepath.Ext(name) {
			case ".pl":
				passed += runPerl(t, checkout, bin, name, failed, &output)
			case ".sh":
				passed += runShell(t, checkout, bin, name, failed, &output)
			}
			for _, c := range slices.Sorted(maps.Keys(failed)) {
				if reason, ok := exceptions[name+" "+c]; ok {
					t.Logf("%s: exception: %s", c, reason)
				} else {
					t.Errorf("%s failed\n%.3000s", c, output)
				}
			}
			for e := range exceptions {
				if file, c, _ := strings.Cut(e, " "); file == name && !failed[c] {
					t.Errorf("%s passes, or does not exist, and is an exception", c)
				}
			}
		})
	}
	t.Logf("%d cases passed, %d are exceptions", passed, len(exceptions))
}

// sortBin makes a folder of programs: this binary as sort, and a stub of getlimits.
func sortBin(t *testing.T) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stub, err := filepath.Abs("testdata/coreutils/getlimits")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := errors.Join(os.Symlink(self, filepath.Join(bin, "sort")), os.Symlink(stub, filepath.Join(bin, "getlimits"))); err != nil {
		t.Fatal(err)
	}
	return bin
}

// readExceptions returns the reasons by file and case.
func readExceptions(t *testing.T, path string) map[string]string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	exceptions := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(strings.TrimSpace(line), " ", 3); !strings.HasPrefix(line, "#") && len(f) == 3 {
			exceptions[f[0]+" "+f[1]] = f[2]
		}
	}
	return exceptions
}

func suiteCommand(t *testing.T, bin, dir string, env []string, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "SHELL=/bin/sh", "PERL=perl", "AWK=awk", "built_programs=sort printf ls",
		"LOCALE_FR=none", "LOCALE_FR_UTF8=none", "GORACE=atexit_sleep_ms=0", "RUN_EXPENSIVE_TESTS=yes", "RUN_VERY_EXPENSIVE_TESTS=yes",
	}, env...)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	cmd.ExtraFiles = slices.Repeat([]*os.File{null}, 7) // descriptor 9 is where the suite reports what it skips
	return cmd
}

var (
	perlCase   = regexp.MustCompile(`(?m)^(\S+)\.\.\.$`)
	perlFailed = regexp.MustCompile(`(?m)^\S*: test (\S+?)(?: failed)?: `)
)

// runPerl runs a test in Perl, in which each case is a test of its own. A case with a file runs also
// with the file as standard input and through a pipe, under its name with .r and .p.
func runPerl(t *testing.T, checkout, bin, name string, failed map[string]bool, output *string) (passed int) {
	cmd := suiteCommand(t, bin, t.TempDir(), []string{"srcdir=" + checkout, "VERBOSE=1"}, "perl", "-w", "-I", filepath.Join(checkout, "tests"), "-MCuSkip", "-MCoreutils", "-M"+"CuTmpdir qw(sort)", filepath.Join(checkout, "tests/sort", name))
	out, err := cmd.CombinedOutput()
	cases := map[string]bool{}
	for _, m := range perlCase.FindAllStringSubmatch(string(out), -1) {
		cases[m[1]] = true
	}
	*output = perlCase.ReplaceAllString(string(out), "")
	for _, m := range perlFailed.FindAllStringSubmatch(*output, -1) {
		c := strings.TrimSuffix(strings.TrimSuffix(m[1], ".r"), ".p")
		failed[c] = true
		delete(cases, m[1])
	}
	if len(cases) == 0 || err != nil && len(failed) == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	return len(cases)
}

// edits replace what a test in shell uses and is not its subject: -R, which shuffles its input, and an
// option of cut that only the newest has.
var edits = strings.NewReplacer("sort -R exp", "shuf exp", "${SIZE_MAX}R", "${SIZE_MAX}", "cut -F 7", "awk '{print $7}'")

// runShell runs a test in shell. A test that skips itself is neither passed nor failed.
func runShell(t *testing.T, checkout, bin, name string, failed map[string]bool, output *string) (passed int) {
	dir := t.TempDir()
	init, err := os.ReadFile("testdata/coreutils/init.sh")
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "tests"), 0o700), os.WriteFile(filepath.Join(dir, "tests/init.sh"), init, 0o600),
			os.WriteFile(filepath.Join(dir, "config.h"), []byte("#define HAVE_PTHREAD_T 1\n"), 0o600))
	}
	script, err2 := os.ReadFile(filepath.Join(checkout, "tests/sort", name))
	if err == nil && err2 == nil {
		err = os.WriteFile(filepath.Join(dir, name), []byte(edits.Replace(string(script))), 0o600)
	}
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	cmd := suiteCommand(t, bin, dir, []string{"srcdir=" + dir, "SUITE=" + checkout, "CONFIG_HEADER=" + filepath.Join(dir, "config.h")}, "bash", name)
	cmd.ExtraFiles = nil
	out, _ := cmd.CombinedOutput() // the exit status says what it was
	*output = string(out)
	switch code := cmd.ProcessState.ExitCode(); code {
	case 0:
		return 1
	case 77:
		last := ""
		for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
			last = s.Text()
		}
		t.Skip(last)
	default:
		failed["-"] = true
	}
	return 0
}
