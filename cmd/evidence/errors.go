package evidence

import "errors"

// ErrInput is what errors about an input's contents answer to.
var ErrInput = errors.New("not usable")

// inputError is such an error: a line that says what is wrong and what to do.
type inputError string

func (e inputError) Error() string { return string(e) }

func (e inputError) Is(target error) bool { return target == ErrInput }
