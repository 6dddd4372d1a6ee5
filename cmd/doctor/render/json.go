// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"io"

	"github.com/freehold-go/freehold/cmd/doctor"
)

// withBefore is the JSON of a report together with the report before the change.
type withBefore struct {
	*doctor.Report
	Before *doctor.Report `json:"before,omitempty"`
}

// JSON writes the report as one object, whose fields docs/doctor.md explains. Before, if it is not
// nil, is in the field of that name.
func JSON(w io.Writer, r, before *doctor.Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(withBefore{r, before})
}
