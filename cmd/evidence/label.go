// SPDX-License-Identifier: Apache-2.0

package evidence

// A Label names a label of the CPU profile, which a program sets with pprof.Do, or one of its values.
// Go's profiler gives a sample the labels of the goroutine that ran. Heap profiles have no labels.
type Label struct {
	// Key is the label's name, "" for no label.
	Key string
	// Value is the value that counts if One is set; otherwise all values count.
	Value string
	One   bool
}

// String is the label as [Evidence.ChooseLabel] reads it.
func (l Label) String() string {
	if l.One {
		return l.Key + "=" + l.Value
	}
	return l.Key
}
