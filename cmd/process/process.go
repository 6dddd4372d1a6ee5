// SPDX-License-Identifier: Apache-2.0

// Package process ends programs together with the processes that they started, and says where
// processes listen.
//
// On Unix that takes a process group. On other systems the functions reach the program alone.
package process

import (
	"os"
	"os/exec"
)

// Own puts cmd, which must not have been started yet, into a process group of its own. Ctrl-C then
// reaches it through this program alone, and if the command's context ends, what it started is
// killed with it. A group in the background cannot read from a terminal: cmd.Stdin must be none.
func Own(cmd *exec.Cmd) {
	ownGroup(cmd)
	cmd.Cancel = func() error { return Kill(cmd) }
}

// Interrupt asks cmd and what it started to end, as Ctrl-C does, or kills it on systems without
// such a signal. The error is [os.ErrProcessDone] if none of them is left.
func Interrupt(cmd *exec.Cmd) error { return interrupt(cmd) }

// Kill ends cmd and what it started. After cmd.Wait it ends what the command left running. The
// error is [os.ErrProcessDone] if none of them is left.
func Kill(cmd *exec.Cmd) error { return send(cmd, os.Kill) }
