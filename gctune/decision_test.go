// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"math"
	"testing"
)

// TestExplained holds whole paragraphs against what a decision's numbers mean.
func TestExplained(t *testing.T) {
	group := Decision{
		Source: "cgroup v2 /sys/fs/cgroup (memory.max)", Total: 256 * mib, Headroom: 26 * mib, OffHeap: 128 * mib, Other: 4 * mib, User: none,
		Limit: 98 * mib, GOGC: 100, Live: 30 * mib, Runtime: 5 * mib, Room: 90 * mib,
	}
	with := func(change func(*Decision)) Decision { d := group; change(&d); return d }
	for _, c := range []struct {
		d    Decision
		want string
	}{
		{group, "Cgroup v2 /sys/fs/cgroup (memory.max) allows 256 MiB. Of that 26 MiB stay free as headroom, 128 MiB are held off the heap and " +
			"4 MiB by other memory outside Go's runtime. GOMEMLIMIT is 98 MiB. The last collection found 30 MiB live; beside the heap Go takes " +
			"5 MiB, which leaves the heap room for 3.0 times the live heap: ample. Policy balanced makes GOGC 100."},
		{with(func(d *Decision) { d.Off, d.Policy, d.GOGC, d.User = "a dry run", Throughput, 150, 200*mib }),
			"Nothing is set (a dry run). Cgroup v2 /sys/fs/cgroup (memory.max) allows 256 MiB. Of that 26 MiB stay free as headroom, 128 MiB are " +
				"held off the heap and 4 MiB by other memory outside Go's runtime. The program's own GOMEMLIMIT of 200 MiB for Go and off-heap " +
				"memory together counts if it is less. GOMEMLIMIT would be 98 MiB. The last collection found 30 MiB live; beside the heap Go takes " +
				"5 MiB, which leaves the heap room for 3.0 times the live heap: ample. Policy throughput would make GOGC 150."},
		{with(func(d *Decision) {
			d.Live, d.Limit, d.Room, d.State, d.Wanted = 100*mib, 110*mib, 102*mib, Thrashing, 310*mib
			d.GOGC, d.GOGCWhy = -1, "the environment sets it"
		}),
			"Cgroup v2 /sys/fs/cgroup (memory.max) allows 256 MiB. Of that 26 MiB stay free as headroom, 128 MiB are held off the heap and " +
				"4 MiB by other memory outside Go's runtime. GOMEMLIMIT is 110 MiB. That is more than is left, because the collector could not work " +
				"with less: the headroom shrinks instead. The last collection found 100 MiB live; beside the heap Go takes 5 MiB, which leaves the " +
				"heap room for 1.0 times the live heap: thrashing. The collector runs again and again, and frees little each time. It would have room with a " +
				"limit of 310 MiB, or with about 48 MiB less live or off the heap. GOGC stays off: the environment sets it."},
		{Decision{Total: none, User: none, Limit: none, Room: none, GOGC: 100, Live: mib},
			"There is no visible limit on memory, so GOMEMLIMIT stays off. Policy balanced makes GOGC 100."},
		{Decision{Total: none, User: 100 * mib, OffHeap: 20 * mib, Limit: 80 * mib, GOGC: 100, Live: 50 * mib, Runtime: mib, Room: 70 * mib, State: Tight},
			"There is no visible limit on memory except the program's own GOMEMLIMIT of 100 MiB. GOMEMLIMIT is 80 MiB. The last collection " +
				"found 50 MiB live; beside the heap Go takes 1 MiB, which leaves the heap room for 1.4 times the live heap: tight. Collections follow " +
				"one another closely. It would have room with a GOMEMLIMIT higher by 5 MiB, or with so much less live or off the heap. Policy " +
				"balanced makes GOGC 100."},
		{with(func(d *Decision) { d.Squeezed, d.Live, d.Pressure = 10*mib, 0, Pressure{true, 12.25, 3} }),
			"Cgroup v2 /sys/fs/cgroup (memory.max) allows 256 MiB. Of that 26 MiB stay free as headroom, 128 MiB are held off the heap and " +
				"4 MiB by other memory outside Go's runtime. The headroom is 10 MiB larger than usual, because work waits for memory. GOMEMLIMIT is " +
				"98 MiB. Policy balanced makes GOGC 100. Work waited for memory in 12.2 % of the last ten seconds."},
	} {
		if got := c.d.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 150*mib + 1000: "150 MiB", 5 << 30: "5 GiB", none: "no limit", -2048: "-2 KiB", -1023: "-1023 B", -1536: "-1.5 KiB",
		1 << 60: "1 EiB", math.MinInt64: "-8 EiB",
	} {
		if got := size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
