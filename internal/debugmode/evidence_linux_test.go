// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestEvidenceOfProcess1: process 1 of a container, with which the system ends all others, leaves
// evidence, too.
func TestEvidenceOfProcess1(t *testing.T) {
	testenv.MisusesMemory(t)
	testenv.StartsPrograms(t)
	exe, err := os.Executable()
	check(err)
	dir := t.TempDir()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), programVariable+"=evidence", outputVariable+"="+dir, "GOTRACEBACK=single")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Skipf("this system lets us make no process 1: %v", err)
	}
	_ = cmd.Wait()
	if text := stderr.String(); strings.Contains(text, "freehold: use after Free") || !strings.Contains(text, "freehold: evidence of mistakes goes to") {
		t.Errorf("standard error:\n%s", text)
	}
	var b strings.Builder
	n, err := WriteEvidence(&b, filepath.Join(dir, "evidence"), nil)
	if err != nil || n != 1 || !regexp.MustCompile(`, process 1, `).MatchString(b.String()) || !regexp.MustCompile(faultReport).MatchString(b.String()) {
		t.Errorf("%v, %d mistakes:\n%s", err, n, b.String())
	}
}
