// Command bluemonday runs the comments of a news site, which its readers write in a rich editor: the
// HTML is sanitized with bluemonday when it arrives, and the latest comments of an article are shown.
//
// Of ten requests seven are new comments of 1 to 3 KB, and three show an article's comments.
//
// The form after the change makes the policy once.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	articles = 500
	latest   = 20 // comments that an article shows
)

// comments are the latest ones of each article.
type comments struct {
	mu        sync.RWMutex
	byArticle map[string][][]byte
	sanitize  func(*bytes.Buffer) *bytes.Buffer
}

// commentPolicy allows what the editor makes: text, links, quotes, lists, and code with a language.
func commentPolicy() *bluemonday.Policy {
	p := bluemonday.UGCPolicy()
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[a-z]+$`)).OnElements("code")
	p.AllowAttrs("data-user").Matching(regexp.MustCompile(`^[0-9]{1,12}$`)).OnElements("span")
	p.RequireNoFollowOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}

func sanitize(comment *bytes.Buffer) *bytes.Buffer {
	policy := commentPolicy()
	return policy.SanitizeReader(comment)
}

func (c *comments) add(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(io.LimitReader(r.Body, 64<<10)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	clean := c.sanitize(&body).Bytes()
	article := r.PathValue("article")
	c.mu.Lock()
	list := append(c.byArticle[article], clean)
	if len(list) > latest {
		list = list[1:]
	}
	c.byArticle[article] = list
	c.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	w.Write(clean)
}

func (c *comments) show(w http.ResponseWriter, r *http.Request) {
	c.mu.RLock()
	list := append([][]byte(nil), c.byArticle[r.PathValue("article")]...)
	c.mu.RUnlock()
	io.WriteString(w, "<ol class=\"comments\">\n")
	for _, comment := range list {
		io.WriteString(w, "<li>")
		w.Write(comment)
	}
	io.WriteString(w, "</ol>\n")
}

func start(after bool) (load.Server, error) {
	c := &comments{byArticle: map[string][][]byte{}, sanitize: sanitize}
	if after {
		policy := commentPolicy()
		c.sanitize = func(comment *bytes.Buffer) *bytes.Buffer { return policy.SanitizeReader(comment) }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /articles/{article}/comments", c.add)
	mux.HandleFunc("GET /articles/{article}/comments", c.show)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

// comment is the n-th one, with what must not stay in it.
func comment(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<p>In reply to <span data-user="%d" onclick="steal()">reader %d</span>:</p><blockquote>I do not agree &amp; never did.</blockquote>`, n, n%977)
	for i := range 3 + n%8 {
		fmt.Fprintf(&b, `<p style="color:red">Paragraph %d says <b>something</b> of <i>interest</i>, see <a href="https://example.com/%d?page=%d">the report</a> and <a href="javascript:alert(%d)">this</a>.</p>`, i, n%200, i, i)
		if i%3 == 0 {
			fmt.Fprintf(&b, `<ul><li>first point %d<li>second point</ul><script>track(%d)</script>`, i, n)
		}
	}
	b.WriteString(`<pre><code class="language-go">if a &lt; b { return }</code></pre><img src="https://img.example.com/x.png" width="40" onerror="x()">`)
	return b.String()
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		url := fmt.Sprintf("%s/articles/%d/comments", address, i*7919%articles)
		var answer *http.Response
		var err error
		if i%10 < 7 {
			answer, err = client.Post(url, "text/html", strings.NewReader(comment(i)))
		} else {
			answer, err = client.Get(url)
		}
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && (answer.StatusCode >= 300 || bytes.Contains(text, []byte("script"))) {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 3_000, Connections: 8, Start: start, HasAfter: true, Dial: dial})
}
