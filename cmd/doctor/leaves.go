// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// leaves reports whether the source shows that something holds a site's values when the user's code
// is done with them: then the next user of a pool's value would change a result.
func (a *account) leaves(s *site) bool {
	var fate source.Fate
	callee := ""
	for i, f := range s.frames {
		if !f.User && i > 0 && s.frames[i-1].User {
			break
		}
		if !f.User {
			callee, fate = calledAs(f), resultOf(f)
			continue
		}
		known := false
		if fate, known = a.lines.Fate(f, callee, fate, false); !known || fate.Ends() {
			return false
		}
		if fate.Kept {
			return true
		}
		callee = calledAs(f)
	}
	return true
}

// resultOf is where a function of others has left what it makes: in its result, or, if it decodes
// Protocol Buffers, in the message that it fills.
func resultOf(f *stack.Frame) source.Fate {
	switch {
	case ofVT(f):
		return source.Fate{In: []int{-1}}
	case decodesProto(f):
		return source.Fate{In: []int{1}}
	}
	return source.Fate{Returned: true}
}

// decodesProto reports whether f is a function with which programs decode Protocol Buffers.
func decodesProto(f *stack.Frame) bool {
	switch name := f.Func[len(f.Package):]; f.Package {
	case "google.golang.org/protobuf/proto":
		return name == ".Unmarshal" || strings.HasPrefix(name, ".UnmarshalOptions.Unmarshal")
	default:
		return ofVT(f)
	}
}

// ofVT reports whether f is a method that vtprotobuf generates.
func ofVT(f *stack.Frame) bool {
	return strings.HasSuffix(f.Func, ").UnmarshalVT") || strings.HasSuffix(f.Func, ").UnmarshalVTUnsafe")
}
