// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"testing"
)

// TestMain keeps the tests out of the user's cache of source.
func TestMain(m *testing.M) {
	os.Setenv("FREEHOLD_CACHE", "off")
	os.Exit(m.Run())
}
