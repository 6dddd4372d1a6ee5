// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import (
	"errors"
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func interrupt(cmd *exec.Cmd) error {
	err := send(cmd, os.Interrupt)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return Kill(cmd)
	}
	return err
}

func send(cmd *exec.Cmd, s os.Signal) error { return cmd.Process.Signal(s) }
