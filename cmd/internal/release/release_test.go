// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// library is the import path of the library; the other modules lie below it.
const library = "github.com/freehold-go/freehold"

var modules = []Module{{library, ""}, {library + "/cmd", "cmd"}, {library + "/sink", "sink"}, adapter("arenaproto"), adapter("arrowmem"), adapter("grpcarena"), adapter("grpcmem"), adapter("memprof"), adapter("otelstats"),
	adapter("promstats"), adapter("z")}

func adapter(name string) Module { return Module{library + "/adapters/" + name, "adapters/" + name} }

// repository finds the folder that git keeps.
func repository() (string, error) {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	return strings.TrimSpace(string(out)), err
}

// TestZips: each module has its go.mod and a licence, and no file of another module.
func TestZips(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Skipf("no git, or no repository: %v", err)
	}
	dir := t.TempDir()
	if err := Serve(root, dir, "v0.1.0", modules); err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		file := filepath.Join(dir, filepath.FromSlash(m.Path), "@v", "v0.1.0.zip")
		checked, err := zip.CheckZip(module.Version{Path: m.Path, Version: "v0.1.0"}, file)
		if err != nil || len(checked.Invalid) > 0 || len(checked.Omitted) > 0 {
			t.Errorf("%s: %v, invalid %v, omitted %v", m.Path, err, checked.Invalid, checked.Omitted)
		}
		prefix, mods := m.Path+"@v0.1.0/", 0
		for _, name := range checked.Valid {
			if filepath.Base(name) == "go.mod" {
				mods++
			}
		}
		for _, name := range []string{"go.mod", "LICENSE"} {
			if !slices.Contains(checked.Valid, prefix+name) {
				t.Errorf("%s has no %s", m.Path, name)
			}
		}
		if mods != 1 {
			t.Errorf("%s has %d files go.mod", m.Path, mods)
		}
	}
}

// outside is a program of a user's.
const outside = `package main

import (
	"fmt"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

func main() {
	b := offheap.Alloc(1000)
	fmt.Println(len(b), freehold.HeapMode())
	offheap.Free(b)
}
`

func TestOutsideModule(t *testing.T) {
	p := serve(t)
	p.fetch(t, library, "1.26.0", "/...")
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/outside\n\ngo 1.26.0\n\nrequire "+library+" "+p.version+"\n")
	write(t, dir, "main.go", outside)
	if got, want := p.run(t, dir, "go", "run", "."), "1000 false"; got != want {
		t.Errorf("the program printed %q, want %q", got, want)
	}
	p.builds(t, dir, "example.com/outside", library, "golang.org/x/sys")
	p.bringsLittle(t, dir)
}

// bringsLittle checks that the library gives the program in dir no modules but its own two.
func (p proxy) bringsLittle(t *testing.T, dir string) {
	t.Helper()
	for line := range strings.Lines(p.run(t, dir, "go", "list", "-m", "all")) {
		switch name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name {
		case "example.com/outside", library, "golang.org/x/sys":
		default:
			t.Errorf("the library brings %s along", strings.TrimSpace(line))
		}
	}
}

// service is a program of a user's with an adapter that needs the standard library alone.
const service = `package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/httparena"
)

func main() {
	w := httptest.NewRecorder()
	httparena.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, arena.Concat(arena.FromContext(r.Context()), "served ", r.URL.Path))
	}), httparena.Options{}).ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
	fmt.Println(w.Body)
}
`

// TestOutsideStandardAdapter: a service with httparena gets neither a newer Go nor another module.
func TestOutsideStandardAdapter(t *testing.T) {
	p := serve(t)
	p.fetch(t, library, "1.26.0", "/httparena")
	dir := t.TempDir()
	mod := "module example.com/outside\n\ngo 1.26.0\n\nrequire " + library + " " + p.version + "\n"
	write(t, dir, "go.mod", mod)
	write(t, dir, "main.go", service)
	if got, want := p.run(t, dir, "go", "run", "."), "served /x"; got != want {
		t.Errorf("the program printed %q, want %q", got, want)
	}
	p.builds(t, dir, "example.com/outside", library, "golang.org/x/sys")
	p.bringsLittle(t, dir)
	if got := p.run(t, dir, "go", "list", "-m", "-f", "{{.GoVersion}}"); got != "1.26.0" {
		t.Errorf("the service needs Go %s now", got)
	}
}

// TestOutsideAdapters: a program with one adapter builds with the oldest Go of the library and with
// the versions that the adapter's go.mod names, which the other adapters do not raise.
func TestOutsideAdapters(t *testing.T) {
	p := serve(t)
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		name, ok := strings.CutPrefix(m.Dir, "adapters/")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p.fetch(t, m.Path, "1.26.0", "")
			dir := t.TempDir()
			write(t, dir, "go.mod", "module example.com/outside\n\ngo 1.26.0\n\nrequire "+m.Path+" "+p.version+"\n")
			write(t, dir, "main.go", "package main\n\nimport _ \""+m.Path+"\"\n\nfunc main() {}\n")
			p.run(t, dir, "go", "run", ".")
			if got := p.run(t, dir, "go", "list", "-m", "-f", "{{.GoVersion}}"); got != "1.26.0" {
				t.Errorf("the program needs Go %s now", got)
			}
			text, err := os.ReadFile(filepath.Join(root, m.Dir, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			named, err := modfile.Parse("go.mod", text, nil)
			if err != nil {
				t.Fatal(err)
			}
			lowest := map[string]string{library: p.version, m.Path: p.version}
			for _, r := range named.Require {
				lowest[r.Mod.Path] = r.Mod.Version
			}
			for line := range strings.Lines(p.run(t, dir, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", ".")) {
				path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
				if path != "" && path != "example.com/outside" && version != lowest[path] {
					t.Errorf("%s is built at %s, the adapter names %q", path, version, lowest[path])
				}
			}
		})
	}
}

// builds checks that the program in dir is built from packages of the standard library and of the modules alone.
func (p proxy) builds(t *testing.T, dir string, modules ...string) {
	t.Helper()
	for line := range strings.Lines(p.run(t, dir, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
		if name := strings.TrimSpace(line); name != "" && !slices.Contains(modules, name) {
			t.Errorf("the program is built from %s, too", name)
		}
	}
}

// TestReadmeExamples runs the examples of the README in a module of their own, as a reader would who copies them.
func TestReadmeExamples(t *testing.T) {
	p := serve(t)
	p.fetch(t, library, "1.26.0", "/...")
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	main := "package main\n\nimport (\n\t\"iter\"\n\t\"slices\"\n\n\t\"" + library + "/arena\"\n\t\"" + library + "/offheap\"\n)\n" + aroundReadme
	blocks := strings.Split(string(readme), "\n```go\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("the README has %d examples; this test knows what surrounds two", len(blocks))
	}
	for _, rest := range blocks {
		example, _, found := strings.Cut(rest, "\n```\n")
		if !found {
			t.Fatal("an example has no end")
		}
		main += "\n" + example + "\n"
	}
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/reader\n\ngo 1.26.0\n\nrequire "+library+" "+p.version+"\n")
	write(t, dir, "main.go", main)
	p.run(t, dir, "go", "get", library+"@"+p.version)
	p.run(t, dir, "go", "vet", ".")
	p.run(t, dir, "go", "run", ".")
	if out, err := exec.Command("gofmt", "-l", dir).Output(); err != nil || len(out) > 0 {
		t.Errorf("the examples are not in gofmt's form: %s %v", out, err)
	}
}

// aroundReadme is what the examples of the README leave to the reader.
const aroundReadme = `
type incoming struct{ text string }

type node struct {
	key  uint64
	next offheap.Ref[node]
}

func handle(orders []*incoming) int { return len(orders) }

func main() {
	if n := batches(slices.Values([][]string{{"one", "two"}, {"three"}})); n != 3 {
		panic(n)
	}
	if head := pushAll([]uint64{1, 2, 3}); head.Ptr().key != 3 {
		panic(head.Ptr().key)
	}
}
`

func TestInstallCommand(t *testing.T) {
	p := serve(t)
	p.fetch(t, library+"/cmd", "1.26.0", "/freehold")
	p.run(t, t.TempDir(), "go", "install", library+"/cmd/freehold@"+p.version)
	exe := filepath.Join(p.bin, "freehold")
	if runtime.GOOS == "windows" {
		exe += ".exe"
	}
	if got := p.run(t, t.TempDir(), exe, "--help"); !strings.Contains(got, "bench") {
		t.Errorf("freehold --help does not name bench:\n%s", got)
	}
}

// proxy is the environment of a user whose proxy serves our modules.
type proxy struct {
	version, bin string
	env          []string
}

// scratch holds the proxy, a module cache and the installed command, once for all tests.
var scratch string

func TestMain(m *testing.M) {
	code := 1
	dir, err := os.MkdirTemp("", "freehold-release-")
	if err == nil {
		scratch = dir
		code = m.Run()
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

var served = sync.OnceValues(func() (proxy, error) {
	root, err := repository()
	if err != nil {
		return proxy{}, err
	}
	v, err := Version(root)
	if err != nil {
		return proxy{}, err
	}
	// Once in the usual cache, what the modules depend on is served from there.
	get := exec.Command("go", "mod", "download")
	get.Dir = root
	if out, err := get.CombinedOutput(); err != nil {
		return proxy{}, fmt.Errorf("%w: %w\n%s", errOffline, err, out)
	}
	dir := filepath.Join(scratch, "proxy")
	if err := Serve(root, dir, v, modules); err != nil {
		return proxy{}, err
	}
	out, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return proxy{}, err
	}
	env := strings.Fields(string(out))
	bin := filepath.Join(scratch, "bin")
	return proxy{version: v, bin: bin, env: append(os.Environ(),
		// A cache of its own: the usual one must not learn a version that is not tagged yet.
		"GOMODCACHE="+filepath.Join(scratch, "cache"),
		"GOPROXY=file://"+filepath.ToSlash(dir)+",file://"+filepath.ToSlash(env[0])+"/cache/download,"+env[1],
		"GOBIN="+bin, "GOWORK=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod -modcacherw", "FREEHOLD=",
		// Built for this machine, whatever system the tests are built for: go install refuses others where GOBIN is set.
		"GOOS=", "GOARCH=",
	)}, nil
})

var errOffline = errors.New("what the modules depend on cannot be had here")

func serve(t *testing.T) proxy {
	t.Helper()
	if testing.Short() || os.Getenv("FREEHOLD_TEST_OUTSIDE") == "" {
		t.Skip("it builds everything anew in a module cache of its own: set FREEHOLD_TEST_OUTSIDE=1")
	}
	p, err := served()
	if errors.Is(err, errOffline) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fetch downloads what a user of the module's packages gets, who selects other versions than this workspace. Three times a network may fail,
// or say nothing for three minutes; whether it was the network, what the test does then shows.
func (p proxy) fetch(t *testing.T, module, goVersion, packages string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/fetch\n\ngo "+goVersion+"\n\nrequire "+module+" "+p.version+"\n")
	for pause := range 3 {
		time.Sleep(time.Duration(pause) * 5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", module+packages)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, p.env, 10*time.Second
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil {
			return
		}
		t.Logf("%v\n%s", err, out)
	}
}

// run returns what the command prints, without surrounding space.
func (p proxy) run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, p.env
	out, err := cmd.Output()
	if err != nil {
		stderr := ""
		if e, ok := err.(*exec.ExitError); ok {
			stderr = string(e.Stderr)
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
