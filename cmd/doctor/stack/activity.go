// SPDX-License-Identifier: Apache-2.0

package stack

import "strings"

// An Activity is a kind of work that the program's own CPU time goes into.
type Activity string

// The activities. A function on the stack decides all but the first.
const (
	OwnWork     Activity = "the program's own work"
	Syscalls    Activity = "system calls"
	Cgo         Activity = "cgo and C code"
	Locks       Activity = "locks"
	Scheduling  Activity = "the scheduler: goroutines that stop and start"
	StackGrowth Activity = "growing and copying stacks"
)

// activities are functions that decide the activity of a stack, wherever they stand on it. The
// first match in this order counts, because a goroutine that waits for a lock calls the scheduler,
// which makes a system call.
var activities = []struct {
	activity Activity
	prefixes []string
}{
	{Cgo, []string{"runtime.cgocall", "runtime.asmcgocall", "runtime.cgocallback"}},
	{StackGrowth, []string{"runtime.newstack", "runtime.copystack", "runtime.morestack"}},
	{Locks, []string{"sync.(*Mutex)", "sync.(*RWMutex)", "internal/sync.(*Mutex)", "sync.(*Cond)", "runtime.lock2", "runtime.unlock2", "runtime.semacquire", "runtime.semrelease",
		"sync.runtime_Sem", "internal/sync.runtime_", "runtime.procyield"}},
	{Syscalls, []string{"syscall.Syscall", "syscall.RawSyscall", "syscall.syscall", "internal/runtime/syscall", "runtime/internal/syscall", "runtime.entersyscall", "runtime.exitsyscall"}},
	{Scheduling, []string{"runtime.schedule", "runtime.findRunnable", "runtime.mcall", "runtime.park_m", "runtime.goready", "runtime.futex", "runtime.netpoll", "runtime.epollwait", "runtime.usleep", "runtime.mstart"}},
}

// activityRank is the index in activities of the activity that the function decides,
// len(activities) if it decides none.
func activityRank(fn string) int {
	for i, k := range activities {
		for _, p := range k.prefixes {
			if strings.HasPrefix(fn, p) {
				return i
			}
		}
	}
	return len(activities)
}

// Activities lists all activities but OwnWork, in the order in which they are tried.
func Activities() (list []Activity) {
	for _, k := range activities {
		list = append(list, k.activity)
	}
	return list
}
