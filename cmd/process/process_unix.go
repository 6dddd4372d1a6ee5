// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func interrupt(cmd *exec.Cmd) error { return send(cmd, os.Interrupt) }

// send sends a signal to the group, which has the number of its first process.
func send(cmd *exec.Cmd, s os.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, s.(syscall.Signal))
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
