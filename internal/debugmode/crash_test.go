// SPDX-License-Identifier: Apache-2.0

package debugmode

import "testing"

// TestParseCrash reads texts as Go writes them; those of this Go version are read where programs
// crash.
func TestParseCrash(t *testing.T) {
	const frames = `
goroutine 7 gp=0xc000102700 m=3 mp=0xc0001000 [running]:
runtime.throw({0x4a0b0e?, 0x0?})
	/go/src/runtime/panic.go:1073 +0x48 fp=0xc00004af08 sp=0xc00004aed8 pc=0x4329a8
runtime.sigpanic()
	/go/src/runtime/signal_unix.go:939 +0x26c fp=0xc00004af68 sp=0xc00004af08 pc=0x44776c
runtime.memmove()
	/go/src/runtime/memmove_amd64.s:100 +0x1 fp=0xc00004af68 sp=0xc00004af08 pc=0x44776c
main.(*T[...]).Method(0xc0000140a0, {0x1, 0x2}, ...)
	/home dir/a.go:12 +0x1d fp=0xc00004af88 sp=0xc00004af68 pc=0x47b2d6
main.inlined(...)
	/home dir/a.go:7
runtime.goexit({})
	/go/src/runtime/asm_amd64.s:1700 +0x1 fp=0xc00004afe8 sp=0xc00004afe0 pc=0x46a1c1
created by main.main in goroutine 1
	/home dir/a.go:30 +0x65

goroutine 1 [select (no cases)]:
main.main()
	/home dir/a.go:31 +0x65
`
	const stack = "    main.(*T[...]).Method\n        /home dir/a.go:12\n    main.inlined\n        /home dir/a.go:7\n"
	for _, c := range []struct {
		text string
		want crash
		ok   bool
	}{
		{"[signal SIGSEGV: segmentation violation code=0x2 addr=0x7f9c5b7f pc=0x47b2d6]\n" + frames, crash{0x7f9c5b7f, 7,
			stack + "    created by main.main in goroutine 1\n        /home dir/a.go:30\n"}, true},
		{"[signal SIGBUS: bus error code=0x2 addr=0x10 pc=0x4]\n\ngoroutine 1 [running] {route: \"/a: (\\n\", user: 7}:\nmain.main()\n\t/a.go:3 +0x1\n", crash{0x10, 1, "    main.main\n        /a.go:3\n"}, true}, // Labels, since Go 1.27.
		{"panic: x\n[signal SIGBUS: bus error code=0x2 addr=0x10 pc=0x4]\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:3 +0x1\n", crash{0x10, 1, "    main.main\n        /a.go:3\n"}, true},
		{"[signal SIGSEGV: segmentation violation code=0x2 addr=0x10 pc=0x4]\n", crash{addr: 0x10}, true},
		{"SIGSEGV: segmentation violation\nPC=0x5003b2 m=0 sigcode=2 addr=0x7f693da0\nsignal arrived during cgo execution\n\n" +
			"goroutine 5 gp=0x1 m=0 mp=0x2 [syscall]:\nruntime.cgocall(0x5003a0, 0x27a8a769f18)\n\t/go/cgocall.go:167 +0x4b fp=0x1 sp=0x2 pc=0x3\n" +
			"main._Cfunc_read(0x7f693da04f9f)\n\t_cgo_gotypes.go:48 +0x3f fp=0x1\nmain.main()\n\t/a.go:3 +0x1\n\nrax    0x7f693da04f9f\n",
			crash{0x7f693da0, 5, "    main._Cfunc_read\n        _cgo_gotypes.go:48\n    main.main\n        /a.go:3\n"}, true},
		{"SIGTRAP: trace trap\nPC=0x5003b2 m=0 sigcode=1\n", crash{}, false},
		{"[signal SIGSEGV: segmentation violation code=0x2 addr=0x", crash{}, false},
		{"[signal SIGSEGV: segmentation violation code=0x2 addr=0xfffffffffffffffff pc=0x1]", crash{}, false},
		{"panic: [signal addr=0x10]\n" + frames, crash{}, false},
		{"panic: of its own\n" + frames, crash{}, false},
		{"", crash{}, false},
	} {
		if got, ok := parseCrash(c.text); got != c.want || ok != c.ok {
			t.Errorf("%.60q: %v\n%+v\nwant\n%+v", c.text, ok, got, c.want)
		}
	}
}
