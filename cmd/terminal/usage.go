// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"
)

// UsageError returns the answer to a wrong flag: one line on the standard error, where the library
// for flags would print the whole help, and the exit status.
func UsageError(status int) cli.OnUsageErrorFunc {
	return func(_ context.Context, c *cli.Command, err error, _ bool) error {
		return cli.Exit(fmt.Errorf("%s: %w; see %s -help", c.Name, err, c.FullName()), status)
	}
}
