package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
)

const (
	sources     = 1200 // files of TypeScript
	entryPoints = 4
	sitePages   = 2000
)

// scripts leaves a web application: components in TypeScript with JSX, which import each other, and
// entry points.
func scripts(dir string) error {
	for i := range sources {
		if err := writeFile(script(i), dir, "src", fmt.Sprintf("component%d.tsx", i)); err != nil {
			return err
		}
	}
	h := "export function h(tag: string, attributes: object | null, ...children: unknown[]) { return {tag, attributes, children}; }\n"
	if err := writeFile([]byte(h), dir, "src", "h.ts"); err != nil {
		return err
	}
	for e := range entryPoints {
		var text bytes.Buffer
		for i := e; i < sources; i += entryPoints {
			fmt.Fprintf(&text, "import {Component%d} from './component%d';\n", i, i)
		}
		text.WriteString("export const all = [\n")
		for i := e; i < sources; i += entryPoints {
			fmt.Fprintf(&text, "  Component%d,\n", i)
		}
		text.WriteString("];\nconsole.log(all.length);\n")
		if err := writeFile(text.Bytes(), dir, "src", fmt.Sprintf("entry%d.tsx", e)); err != nil {
			return err
		}
	}
	return writeFile([]byte(`{"compilerOptions": {"jsx": "react", "jsxFactory": "h", "target": "es2020"}}`), dir, "tsconfig.json")
}

// script is one component: an interface, helper functions, a class with state, and markup.
func script(i int) []byte {
	r := rand.New(rand.NewPCG(3, uint64(i)))
	var b bytes.Buffer
	b.WriteString("import {h} from './h';\n")
	for k := 1; k <= 3 && i-k*7 >= 0; k++ {
		fmt.Fprintf(&b, "import {Component%d} from './component%d';\n", i-k*7, i-k*7)
	}
	fmt.Fprintf(&b, "\nexport interface Props%d { title: string; count: number; tags?: string[]; onSelect(item: string): void }\n\n", i)
	for k := range 20 {
		fmt.Fprintf(&b, `function helper%d(items: ReadonlyArray<string>, limit: number = %d): string[] {
  const result: string[] = [];
  for (const [index, item] of items.entries()) {
    if (index >= limit || item?.length === 0) continue;
    result.push(`+"`${item.trim()}-${index * %d}`"+`); // %s
  }
  return result.sort((a, b) => a.localeCompare(b)).map((x) => x ?? %q);
}

`, k, r.IntN(100), r.IntN(1000), words(r, 8), words(r, 4))
	}
	fmt.Fprintf(&b, "export class Component%d {\n  private state = {open: false, items: [] as string[]};\n  constructor(readonly props: Props%d) {}\n", i, i)
	for k := range 20 {
		fmt.Fprintf(&b, `  async select%d(value: string): Promise<boolean> {
    const next = {...this.state, open: !this.state.open, items: helper%d([value, ...this.state.items])};
    this.state = next;
    return next.items.length > %d && (await Promise.resolve(value)) !== %q;
  }
`, k, k, r.IntN(20), words(r, 2))
	}
	fmt.Fprintf(&b, "  render() {\n    return <section class=%q title={this.props.title}>\n", words(r, 2))
	for k := range 12 {
		fmt.Fprintf(&b, "      <div id=\"part-%d\" onclick={() => this.select%d(%q)}><span>{this.props.count + %d}</span>%s</div>\n", k, k, words(r, 1), k, words(r, 12))
	}
	b.WriteString("    </section>;\n  }\n}\n")
	return b.Bytes()
}

// site leaves a blog for Hugo: posts with headings, lists, tables and code, in sections and with
// tags, and a theme.
func site(dir string) error {
	files := map[string]string{
		"hugo.toml": "baseURL = 'https://blog.example.org/'\ntitle = 'A blog'\n[pagination]\npagerSize = 20\n" +
			"[taxonomies]\ntag = 'tags'\ncategory = 'categories'\n[markup.highlight]\nnoClasses = false\n",
		"layouts/baseof.html": `<!doctype html><html lang="en"><head><title>{{ .Title }} | {{ site.Title }}</title>
{{ with .Description }}<meta name="description" content="{{ . }}">{{ end }}<link rel="canonical" href="{{ .Permalink }}"></head>
<body>{{ partial "menu.html" . }}<main>{{ block "main" . }}{{ end }}</main>{{ partial "recent.html" . }}</body></html>`,
		"layouts/page.html": `{{ define "main" }}<article><h1>{{ .Title }}</h1><time>{{ .Date.Format "2 January 2006" }}</time>
<p>{{ .ReadingTime }} minutes, {{ .WordCount }} words</p>{{ .TableOfContents }}{{ .Content }}
<ul>{{ range .GetTerms "tags" }}<li><a href="{{ .RelPermalink }}">{{ .LinkTitle }}</a></li>{{ end }}</ul>
{{ with .PrevInSection }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}{{ with .NextInSection }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}
{{ range first 5 (site.RegularPages.Related .) }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}</article>{{ end }}`,
		"layouts/list.html": `{{ define "main" }}<h1>{{ .Title }}</h1>{{ range .Paginator.Pages }}<section><h2><a href="{{ .RelPermalink }}">{{ .Title | markdownify }}</a></h2>
<p>{{ .Summary | plainify | truncate 200 }}</p></section>{{ end }}{{ partial "pager.html" . }}{{ end }}`,
		"layouts/_partials/menu.html":   `<nav>{{ range site.Sections }}<a href="{{ .RelPermalink }}">{{ .Title | title }} ({{ len .RegularPages }})</a>{{ end }}</nav>`,
		"layouts/_partials/recent.html": `<aside>{{ range first 10 site.RegularPages.ByDate.Reverse }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}</aside>`,
		"layouts/_partials/pager.html":  `{{ with .Paginator }}<p>{{ .PageNumber }} of {{ .TotalPages }}</p>{{ end }}`,
	}
	for name, text := range files {
		if err := writeFile([]byte(text), dir, filepath.FromSlash(name)); err != nil {
			return err
		}
	}
	for i := range sitePages {
		if err := writeFile(post(i), dir, "content", fmt.Sprintf("section-%d", i%12), fmt.Sprintf("post-%d.md", i)); err != nil {
			return err
		}
	}
	return nil
}

func post(i int) []byte {
	r := rand.New(rand.NewPCG(5, uint64(i)))
	var b bytes.Buffer
	fmt.Fprintf(&b, "---\ntitle: %q\ndate: 20%02d-%02d-%02dT10:00:00Z\ndescription: %q\ntags: [tag-%d, tag-%d, tag-%d]\ncategories: [category-%d]\n---\n\n",
		words(r, 6), 10+i%15, 1+i%12, 1+i%28, words(r, 15), r.IntN(150), r.IntN(150), r.IntN(150), i%20)
	for k := range 5 {
		fmt.Fprintf(&b, "## Part %d: %s\n\n%s *%s* and **%s**, [%s](/section-%d/).\n\n", k, words(r, 4), words(r, 80), words(r, 2), words(r, 2), words(r, 3), k)
		for range 5 {
			fmt.Fprintf(&b, "- %s `%s`\n", words(r, 10), words(r, 1))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "```go\nfunc part%d(values []int) (sum int) {\n\tfor _, v := range values {\n\t\tif v > %d { // %s\n\t\t\tsum += v\n\t\t}\n\t}\n\treturn sum\n}\n```\n\n", i, r.IntN(100), words(r, 5))
	fmt.Fprintf(&b, "| a | b | c |\n|---|---|---|\n")
	for range 6 {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", words(r, 3), words(r, 2), r.IntN(1000))
	}
	return b.Bytes()
}
