package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// connect is Kafka Connect with Apache's own file sink, two tasks, a heap of 1 GiB: what the framework costs before a connector does work. It
// writes lines to one file, without compression.
func connect(e *environment, dir string) (*exec.Cmd, error) {
	plugins := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(plugins, 0o777); err != nil {
		return nil, err
	}
	jars, err := filepath.Glob(filepath.Join(e.cluster.Libs(), "connect-file-*.jar"))
	if err != nil || len(jars) == 0 {
		return nil, fmt.Errorf("no jar of the file sink in %s", e.cluster.Libs())
	}
	if err := os.Symlink(jars[0], filepath.Join(plugins, filepath.Base(jars[0]))); err != nil {
		return nil, err
	}
	worker := filepath.Join(dir, "worker.properties")
	sink := filepath.Join(dir, "sink.properties")
	if err := os.WriteFile(worker, fmt.Appendf(nil, `bootstrap.servers=%s
key.converter=org.apache.kafka.connect.converters.ByteArrayConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.storage.file.filename=%s
offset.flush.interval.ms=1000
listeners=http://127.0.0.1:0
consumer.auto.offset.reset=earliest
plugin.path=%s
`, strings.Join(e.cluster.Addresses(), ","), filepath.Join(dir, "offsets"), plugins), 0o666); err != nil {
		return nil, err
	}
	if err := os.WriteFile(sink, fmt.Appendf(nil, `name=file-sink
connector.class=org.apache.kafka.connect.file.FileStreamSinkConnector
tasks.max=2
topics=%s
file=%s
`, e.topic, filepath.Join(e.objects, "lines")), 0o666); err != nil {
		return nil, err
	}
	cmd := exec.Command("java", "-Xms256m", "-Xmx1g", "-XX:+UseG1GC", "-Xlog:gc:file="+filepath.Join(dir, "gc.log"), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", filepath.Join(e.cluster.Libs(), "*"), "org.apache.kafka.connect.cli.ConnectStandalone", worker, sink)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	return cmd, nil
}

// connectGroup is the group of the sink's consumers, which Connect names after the connector.
const connectGroup = "connect-file-sink"
