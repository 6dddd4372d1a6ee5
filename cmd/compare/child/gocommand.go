// SPDX-License-Identifier: Apache-2.0

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// GoOutput runs the go command in a folder, or in this one if that is empty, with more variables in the environment, and returns what it
// writes. Its error holds the go command's message.
func GoOutput(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if len(env) > 0 {
		cmd.Env = append(os.Environ(), env...)
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("there is no go command in PATH")
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if said := strings.TrimSpace(stderr.String()); said != "" && !strings.Contains(said, "\n") {
			return "", errors.New(said)
		}
		return "", fmt.Errorf("%w%s", err, Tail(stderr.Bytes(), stdout.Bytes()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
