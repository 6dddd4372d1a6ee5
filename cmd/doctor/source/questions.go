// SPDX-License-Identifier: Apache-2.0

package source

import "github.com/freehold-go/freehold/cmd/doctor/stack"

// Expressions lists what the line of a frame can allocate. It is empty if the source of the line is
// not at hand or not the profiled one.
func (s *Module) Expressions(at *stack.Frame) (list []Expression) {
	p := s.packageOf(at)
	if p == nil {
		return nil
	}
	d, ok := p.declaration(at)
	if !ok {
		return nil
	}
	for _, m := range d.Made {
		if m.From <= at.Line && at.Line <= m.To {
			list = append(list, Expression{Kind: m.Kind, Type: p.facts.Types[m.Type], Text: m.Text, Into: m.Into})
		}
	}
	return list
}

// Sort returns the first call that sorts strings or slices of bytes: in the function of a frame, or
// else in its file. It is the zero Sort if the source has none, or is not at hand.
func (s *Module) Sort(at *stack.Frame) Sort {
	p := s.packageOf(at)
	if p == nil {
		return Sort{}
	}
	d, ok := p.declaration(at)
	if !ok {
		return Sort{}
	}
	list := p.facts.Files[fileName(at.File)]
	for i := 0; d.Sort.Type == "" && i < len(list); i++ {
		d = &list[i]
	}
	return d.Sort
}

// StructAt returns the expression at a frame that allocates values of a struct type of the module's
// own; its Type has the Struct. ok is false if fits accepts no such type of the line, or more than
// one.
func (s *Module) StructAt(at *stack.Frame, fits func(Kind, Layout) bool) (m Expression, ok bool) {
	for _, c := range s.Expressions(at) {
		t := c.Type.Struct
		if t == nil || t.From.Size == 0 || !fits(c.Kind, t.From) {
			continue
		}
		if ok && (m.Type.Struct.Name != t.Name || m.Type.Struct.Declared != t.Declared) {
			return Expression{}, false
		}
		m, ok = c, true
	}
	return m, ok
}
