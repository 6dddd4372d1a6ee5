// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"path"
	"regexp"
	"strings"
)

// version is a folder of a major version at the end of a package's path, or such an end of its name.
var version = regexp.MustCompile(`(/v[0-9]+|(\.|%2e)v[0-9]+)(\.)`)

// ShortName is a function's name without its package's directories and major version, and with type
// arguments left out.
func ShortName(fn string) string {
	if i := strings.IndexByte(fn, '['); i >= 0 {
		if j := strings.LastIndexByte(fn, ']'); j > i {
			fn = fn[:i] + fn[j+1:]
		}
	}
	fn = version.ReplaceAllString(fn, "$3")
	return fn[strings.LastIndexByte(fn, '/')+1:]
}

// Base is a file's name without its folders.
func Base(file string) string {
	file = Slashed(file)
	return file[strings.LastIndexByte(file, '/')+1:]
}

// PackageOf is the import path in a function's name: the part before the first dot behind the last
// slash. Type arguments may hold slashes.
func PackageOf(fn string) string {
	if i := strings.IndexByte(fn, '['); i >= 0 {
		fn = fn[:i]
	}
	slash := strings.LastIndexByte(fn, '/') + 1
	if dot := strings.IndexByte(fn[slash:], '.'); dot >= 0 {
		return fn[:slash+dot]
	}
	return fn
}

// IsRuntime reports whether a function belongs to the runtime, maps included: by its name, or by
// its file if another package has it by linkname. A name without a package is assembly.
func IsRuntime(fn, file string) bool {
	if pkg := PackageOf(fn); Within(pkg, "runtime/internal") || Within(pkg, "internal/runtime") || pkg == "runtime" {
		return true
	}
	if !strings.Contains(fn, ".") {
		return strings.HasSuffix(file, ".s")
	}
	dir, _ := path.Split(Slashed(file))
	return dir == "runtime/" || strings.HasSuffix(dir, "/src/runtime/")
}

// Slashed is a file name with slashes as separators, also if the program was built on Windows.
func Slashed(file string) string { return strings.ReplaceAll(file, `\`, "/") }

// Within reports whether a package belongs to a module. The package of external tests has _test
// behind its path.
func Within(pkg, module string) bool {
	rest, ok := strings.CutPrefix(pkg, module)
	return ok && (rest == "" || rest[0] == '/' || rest == "_test")
}
