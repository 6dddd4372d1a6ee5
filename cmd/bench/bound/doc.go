// Package bound holds the physical bound: allocators written by hand for one task, over one mapping, without any check.
//
// A general allocator is held against them. They are no allocators to use: one wrong free corrupts them at once. All unsafe
// code of the command is here.
package bound
