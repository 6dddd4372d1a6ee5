package arena

import (
	"fmt"

	"github.com/freehold-go/freehold/offheap"
)

// outOfMemory is an error that errors.Is [offheap.ErrOutOfMemory].
func outOfMemory(format string, args ...any) error {
	return fmt.Errorf("arena: %s: more than the machine can give: %w", fmt.Sprintf(format, args...), offheap.ErrOutOfMemory)
}

// must turns an error into the panic of the functions that return none.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
