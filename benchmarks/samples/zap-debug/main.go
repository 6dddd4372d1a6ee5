// Command zap-debug makes the text of debug messages that a logger at level info then drops.
//
// After the change it asks the logger first.
package main

import (
	"io"
	"strconv"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// checksum keeps the compiler from dropping the work.
var checksum uint64

func main() {
	load.Main(load.Sample{Ops: 160_000, Before: before, After: after})
}

func before() load.Op {
	log := logger()
	return func(i int) {
		for step := range 40 {
			log.Debug("request " + strconv.Itoa(i) + " of tenant-eu-central: step " + strconv.Itoa(step) + " done, checksum " +
				strconv.FormatUint(checksum, 16))
			work(i, step)
		}
		log.Info("request done")
	}
}

func after() load.Op {
	log := logger()
	return func(i int) {
		for step := range 40 {
			if log.Core().Enabled(zapcore.DebugLevel) {
				log.Debug("request " + strconv.Itoa(i) + " of tenant-eu-central: step " + strconv.Itoa(step) + " done, checksum " +
					strconv.FormatUint(checksum, 16))
			}
			work(i, step)
		}
		log.Info("request done")
	}
}

// work is what the service is there for.
func work(i, step int) {
	x := uint64(i)<<32 | uint64(step)
	for range 100 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		checksum += x
	}
}

func logger() *zap.Logger {
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(io.Discard), zapcore.InfoLevel))
}
