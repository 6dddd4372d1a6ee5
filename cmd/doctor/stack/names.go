package stack

import (
	"fmt"
	"strings"
)

// Place writes a frame for a sentence: its function, file and line.
func (f *Frame) Place() string {
	if f.File == "" {
		return ShortName(f.Func)
	}
	return fmt.Sprintf("%s (%s:%d)", ShortName(f.Func), Base(f.File), f.Line)
}

// ShortName is a function's name without its package's directories, and with type arguments left out.
func ShortName(fn string) string {
	if i := strings.IndexByte(fn, '['); i >= 0 {
		if j := strings.LastIndexByte(fn, ']'); j > i {
			fn = fn[:i] + fn[j+1:]
		}
	}
	return fn[strings.LastIndexByte(fn, '/')+1:]
}

// Base is a file's name without its folders.
func Base(file string) string {
	file = Slashed(file)
	return file[strings.LastIndexByte(file, '/')+1:]
}
