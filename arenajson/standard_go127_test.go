// SPDX-License-Identifier: Apache-2.0

//go:build go1.27 && (goexperiment.jsonv2 || go1.28)

package arenajson

import "encoding/json"

// standardIs127 says that encoding/json has the meaning that arenajson has in every build.
const standardIs127 = true

// standard decodes as encoding/json of Go 1.27 does.
func standard(doc []byte, v any) error { return json.Unmarshal(doc, v) }
