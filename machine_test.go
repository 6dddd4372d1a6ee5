// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestReadMachine(t *testing.T) {
	m := ReadMachine()
	if m.PageSize != int64(os.Getpagesize()) || m.CPUs != runtime.NumCPU() || m.OS != runtime.GOOS {
		t.Errorf("not this machine: %+v", m)
	}
	if runtime.GOOS == "linux" && (m.Kernel == "" || m.Memory <= 0 || m.Overcommit < 0 || m.Maps <= 0 || m.MaxMaps <= 0) {
		t.Errorf("Linux says more than this: %+v", m)
	}
}

func TestMachineString(t *testing.T) {
	m := Machine{
		OS: "linux", Arch: "amd64", Kernel: "6.1.0", Go: "go1.26.0", CPUs: 8, GOMAXPROCS: 4,
		OffHeap: true, PageSize: 4096, HugePageSize: 2 << 20, HugePages: "madvise",
		Memory: 24 << 30, MemoryAvailable: 3 << 29,
		Overcommit: 2, CommitLimit: 10 << 30, Committed: 5 << 30, Maps: 40, MaxMaps: 65530,
		AddressSpaceLimit: math.MaxInt64, CgroupVersion: 2, CgroupLimit: 512 << 20, CgroupCurrent: -1, MemoryLimit: math.MaxInt64,
		Options: Options{NoMemLimit: true},
	}
	const want = `system      linux/amd64 6.1.0
go          go1.26.0, GOMAXPROCS 4 of 8 CPUs
freehold    modes nomemlimit
memory      24 GiB, 1.5 GiB available
cgroup      v2, limit 512 MiB, unknown charged now
GOMEMLIMIT  none
RLIMIT_AS   none
pages       4 KiB
huge pages  2 MiB, mode madvise, defrag unknown
overcommit  2 (strict: 5 GiB of 10 GiB are committed)
mappings    40 of at most 65530`
	if got := m.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMachineStringOfAnotherSystem(t *testing.T) {
	m := Machine{OS: "js", Arch: "wasm", Go: "go1.26.0", PageSize: 65536, Overcommit: -1, Maps: -1, MaxMaps: -1, MemoryLimit: math.MaxInt64}
	got := m.String()
	for _, word := range []string{"overcommit", "mappings", "cgroup", "huge"} {
		if strings.Contains(got, word) {
			t.Errorf("%q in\n%s", word, got)
		}
	}
	if !strings.Contains(got, "on the Go heap") {
		t.Errorf("it does not say where memory comes from:\n%s", got)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 62: "4 EiB", -1: "unknown", math.MaxInt64: "none",
	} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

func ExampleMachine() {
	m := ReadMachine()
	fmt.Println(m.PageSize >= 4096)
	// Output: true
}
