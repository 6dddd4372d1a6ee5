package evidence

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Counter returns the variable of a name in the answer of /debug/vars, which must be a number.
func Counter(vars []byte, name string) (float64, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(vars, &fields); err != nil {
		return 0, fmt.Errorf("the answer is not package expvar's JSON: %w", err)
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
		return 0, fmt.Errorf("there is no variable %q; the numbers are %q", name, names)
	}
	v, err := numberIn(raw)
	if err != nil {
		return 0, fmt.Errorf("the variable %q is no number", name)
	}
	return v, nil
}

func numberIn(raw json.RawMessage) (v float64, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}
