// SPDX-License-Identifier: Apache-2.0

package promstats_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/freehold-go/freehold/adapters/promstats"
	"github.com/freehold-go/freehold/offheap"
)

func Example() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(promstats.NewCollector())
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()

	index := offheap.NewPurpose("index")
	defer offheap.Free(index.Alloc(1 << 20))

	answer, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "freehold_purpose_in_use_bytes{purpose=\"index\"}") {
			fmt.Print(line)
		}
	}
	// Output: freehold_purpose_in_use_bytes{purpose="index"} 1.048576e+06
}
