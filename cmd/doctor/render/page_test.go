// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor"
)

// full is a report with settings, a warning, and more findings than the screen has.
func full() *doctor.Report {
	r := sample()
	r.Warnings = []doctor.Warning{{What: "the profiles are of two builds", How: "profile one"}}
	for _, gogc := range []float64{200, 800} {
		r.Settings = append(r.Settings, doctor.Setting{GOGC: gogc, Gain: doctor.Gain{SameGOGC: 0.1, Error: 0.02}, CyclesLeft: 0.5, MoreBytes: 4 << 20, Proposed: gogc == 800})
	}
	f := r.Findings[0]
	for i := range 7 {
		f.Places = append(f.Places, doctor.Place{Owner: doctor.Site{Func: "a.F", File: "/src/own.go", Line: i + 1}, Site: doctor.Site{Func: "b.G"}, CPUShare: 0.01})
	}
	for i := range 7 {
		f.Remedy.Text = fmt.Sprintf("Remedy %d: call `freehold bench`.", i)
		r.Findings = append(r.Findings, f)
	}
	return r
}

func pageOf(t *testing.T, r *doctor.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, Subject{r, cpuProfile()}, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page has the order of the text: verdict, warnings, heap, settings, five findings, and the rest
// folded. It shows a snippet once.
func TestPageOrder(t *testing.T) {
	page, _, _ := strings.Cut(pageOf(t, full()), "<script>")
	at := 0
	for _, part := range []string{
		"<h1>Collection and allocation", "<strong>Warning:</strong> the profiles are of two builds; profile one", "Where the CPU time goes", "next GC at</dt><dd>160 MiB",
		"Settings <span", "now GOGC=100", ">GOGC=200<", ">GOGC=800<", "most for its memory", "What to change", `href="#finding-5"`, `<article id="finding-1">`,
		`<article id="finding-5">`, `<details><summary class="more">5 more findings`, `<article id="finding-6">`, `<article id="finding-10">`, "To know more", `id="flame"`,
	} {
		i := strings.Index(page[at:], part)
		if i < 0 {
			t.Fatalf("the page lacks %q, or has it before what it belongs behind", part)
		}
		at += i
	}
	for part, want := range map[string]int{
		"arena.New[node]": 2, `The code is the same as for <a href="#finding-1">finding 1</a>`: 7, "The remedy is the same as for": 1, "<code>freehold bench</code>": 7,
		"and 6 more places": 7, "own.go:5 a.F": 7, "own.go:6 a.F": 0, "and 2 more, in the object of -json": 7,
	} {
		if got := strings.Count(page, part); got != want {
			t.Errorf("%q is there %d times, want %d", part, got, want)
		}
	}
}

// Findings that are only information stand folded below a heading that says so.
func TestPageNothingToChange(t *testing.T) {
	r := sample()
	r.Findings = r.Findings[2:]
	if page := pageOf(t, r); !strings.Contains(page, "<h2>Nothing to change</h2>") || !strings.Contains(page, ">1 finding for information<") || strings.Contains(page, "What to change") {
		t.Error("the page asks for a change")
	}
}

// Without a CPU profile the page lists the lines that allocate most.
func TestPageAllocators(t *testing.T) {
	site := doctor.Site{Func: "example.com/b.Grow", File: "/src/b/grow.go", Line: 3}
	r := &doctor.Report{Verdict: "The cost is unknown", Allocators: []doctor.Allocator{
		{Site: site, Owner: doctor.Site{Func: "example.com/a.Run", File: "/src/a/run.go", Line: 7}, AllocBytes: 3 << 20, AllocBytesShare: 0.6, AllocObjects: 2e6, InUseBytes: 5 << 10},
	}}
	var b bytes.Buffer
	if err := HTML(&b, Subject{Report: r}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.Run  a/run.go:7 by b.Grow", `3.00 MiB <span class="quiet">60 %`, "2.00 million", "5.00 KiB"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"run `a <b>` & go": "run <code>a &lt;b&gt;</code> &amp; go", "one ` alone": "one ` alone", "12 ± 3 % of CPU": "12\u00a0±\u00a03\u00a0% of CPU",
		"in zstd.(*doubleFastEncoder).Encode. It": "in zstd.(*doubleFastEncoder)<wbr>.Encode. It", "in main.main": "in main.main",
		"128 KiB in 3 ms of 2 Bs": "128\u00a0KiB in 3\u00a0ms of 2 Bs",
	} {
		if got := string(prose(text)); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// theme is the colours of page.css by name: all of light, and in dark those that dark changes.
func theme(t *testing.T, dark bool) map[string]string {
	t.Helper()
	light, rest, ok := strings.Cut(pageStyle, "@media screen and (prefers-color-scheme: dark)")
	if !ok || strings.Count(pageStyle, "prefers-color-scheme") != 1 {
		t.Fatal("dark colours are not for screens alone: print would be dark")
	}
	colours := map[string]string{}
	read := func(css string) {
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]+);`).FindAllStringSubmatch(css, -1) {
			hex := m[2]
			if len(hex) == 3 {
				hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
			}
			colours[m[1]] = hex
		}
	}
	read(light)
	if dark {
		read(rest[:strings.Index(rest, "\n}")])
	}
	return colours
}

// linear is a colour without its gamma: red, green and blue from 0 to 1.
func linear(t *testing.T, hex string) (rgb [3]float64) {
	t.Helper()
	for i := range rgb {
		v, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		rgb[i] = math.Pow((float64(v)/255+0.055)/1.055, 2.4)
		if v <= 10 {
			rgb[i] = float64(v) / 255 / 12.92
		}
	}
	return rgb
}

// contrast is that of WCAG 2: 1 for equal colours, 21 for black and white.
func contrast(t *testing.T, a, b string) float64 {
	light := func(hex string) float64 {
		c := linear(t, hex)
		return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05
	}
	x, y := light(a), light(b)
	return max(x, y) / min(x, y)
}

type matrix [3][3]float64

func (m matrix) times(v [3]float64) (r [3]float64) {
	for i, row := range m {
		r[i] = row[0]*v[0] + row[1]*v[1] + row[2]*v[2]
	}
	return r
}

// eyes are matrices over linear colours for complete colour blindness, by Machado, Oliveira and
// Fernandes (2009).
var eyes = map[string]matrix{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// distance is the distance of two colours in Oklab as an eye sees them. Black and white are 1 apart,
// and 0.02 can just be told apart.
func distance(t *testing.T, eye, a, b string) float64 {
	lab := func(hex string) [3]float64 {
		lms := matrix{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005}}.times(eyes[eye].times(linear(t, hex)))
		for i := range lms {
			lms[i] = math.Cbrt(lms[i])
		}
		return matrix{{0.2104542553, 0.7936177850, -0.0040720468}, {1.9779984951, -2.4285922050, 0.4505937099}, {0.0259040371, 0.7827717662, -0.8086757660}}.times(lms)
	}
	x, y := lab(a), lab(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

// Text has a contrast of 4.5 and graphics have 3, in light and in dark. Neighbours in a bar differ for
// every eye, marking and idle marking most of all.
func TestPageColours(t *testing.T) {
	onLight := regexp.MustCompile(`\n(.*) \{ color: var\(--on-light\); \}`).FindStringSubmatch(pageStyle)
	if onLight == nil {
		t.Fatal("page.css does not say which parts have dark names")
	}
	for name, dark := range map[string]bool{"light": false, "dark": true} {
		c := theme(t, dark)
		atLeast := func(least float64, front, back string) {
			if c[front] == "" || c[back] == "" {
				t.Fatalf("%s: page.css lacks --%s or --%s", name, front, back)
			}
			if got := contrast(t, c[front], c[back]); got < least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %v", name, front, back, got, least)
			}
		}
		for front, backs := range map[string][]string{
			"ink": {"card", "back", "old", "new"}, "quiet": {"card", "back"}, "accent": {"back"}, "card": {"accent"},
			"on-badge": {"high", "medium", "low", "info"}, "on-heat": {"cold", "hot"}, "on-found": {"found"},
		} {
			for _, back := range backs {
				atLeast(4.5, front, back)
			}
		}
		atLeast(3, "edge", "card")
		if contrast(t, c["seam"], c["card"]) < 3 { // frames have no edge, so they need the contrast
			atLeast(3, "cold", "card")
			atLeast(3, "hot", "card")
		}
		for i, class := range classOrder {
			kind, label := partKind(class), "on-dark"
			if strings.Contains(onLight[1], ".part."+kind) {
				label = "on-light"
			}
			atLeast(3, kind, "card")
			atLeast(4.5, label, kind)
			if i == 0 {
				continue
			}
			before, least := partKind(classOrder[i-1]), 0.08
			if kind == "mark-idle" {
				least = 0.2
			}
			for eye := range maps.Keys(eyes) {
				if got := distance(t, eye, c[before], c[kind]); got < least {
					t.Errorf("%s, %s: %s and %s are %.3f apart, want %v", name, eye, before, kind, got, least)
				}
			}
		}
	}
}

// browser is a Chromium, "" if there is none.
func browser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// TestPageInBrowser presses keys in the flame graph, and looks for what does not fit on narrow screens.
func TestPageInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	chromium := browser()
	if chromium == "" {
		t.Skip("no Chromium in PATH; on Debian: apt-get install chromium")
	}
	script, err := os.ReadFile("testdata/browser.js")
	if err != nil {
		t.Fatal(err)
	}
	report, err := json.Marshal(pageOf(t, full())) // which has no < that could end the script
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, fmt.Appendf(nil, "<!doctype html><body><script>const report = %s;\n%s</script>", report, script), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--dump-dom", "file://"+filepath.ToSlash(file)).Output()
	if err != nil {
		t.Skipf("%s does not run here: %v", chromium, err)
	}
	m := regexp.MustCompile(`(?s)<pre id="result">(.*?)</pre>`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("the page's script failed:\n%.2000s", out)
	}
	type fit struct {
		Beyond                []string
		Scrolled, Gains, Seen int
	}
	var got struct {
		W360, W768, W1280 fit
		Keys              []string
		Stops             int
		Click, Out        string
		Folded            []int
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &got); err != nil {
		t.Fatal(err)
	}
	for width, f := range map[int]fit{360: got.W360, 768: got.W768, 1280: got.W1280} {
		if len(f.Beyond) > 0 || f.Scrolled > width || f.Gains != 5*3+2*3 || f.Seen < f.Gains {
			t.Errorf("%d pixels: %+v", width, f)
		}
	}
	if want := []string{
		"all of 1 1 3 1, above 0", "ArrowDown: main.main of 1 1 3 1, above 0", "ArrowDown: main.caller of 1 1 3 1, above 0",
		"ArrowRight: gc: marking (charged) of 1 1 3 1, above 0", "ArrowRight: runtime.newobject of 1 1 3 1, above 0", "ArrowRight: runtime.newobject of 1 1 3 1, above 0",
		"ArrowLeft: gc: marking (charged) of 1 1 3 1, above 0", "Enter: gc: marking (charged) of 1 1 1, above 2", "ArrowUp: main.main of 1 1 1, above 2",
		"Escape: main.main of 1 1 3 1, above 1", "Home: all of 1 1 3 1, above 0", "ArrowUp: all of 1 1 3 1, above 0", "Escape: all of 1 1 3 1, above 0",
	}; !slices.Equal(got.Keys, want) {
		t.Errorf("the keys lead to\n%s\nwant\n%s", strings.Join(got.Keys, "\n"), strings.Join(want, "\n"))
	}
	if got.Stops != 1 || got.Click != "main.caller of 1 1 1 1, above 2, out true" || got.Out != "main.caller of 1 1 3 1, above 1" {
		t.Errorf("%d stops for Tab; a click leads to %q, zooming out to %q", got.Stops, got.Click, got.Out)
	}
	if want := []int{11, 0, 11}; !slices.Equal(got.Folded, want) {
		t.Errorf("%v folded parts on the screen, in print and after, want %v", got.Folded, want)
	}
}
