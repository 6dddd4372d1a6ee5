package offheap

import "github.com/freehold-go/freehold/internal/unsafex"

func uintptrOf(n *rnode) uintptr { return unsafex.Addr(n) }
func ptrOf(a uint64) *rnode      { return (*rnode)(unsafex.Pointer(uintptr(a))) }
