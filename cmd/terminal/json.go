// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the report of a verb as one indented JSON object.
func WriteJSON(out io.Writer, verb string, report any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("%s: write JSON: %w", verb, err)
	}
	return nil
}
