// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A runner is the command line that starts the runner of the conformance suite.
type runner []string

// newRunner is the command line for a binary. If the system's C library is too old for it, the binary gets the one of Debian
// 13, which apt downloads to dir: nothing is installed.
func newRunner(binary, dir string) (runner, error) {
	if out, err := exec.Command(binary, "--help").CombinedOutput(); err == nil || !strings.Contains(string(out), "GLIBC") {
		return runner{binary}, nil
	}
	root, err := library(dir)
	if err != nil {
		return nil, fmt.Errorf("the runner needs glibc 2.38 and libstdc++ of GCC 13, as Debian 13 and Ubuntu 24.04 have them; run on such a system, or name a runner that works here by RUNNER=...: %w", err)
	}
	lib := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
	return runner{filepath.Join(lib, "ld-linux-x86-64.so.2"), "--library-path", lib, binary}, nil
}

// command runs the runner with arguments.
func (r runner) command(arguments ...string) *exec.Cmd {
	return exec.Command(r[0], append(r[1:len(r):len(r)], arguments...)...)
}

// library unpacks the C library and the C++ library of Debian 13 below dir, and returns the root of its files. apt checks
// their signatures with the keys that a Debian system has.
func library(dir string) (root string, err error) {
	const keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
	if _, err := os.Stat(keys); err != nil {
		return "", errors.New("apt needs Debian's keys (the package debian-archive-keyring) to download them")
	}
	dir, root = filepath.Join(dir, "apt"), filepath.Join(dir, "library")
	for _, folder := range []string{"lists/partial", "cache/archives/partial", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return "", err
		}
	}
	configuration := filepath.Join(dir, "apt.conf")
	for file, text := range map[string]string{
		"state/status": "",
		"sources.list": "deb [signed-by=" + keys + "] http://deb.debian.org/debian trixie main\n",
		"apt.conf": strings.ReplaceAll(`
			Dir::Etc::sourcelist "DIR/sources.list";
			Dir::Etc::sourceparts "-";
			Dir::State "DIR/state";
			Dir::State::Lists "DIR/lists";
			Dir::State::status "DIR/state/status";
			Dir::Cache "DIR/cache";
			APT::Architecture "amd64";
			APT::Sandbox::User "";
		`, "DIR", dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.Command("sh", "-ec", `apt-get -qq update; apt-get -qq download libc6 libstdc++6 libgcc-s1; for p in *.deb; do dpkg-deb -x "$p" "$0"; done`, root)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "APT_CONFIG="+configuration)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get: %w: %s", err, out)
	}
	return root, nil
}
