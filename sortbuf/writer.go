// SPDX-License-Identifier: Apache-2.0

package sortbuf

// A writer has a chunk, which it fills without a lock.
type writer struct {
	block []byte // The memory of the chunk.
	at    int    // Where the next record goes.
	count int    // Records in the chunk, at most `most`.
	most  int
}

// give gives w an empty chunk for at most n records.
func (w *writer) give(b []byte, n int) { w.block, w.at, w.count, w.most = b, 0, 0, n }

// end takes the chunk back, with the number of its records. Only its used part is in the result.
func (w *writer) end() ([]byte, int) {
	b, n := w.block[:w.at], w.count
	*w = writer{}
	return b, n
}

// fits says whether a record of n bytes has room in the chunk.
func (w *writer) fits(n int) bool { return n <= len(w.block)-w.at && w.count < w.most }

// put appends a record, which fits.
func (w *writer) put(key, value []byte) {
	w.at += put(w.block[w.at:], key, value)
	w.count++
}
