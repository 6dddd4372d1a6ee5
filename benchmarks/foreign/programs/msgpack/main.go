// Command msgpack receives the readings of sensors: a gateway posts a batch of 100 in MessagePack, and
// the service keeps for each sensor its latest reading and the mean of its temperature.
//
// A reading has 16 fields, of which the service needs five.
//
// The form after the change decodes into a struct with these five.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	sensors = 5000
	batch   = 100
)

// state is what is known of a sensor.
type state struct {
	at          int64
	temperature float64
	humidity    float64
	battery     float64
	count       int
	sum         float64
}

// station has the sensors by name.
type station struct {
	mu      sync.Mutex
	sensors map[string]*state
	read    func(s *station, body []byte) (int, error)
}

func (s *station) add(name string, at int64, temperature, humidity, battery float64) {
	known := s.sensors[name]
	if known == nil {
		known = &state{}
		s.sensors[name] = known
	}
	known.at, known.temperature, known.humidity, known.battery = at, temperature, humidity, battery
	known.count++
	known.sum += temperature
}

func readMaps(s *station, body []byte) (int, error) {
	var readings []map[string]any
	if err := msgpack.Unmarshal(body, &readings); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range readings {
		name, named := r["sensor"].(string)
		at, timed := r["at"].(int64)
		temperature, known := r["temperature"].(float64)
		if !named || !timed || !known {
			return 0, fmt.Errorf("a reading without sensor, time or temperature: %v", r)
		}
		humidity, _ := r["humidity"].(float64)
		battery, _ := r["battery"].(float64)
		s.add(name, at, temperature, humidity, battery)
	}
	return len(readings), nil
}

// reading has the fields that the station needs.
type reading struct {
	Sensor      string  `msgpack:"sensor"`
	At          int64   `msgpack:"at"`
	Temperature float64 `msgpack:"temperature"`
	Humidity    float64 `msgpack:"humidity"`
	Battery     float64 `msgpack:"battery"`
}

func readStructs(s *station, body []byte) (int, error) {
	var readings []reading
	if err := msgpack.Unmarshal(body, &readings); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range readings {
		s.add(r.Sensor, r.At, r.Temperature, r.Humidity, r.Battery)
	}
	return len(readings), nil
}

func (s *station) ingest(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n, err := s.read(s, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, n)
}

func start(after bool) (load.Server, error) {
	s := &station{sensors: map[string]*state{}, read: readMaps}
	if after {
		s.read = readStructs
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /readings", s.ingest)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

// bodies are the batches that the client sends in turns.
func bodies() ([][]byte, error) {
	var all [][]byte
	for i := range 200 {
		var readings []map[string]any
		for k := range batch {
			n := (i*batch + k*37) % sensors
			readings = append(readings, map[string]any{
				"sensor": fmt.Sprintf("sensor-%05d", n), "gateway": fmt.Sprintf("gateway-%d", i%40), "at": int64(1_792_000_000_000 + i), "site": "plant north",
				"temperature": 15 + float64(n%200)/10, "humidity": float64(n%100) / 2, "pressure": 990 + float64(n%50), "battery": float64(n%100) / 100,
				"firmware": fmt.Sprintf("2.%d.%d", n%4, n%20), "rssi": -40 - n%50, "uptime": int64(n * 1000), "charging": n%3 == 0,
				"unit": "C", "sequence": int64(i), "position": []float64{float64(n % 50), float64(n % 30), 2}, "flags": []string{"calibrated", "indoor"},
			})
		}
		body, err := msgpack.Marshal(readings)
		if err != nil {
			return nil, err
		}
		all = append(all, body)
	}
	return all, nil
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	all, err := bodies()
	if err != nil {
		return nil, err
	}
	return func(i int) error {
		answer, err := client.Post(address+"/readings", "application/msgpack", bytes.NewReader(all[i%len(all)]))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && string(text) != fmt.Sprint(batch) {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 2_500, Connections: 6, Start: start, HasAfter: true, Dial: dial})
}
