// SPDX-License-Identifier: Apache-2.0

package service

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/freehold-go/freehold/adapters/memprof"
	"github.com/freehold-go/freehold/gctune"
)

// page shows what /stats serves, and asks for it each second.
//
//go:embed page.html
var page []byte

// serve serves metrics and health, and the page and profiles where debugging allows it, until the
// returned function is called.
func (s *Service) serve() (stop func()) {
	s.metrics.registry.MustRegister(s)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.running.Load() {
			http.Error(w, "starting or stopping", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	if debugging(s.config.HTTP.Debug, s.listener.Addr()) {
		s.debug(mux)
	} else {
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "http.debug does not allow it: this address serves /metrics, /healthz and /readyz alone", http.StatusForbidden)
		})
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serving HTTP", "error", err)
		}
	}()
	return func() {
		server.Close() // Closes the listener, too.
		<-done
	}
}

// debugging reports whether the page, /stats and /debug may be served at an address: what they show
// of the process is not for the network.
func debugging(option string, at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return option == "always" || option == "loopback" && ok && tcp.IP.IsLoopback()
}

// debug adds the page, what it shows, and the profiles.
func (s *Service) debug(mux *http.ServeMux) {
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		json.NewEncoder(w).Encode(s.State())
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		// The page loads nothing from anywhere else, and no other page may show it in a frame.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'")
		w.Write(page)
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.Handle("/debug/pprof/offheap", memprof.Handler())
	mux.Handle(gctune.HandlerPath, gctune.Handler())
}
