// SPDX-License-Identifier: Apache-2.0

// Package source reads the source of a profiled program: which expressions of a line allocate,
// what becomes of the values, and how the fields of its structs lie in memory.
//
// Start with [Open], which reads the packages of the frames that matter. Then ask the [Module]
// about a frame: [Module.Expressions] and [Module.StructAt].
//
// The facts about a package stay in a folder for the next report, under a key of all their
// sources. Reading them again takes milliseconds; [CacheFolder] says where it lies.
//
// [Lines] answers simple questions about single lines by parsing alone, in files of any module.
//
// Nothing is fetched and no file of the module changes, whatever the user's settings allow.
package source
