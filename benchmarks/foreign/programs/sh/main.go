// Command sh formats shell scripts, as an editor's server or a commit hook over many files does:
// it parses each script and prints it.
//
// Each script has a parser and a printer of its own.
//
// The form after the change keeps one parser and one printer, which the module's documents allow.
package main

import (
	"bytes"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// part is a piece of a deployment script; each script has a number of them under different names.
const part = `
# deploy_%[1]d rolls out the service to all hosts of a zone
deploy_%[1]d() {
	local zone=$1 version=${2:-latest} hosts failed=0
	if [[ -z $zone || ! -d "/etc/zones/$zone" ]]; then
	echo "usage: $0 zone [version]" >&2; return 2
	fi
	mapfile -t hosts < <(grep -v '^#' "/etc/zones/$zone/hosts" | sort -u)
	for host in "${hosts[@]}"; do
	    if ! ssh -o ConnectTimeout=5 "deploy@$host" "docker pull registry.example.com/app-%[1]d:${version}" >>"$LOG" 2>&1
	then
	      echo "$host: pull failed"; ((failed++)); continue
	    fi
	ssh "deploy@$host" bash -s -- "$version" <<'EOF' | tee -a "$LOG"
set -eu
docker stop app || true
docker run -d --name app --restart=always -p 8080:8080 registry.example.com/app:$1
EOF
	  case "$(curl -fsS "http://$host:8080/health" || echo down)" in
	  ok|ready) echo "$host: ok";;
	  starting)  sleep $((%[1]d %% 7 + 1)) && retry=1 ;;
	  *) failed=$((failed + 1)); echo "$host: ${version%%.*} is down" >&2 ;;
	  esac
	done
	(( failed == 0 )) && echo "zone $zone: ${#hosts[@]} hosts at $version" || return 1
}
while read -r zone rest; do [ "$zone" = "" ] && continue; deploy_%[1]d "$zone" "$rest" & done < zones.txt; wait
export APP_%[1]d_HOME="${HOME}/apps/%[1]d" APP_%[1]d_ENV="$(hostname -s)-$(date +%%Y%%m%%d)"
`

func scripts() []string {
	all := make([]string, 100)
	for i := range all {
		var b strings.Builder
		b.WriteString("#!/usr/bin/env bash\nset -euo pipefail\n")
		for j := range 1 + i%6 {
			fmt.Fprintf(&b, part, i*10+j)
		}
		all[i] = b.String()
	}
	return all
}

// format returns the formatted script.
func format(p *syntax.Parser, w *syntax.Printer, i int, script string) []byte {
	f, err := p.Parse(strings.NewReader(script), fmt.Sprintf("script%d.sh", i))
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	if err := w.Print(&out, f); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func newParser() *syntax.Parser { return syntax.NewParser(syntax.KeepComments(true)) }
func newPrinter() *syntax.Printer {
	return syntax.NewPrinter(syntax.Indent(2), syntax.SwitchCaseIndent(true))
}

func before() load.Op {
	all := scripts()
	return func(i int) {
		if len(format(newParser(), newPrinter(), i, all[i%len(all)])) == 0 {
			panic("no output")
		}
	}
}

func after() load.Op {
	all := scripts()
	parser, printer := newParser(), newPrinter()
	return func(i int) {
		if len(format(parser, printer, i, all[i%len(all)])) == 0 {
			panic("no output")
		}
	}
}

func main() { load.Main(load.Sample{Ops: 6_000, Before: before, After: after}) }
