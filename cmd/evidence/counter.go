// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Counter returns the value of a counter in a program's answer: of /debug/vars, where name is a
// variable that must be a number, or of /metrics in the text format of Prometheus, where the name
// may be followed by labels, and all series that have them are added up.
func Counter(answer []byte, name string) (float64, error) {
	if trimmed := bytes.TrimSpace(answer); len(trimmed) > 0 && trimmed[0] != '{' && isPrometheus(answer) {
		return counterIn(answer, name)
	}
	return variable(answer, name)
}

// variable is a number in package expvar's answer.
func variable(vars []byte, name string) (float64, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(vars, &fields); err != nil {
		return 0, inputError("the answer is neither package expvar's JSON nor Prometheus's text (" + err.Error() + ")")
	}
	raw, ok := fields[name]
	if !ok {
		var names []string
		for name, raw := range fields {
			if _, err := numberIn(raw); err == nil {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return 0, inputError(fmt.Sprintf("there is no variable %q; the numbers are %q", name, names))
	}
	v, err := numberIn(raw)
	if err != nil {
		return 0, inputError(fmt.Sprintf("the variable %q is no number", name))
	}
	return v, nil
}

func numberIn(raw json.RawMessage) (v float64, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}
