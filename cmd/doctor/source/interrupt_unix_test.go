// SPDX-License-Identifier: Apache-2.0

//go:build unix

package source

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// TestInterruptChildren: if the context ends, the processes that the go command started end with
// it. Open waits for the end of their output, so that it would not return for ten minutes.
func TestInterruptChildren(t *testing.T) {
	root, _ := unpackTwo(t)
	bin := t.TempDir()
	up := filepath.Join(bin, "up")
	script := "#!/bin/sh\n[ $1 = env ] && exit 1\nsh -c ': >" + up + "; exec sleep 600' &\nwait\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(up); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := Open(ctx, Options{Root: root, Limit: patient}, []*stack.Frame{inMain})
	if err == nil || ctx.Err() == nil {
		t.Errorf("error %v", err)
	}
	cancel()
}
