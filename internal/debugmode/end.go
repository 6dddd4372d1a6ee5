// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// ends are the checks for the end of the program.
var ends struct {
	mu     sync.Mutex
	checks []func() error
}

// checked are the checks of other packages than offheap that offheap.Check makes, too.
var checked struct {
	mu     sync.Mutex
	checks []func() error
}

// OnCheck has check called by RunChecks. It is for the life of the process.
func OnCheck(check func() error) {
	checked.mu.Lock()
	defer checked.mu.Unlock()
	checked.checks = append(checked.checks, check)
}

// RunChecks makes the checks of OnCheck, and joins the mistakes that they find.
func RunChecks() error {
	checked.mu.Lock()
	checks := checked.checks
	checked.mu.Unlock()
	var found []error
	for _, check := range checks {
		found = append(found, check())
	}
	return errors.Join(found...)
}

// OnEnd has check called by CheckAtEnd.
func OnEnd(check func() error) {
	ends.mu.Lock()
	defer ends.mu.Unlock()
	ends.checks = append(ends.checks, check)
}

// CheckAtEnd makes the checks for the end of the program, and reports whether it has found a
// mistake. It writes each to w. The process that watches lists the
// leaks no more.
func CheckAtEnd(w io.Writer) (found bool) {
	if !On() {
		return false
	}
	ends.mu.Lock()
	checks := ends.checks
	ends.mu.Unlock()
	for _, check := range checks {
		if err := check(); err != nil {
			found = true
			fmt.Fprintf(w, "%v\n", err)
		}
	}
	if Current().Leaks {
		groups := Leaks(Live())
		found = found || len(groups) > 0
		_ = WriteLeaks(w, groups)
		_, _ = io.WriteString(w, lostLeaks(blocks.lost()))
		blocks.listLeaks(false)
	}
	return found
}
