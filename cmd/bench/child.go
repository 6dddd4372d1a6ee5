// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
)

// childVariable carries the Spec to a child. A variable, not an argument, lets any program that calls RunChild be
// its own child, a test binary included.
const childVariable = "FREEHOLD_BENCH_CHILD"

// RunChild does the work of a child and exits if this process was started as one; otherwise it returns at once. Call
// it first in main, and in TestMain of a test that runs the command, with the set that the command has.
func (s *Set) RunChild() {
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	// Ctrl-C reaches every process of the terminal. The parent ends the child itself. A child that
	// died first would look like a failure.
	signal.Ignore(os.Interrupt)
	os.Exit(s.childMain(text))
}

// ChildEnv is the variable, as "NAME=value", that makes a program which calls RunChild a child with this task.
func ChildEnv(spec Spec) (string, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encode the child's task: %w", err)
	}
	return childVariable + "=" + string(text), nil
}

func (s *Set) childMain(text string) int {
	var spec Spec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s is not a child's task: %v\n", childVariable, err)
		return 2
	}
	sample, err := s.Run(spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(sample); err != nil {
		fmt.Fprintf(os.Stderr, "bench: write the result: %v\n", err)
		return 1
	}
	return 0
}
