// SPDX-License-Identifier: Apache-2.0

package httparena

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
)

// bodies are buffers for the bodies of requests.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// mostBody bounds the buffers that are kept.
const mostBody = 1 << 20

// DecodeJSON decodes the body of a request, one JSON document, into a new T in the request's arena, as
// [arenajson.Unmarshal] does. Without an arena in the request's context the T lies on the Go heap. The T is
// valid as long as the arena's values.
//
// DecodeJSON reads all of the body first. To bound that, put [http.MaxBytesReader] around it: beyond the bound
// the error wraps an *[http.MaxBytesError]. Beyond the arena's limit it wraps [offheap.ErrLimit]. Other errors are
// those of reading the body, and those of [arenajson.Unmarshal]: beside an *[json.UnmarshalTypeError] there
// is a T. [arenajson.Options.AliasInput] has no meaning here.
//
// [json.UnmarshalTypeError]: https://pkg.go.dev/encoding/json#UnmarshalTypeError
// [offheap.ErrLimit]: https://pkg.go.dev/github.com/freehold-go/freehold/offheap#ErrLimit
func DecodeJSON[T any](r *http.Request, o ...arenajson.Options) (*T, error) {
	buf := bodies.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= mostBody {
			bodies.Put(buf)
		}
	}()
	buf.Reset()
	if _, err := buf.ReadFrom(r.Body); err != nil {
		return nil, fmt.Errorf("httparena: the body of the request cannot be read: %w", err)
	}
	if len(o) == 1 && o[0].AliasInput {
		copied := o[0]
		copied.AliasInput = false
		o = []arenajson.Options{copied}
	}
	return arenajson.Unmarshal[T](arena.FromContext(r.Context()), buf.Bytes(), o...)
}
