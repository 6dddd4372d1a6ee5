// SPDX-License-Identifier: Apache-2.0

// Package graph has facts about types and addresses that deep copies of values need.
//
// It knows nothing of arenas. Its files:
//
//   - ground.go: whether an address belongs to the heap, to a package-level variable or to neither;
//   - fields.go: which field of a type stands at an offset, and whether two types have one layout;
//   - rule.go and known.go: who may name the unexported fields of a struct type, and the types of the
//     standard library whose fields are known;
//   - module.go: the module of a package and the package of a function.
package graph
