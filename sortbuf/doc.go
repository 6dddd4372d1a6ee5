// SPDX-License-Identifier: Apache-2.0

// Package sortbuf sorts billions of records of any length within a budget of memory.
//
// # Sorter
//
// A [Sorter] takes records, which are a key and a value, and returns them in order. Keys compare as
// bytes unless Options.Compare says otherwise, and records with equal keys stay in the order of
// arrival. Records lie in chunks off the Go heap, so growth copies nothing and the collector scans
// nothing. If they exceed Options.Memory, the Sorter sorts what it has and writes it to a file
// without a name. [Sorter.Sorted] merges these runs with what is in memory. If the program ends, or
// is killed, the disk space is free again.
//
// Goroutines that add records have a [Writer] each. Several sorters may share the limit of an
// [offheap.Purpose]. Options.Combine makes one record of those with equal keys, and Options.Limit
// keeps the first ones only. [Groups] yields the records of a key together.
//
// # Keys
//
// A comparator takes some ten times the CPU of byte order. [AppendInt64], [AppendUint64],
// [AppendFloat64], [AppendString] and [Descending] make keys whose bytes compare as columns do.
//
// # Files
//
// [Save] writes sorted records to a file with checksums, and [Open] maps it: a [Run] reads ranges and
// finds keys. [Merge] reads several. A file appears under its name when it is complete.
//
// # Buffer
//
// A [Buffer] is records that never move, with a [Pos] for each: append, read, sort an index of them.
//
// # Errors
//
// What the world refuses is an error: memory ([offheap.ErrLimit], [offheap.ErrOutOfMemory]), disk
// ([SpillError]), a damaged file ([ErrDamaged]), the end of a context. Records that were added stay
// readable, and the call may be repeated. A function of the Options that panics ends the Sorter, and
// the panic reaches the caller of the method.
//
// # Memory
//
// The budget counts all memory off the Go heap. On the Go heap lie some hundred bytes for each chunk
// and each run, the longest keys, with Combine one value, and with Compare up to 512 KiB for each
// goroutine that sorts. A program that uses keys and values
// behind their step, or after Close, reads other bytes, but nothing that it does with them damages
// other memory of Go.
//
// # What it is not
//
// It is no database: records are not updated in place. It knows no locales, and does not sort on
// several machines. A few megabytes are simpler to sort with package slices.
package sortbuf
