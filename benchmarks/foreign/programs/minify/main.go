// Command minify minifies pages with tdewolff/minify, as the middleware of a web server does: HTML
// with style sheets, scripts and JSON in it.
package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/html"
	"github.com/tdewolff/minify/v2/js"
	"github.com/tdewolff/minify/v2/json"
	"github.com/tdewolff/minify/v2/svg"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

func main() {
	load.Main(load.Sample{Ops: 1200, Before: before})
}

func before() load.Op {
	m := minify.New()
	m.AddFunc("text/css", css.Minify)
	m.AddFunc("text/html", html.Minify)
	m.AddFunc("image/svg+xml", svg.Minify)
	m.AddFuncRegexp(regexp.MustCompile("^(application|text)/(x-)?(java|ecma)script$"), js.Minify)
	m.AddFuncRegexp(regexp.MustCompile("[/+]json$"), json.Minify)
	pages := make([]string, 20)
	for i := range pages {
		pages[i] = page(i)
	}
	return func(i int) {
		page := pages[i%len(pages)]
		small, err := m.String("text/html", page)
		if err != nil || len(small) >= len(page) {
			panic(fmt.Sprint(len(small), err))
		}
	}
}

// page is one of about 40 KB.
func page(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n  <head>\n    <title>Shop, page %d</title>\n    <style>\n", n)
	for i := range 60 {
		fmt.Fprintf(&b, "      .card-%d > a:hover, #box%d {\n        margin: 0px 0px 0px %dpx;\n        color: #ff%02x00;\n        background-color: rgba(%d, 20, 20, 0.50);\n      }\n", i, i, i, i, i)
	}
	b.WriteString("    </style>\n    <script>\n")
	for i := range 40 {
		fmt.Fprintf(&b, "      function handler%[1]d(event, options) {\n        var total = 0;\n        for (var index = 0; index < options.length; index++) {\n          if (options[index].value !== undefined) { total += options[index].value * %[1]d; }\n        }\n        // the total\n        document.getElementById('total-%[1]d').innerText = 'Total: ' + total.toString();\n        return total > 100 ? true : false;\n      }\n", i)
	}
	fmt.Fprintf(&b, "    </script>\n    <script type=\"application/ld+json\">\n      { \"@type\": \"Store\",  \"page\": %d }\n    </script>\n  </head>\n  <body class=\"page\">\n", n)
	for i := range 120 {
		fmt.Fprintf(&b, "    <!-- item %[1]d -->\n    <div class=\"card  card-%[1]d\" style=\"width: 100px; height: 0px\" data-id='%[1]d'>\n      <a href=\"https://shop.example.com/items/%[2]d\" target=\"_self\">Item <b> %[1]d </b></a>\n      <p>  A fine thing,   made in %[2]d.  </p>\n      <input type=\"text\" disabled=\"disabled\" value=\"\">\n    </div>\n", i, n*120+i)
	}
	b.WriteString("    <svg width=\"10px\" height=\"10px\"><path d=\"M 10.000 10 L 20.0 20 L 30 10.5 Z\" fill=\"#ff0000\"/></svg>\n  </body>\n</html>\n")
	return b.String()
}
