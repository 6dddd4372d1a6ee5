// SPDX-License-Identifier: Apache-2.0

// Package sort is the verb sort of the command: lines sorted within a memory budget, with the output
// and the exit statuses of GNU sort in the C locale.
//
// The options become one key of bytes for each line, on which package sortbuf sorts. Keys compare as
// the lines do: no comparison looks for fields or numbers. The layouts of a record are in key.go, the
// encodings of text, numbers and months in encode.go.
//
// One goroutine reads blocks of whole lines, others make the records of a block, each with a writer
// of the sorter. A merge (-m) and a check (-c) hold no more than a block of each file.
package sort
