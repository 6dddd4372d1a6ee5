// SPDX-License-Identifier: Apache-2.0

package avro

import (
	"slices"

	"github.com/twmb/avro"
)

// shape knows the fields of a schema's records. The encoder of the module leaves out fields that the schema does not have without a word.
type shape struct {
	root  *avro.SchemaNode
	named map[string]*avro.SchemaNode // records by their names, with and without the namespace
}

func newShape(s *avro.Schema) *shape {
	h := &shape{root: s.Root(), named: map[string]*avro.SchemaNode{}}
	h.name(h.root)
	return h
}

// name notes the records of a node.
func (h *shape) name(n *avro.SchemaNode) {
	if n == nil {
		return
	}
	if n.Type == "record" {
		h.named[n.Name] = n
		if n.Namespace != "" {
			h.named[n.Namespace+"."+n.Name] = n
		}
	}
	for i := range n.Fields {
		h.name(&n.Fields[i].Type)
	}
	for i := range n.Branches {
		h.name(&n.Branches[i])
	}
	h.name(n.Items)
	h.name(n.Values)
}

// has reports whether the schema has all fields of a value of JSON.
func (h *shape) has(v any) bool { return h.nodeHas(h.root, v) }

func (h *shape) nodeHas(n *avro.SchemaNode, v any) bool {
	if r := h.named[n.Type]; r != nil {
		n = r
	}
	switch v := v.(type) {
	case map[string]any:
		switch n.Type {
		case "union":
			return slices.ContainsFunc(n.Branches, func(b avro.SchemaNode) bool { return h.nodeHas(&b, v) })
		case "map":
			for _, e := range v {
				if !h.nodeHas(n.Values, e) {
					return false
				}
			}
			return true
		case "record":
			for name, e := range v {
				i := slices.IndexFunc(n.Fields, func(f avro.SchemaField) bool { return f.Name == name || slices.Contains(f.Aliases, name) })
				if i < 0 || !h.nodeHas(&n.Fields[i].Type, e) {
					return false
				}
			}
			return true
		}
		return false
	case []any:
		switch n.Type {
		case "union":
			return slices.ContainsFunc(n.Branches, func(b avro.SchemaNode) bool { return h.nodeHas(&b, v) })
		case "array":
			return !slices.ContainsFunc(v, func(e any) bool { return !h.nodeHas(n.Items, e) })
		}
		return false
	}
	return true // Whether other values fit, the encoder finds out.
}
