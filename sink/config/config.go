// SPDX-License-Identifier: Apache-2.0

// Package config reads the configuration of freehold-sink: a file in YAML, whose keys the variables of the environment override.
package config

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Config is the configuration. The tag doc describes a key, and Write prints it.
type Config struct {
	Kafka   Kafka   `yaml:"kafka" doc:"where records come from"`
	Values  Values  `yaml:"values" doc:"what values are, if they are neither JSON nor text"`
	Store   Store   `yaml:"store" doc:"where objects go to"`
	Objects Objects `yaml:"objects" doc:"what is in an object, and what it is called"`
	Rotate  Rotate  `yaml:"rotate" doc:"where objects end: at the first of these boundaries; 0 is none. All open objects of a topic's partition end together, unless independent is set"`
	Bad     Bad     `yaml:"bad_records" doc:"what happens to records that cannot be written: values that are no JSON, missing fields"`
	Memory  Memory  `yaml:"memory" doc:"bounds of memory"`
	Stop    Stop    `yaml:"stop" doc:"what happens at SIGTERM and SIGINT, and when another member of the group takes a partition over"`
	HTTP    HTTP    `yaml:"http" doc:"the address of metrics, health and profiles"`
	Log     Log     `yaml:"log" doc:"messages on standard error"`
}

// Kafka has the keys of kafka.
type Kafka struct {
	Brokers          []string `yaml:"brokers" doc:"addresses to begin with, host:port; [embedded] starts a broker in this process, with demo orders in the topics, to try a configuration"`
	Topics           []string `yaml:"topics" doc:"names of topics"`
	MissingTopics    string   `yaml:"missing_topics" doc:"what happens while a topic does not exist or may not be read: wait (with a warning each half a minute) or stop (with an error)"`
	Group            string   `yaml:"group" doc:"name of the consumer group; instances with the same name share the partitions"`
	InstanceID       string   `yaml:"instance_id" doc:"name of this member, for static membership: an instance that comes back within the session timeout has its partitions again without a rebalance"`
	ServerSide       bool     `yaml:"server_side_assignment" doc:"the broker assigns partitions (KIP-848, Kafka 4.0 and later). Then its group.consumer.session.timeout.ms counts, and session_timeout does not"`
	SessionTimeout   Duration `yaml:"session_timeout" doc:"how long the group waits for a member that has died. If the brokers limit clients by quotas, heartbeats wait with the fetches, so let it be longer than they make a client wait: 11 s with their defaults"`
	RebalanceTimeout Duration `yaml:"rebalance_timeout" doc:"how long the group waits for a member that gives partitions up"`
	Start            string   `yaml:"start" doc:"where a partition without a committed offset begins: earliest or latest"`
	Reset            string   `yaml:"reset" doc:"where to go on if records were deleted before they were stored: stop (with an error), earliest or latest"`
	ReadCommitted    bool     `yaml:"read_committed" doc:"leave out records of transactions that were aborted"`
	FetchBytes       Size     `yaml:"fetch_bytes" doc:"largest response of a broker, as it has the records, compressed or not; there may be one of each broker"`
	PartitionBytes   Size     `yaml:"fetch_partition_bytes" doc:"largest part of one partition in a response"`
	Responses        string   `yaml:"responses" doc:"where responses to fetch requests lie: offheap, or client for the Go heap, as franz-go reads them"`
	BatchBytes       Size     `yaml:"batch_bytes" doc:"largest batch of records after decompression; a larger one stops the sink"`
	TLS              TLS      `yaml:"tls" doc:"encryption"`
	SASL             SASL     `yaml:"sasl" doc:"authentication"`
}

// TLS has the keys of kafka.tls.
type TLS struct {
	Enabled    bool   `yaml:"enabled" doc:"use TLS"`
	CAFile     string `yaml:"ca_file" doc:"certificates in PEM that sign the brokers'; empty is the system's"`
	CertFile   string `yaml:"cert_file" doc:"the client's certificate in PEM, for mTLS"`
	KeyFile    string `yaml:"key_file" doc:"the client's key in PEM, for mTLS"`
	ServerName string `yaml:"server_name" doc:"name that the brokers' certificates must have; empty is the name in the address"`
	SkipVerify bool   `yaml:"insecure_skip_verify" doc:"accept any certificate: only for tests"`
}

// SASL has the keys of kafka.sasl.
type SASL struct {
	Mechanism    string `yaml:"mechanism" doc:"plain, scram-sha-256, scram-sha-512, oauthbearer, or empty for none"`
	User         string `yaml:"user" doc:"name of the user"`
	PasswordFile string `yaml:"password_file" doc:"file with the password; it is read at each login, so it may change"`
	PasswordEnv  string `yaml:"password_env" doc:"name of the variable of the environment that has the password, instead of a file"`
	TokenFile    string `yaml:"token_file" doc:"file with the token of oauthbearer; it is read at each login"`
	TokenEnv     string `yaml:"token_env" doc:"name of the variable that has the token, instead of a file"`
}

// Values has the keys of values.
type Values struct {
	Type        string   `yaml:"type" doc:"text (JSON included) or protobuf: messages of Protocol Buffers, which become JSON or columns; fields of partition_by, columns and so on are read from them"`
	Descriptors string   `yaml:"descriptors_file" doc:"protobuf: a FileDescriptorSet, as protoc --include_imports --descriptor_set_out and buf build write it; empty takes the schemas of the registry"`
	Message     string   `yaml:"message" doc:"protobuf: full name of the message within descriptors_file, shop.v1.Order"`
	ProtoNames  bool     `yaml:"proto_names" doc:"protobuf: fields are called as in the .proto file (customer_id) and not as in ProtoJSON (customerId)"`
	Framing     string   `yaml:"framing" doc:"the framing of a schema registry at the beginning of values (a zero byte and the schema's id in 4 bytes): none, strip (it is taken off) or keep (it stays where values are stored whole; JSON, fields and columns are read behind it). A value without it is a bad record"`
	Registry    Registry `yaml:"registry" doc:"the schema registry. With it, ids are looked up, and a value whose id it does not know is a bad record. If it does not answer, records wait"`
}

// Registry has the keys of values.registry.
type Registry struct {
	URL          []string `yaml:"url" doc:"addresses of its servers, http://host:port or https://host:port; empty is no registry"`
	User         string   `yaml:"user" doc:"name of the user; empty if the registry asks for none"`
	PasswordFile string   `yaml:"password_file" doc:"file with the password; it is read for each request, so it may change"`
	PasswordEnv  string   `yaml:"password_env" doc:"name of the variable of the environment that has the password, instead of a file"`
	TokenFile    string   `yaml:"token_file" doc:"file with a bearer token, instead of user and password; it is read for each request"`
	RetryFor     Duration `yaml:"retry_for" doc:"how long a registry that does not answer is asked for a schema before the sink stops"`
	CAFile       string   `yaml:"ca_file" doc:"certificates in PEM that sign the servers'; empty is the system's"`
	CertFile     string   `yaml:"cert_file" doc:"the client's certificate in PEM, for mTLS"`
	KeyFile      string   `yaml:"key_file" doc:"the client's key in PEM, for mTLS"`
	ServerName   string   `yaml:"server_name" doc:"name that the servers' certificates must have; empty is the name in the address"`
	SkipVerify   bool     `yaml:"insecure_skip_verify" doc:"accept any certificate: only for tests"`
}

// Store has the keys of store.
type Store struct {
	URL             string   `yaml:"url" doc:"dir:///path, s3://bucket/prefix, gs://bucket/prefix, or mem:// for trials; for servers other than the vendors' with ?endpoint=http://host:port&region=...&path-style=true"`
	CredentialsFile string   `yaml:"credentials_file" doc:"s3: a shared file of the AWS tools; gs: the key of a service account; empty is the environment's or the machine's"`
	AccessKeyFile   string   `yaml:"access_key_file" doc:"s3: a file with the access key, with secret_key_file beside it"`
	SecretKeyFile   string   `yaml:"secret_key_file" doc:"s3: a file with the secret key"`
	CAFile          string   `yaml:"ca_file" doc:"s3: certificates in PEM that are trusted beside the system's"`
	Uploads         int      `yaml:"uploads" doc:"objects that are uploaded at once"`
	RetryFor        Duration `yaml:"retry_for" doc:"how long a refused upload is repeated before the sink stops"`
}

// Objects has the keys of objects.
type Objects struct {
	Key         string      `yaml:"key" doc:"template of keys with {topic}, {partition}, {group}, {offset} and {extension}; numbers take a width: {offset:020}. Topic, partition, group and offset are needed, so that no two objects have the same key"`
	Format      Format      `yaml:"format" doc:"how records are encoded"`
	Compression Compression `yaml:"compression" doc:"how content is compressed"`
	PartitionBy []Partition `yaml:"partition_by" doc:"how records of a topic's partition are divided into groups: a list, whose parts stand in {group} with a slash between them. Without it they are not"`
	CheckJSON   bool        `yaml:"check_json" doc:"a value that is no JSON is a bad record"`
}

// Format has the keys of objects.format.
type Format struct {
	Name       string   `yaml:"name" doc:"lines, jsonl, length-prefixed, csv, avro or parquet"`
	Envelope   []string `yaml:"envelope" doc:"jsonl, avro, parquet: what is written of a record, some of topic, partition, offset, timestamp, key, value, headers; empty writes the value alone"`
	Key        string   `yaml:"key" doc:"jsonl: how keys stand in an envelope: json, string or base64"`
	Value      string   `yaml:"value" doc:"jsonl: how values stand in an envelope: json, string or base64"`
	Columns    []string `yaml:"columns" doc:"csv: topic, partition, offset, timestamp, key, value, header.NAME or value.PATH: value.customer.id. parquet: fields of the value with their types, customer.id:int64; without columns and envelope they follow from the first 1,000 values, and columns of numbers (int64, double or JSON) keep every digit. If values are messages and there are no columns, all their fields are columns, beside the envelope"`
	Length     string   `yaml:"length" doc:"length-prefixed: varint or uint32"`
	SchemaFile string   `yaml:"schema_file" doc:"avro: the schema of values, which are JSON"`
	Tombstones string   `yaml:"tombstones" doc:"records without a value: bad, skip, or write as the format can"`
	Newlines   string   `yaml:"newlines" doc:"lines: values with a line feed: bad, space (each becomes one) or keep"`
}

// Compression has the keys of objects.compression.
type Compression struct {
	Codec       string `yaml:"codec" doc:"zstd, gzip, snappy, lz4 or none; avro and parquet compress within, with all but lz4 and at a level of their own"`
	Level       int    `yaml:"level" doc:"1 to 9 of gzip, 1 to 22 of zstd; 0 is the codec's default"`
	MemberBytes Size   `yaml:"member_bytes" doc:"content is compressed in members of this size, one after the other; larger ones need more memory and compress a little better"`
}

// Partition is an element of objects.partition_by. One of time, field, header and key is set.
type Partition struct {
	Time       string `yaml:"time" doc:"divide by time: $timestamp for the record's own, or the path of a field in the value"`
	Unit       string `yaml:"unit" doc:"what the time's field holds: ms or s, numbers that may have a fraction or an exponent, or rfc3339"`
	Layout     string `yaml:"layout" doc:"hour (dt=2006-01-02/hour=15), day, or a layout of Go's package time"`
	Zone       string `yaml:"zone" doc:"zone of the layout; empty is UTC"`
	OutOfRange string `yaml:"out_of_range" doc:"group of records before 1970 or after 2199; empty makes them bad records"`
	Field      string `yaml:"field" doc:"divide by a field of the value: its path, customer.country; numbers stay as they are written"`
	Header     string `yaml:"header" doc:"divide by a header: its key"`
	Key        bool   `yaml:"key" doc:"divide by the record's key"`
	Name       string `yaml:"name" doc:"stands before the value in the group, with an equals sign: country=DE; - leaves it out"`
	Missing    string `yaml:"missing" doc:"group of records without the time, field, header or key; empty makes them bad records"`
}

// Rotate has the keys of rotate.
type Rotate struct {
	Records int64    `yaml:"records" doc:"records of a topic's partition"`
	Bytes   Size     `yaml:"bytes" doc:"bytes of their keys, values and headers"`
	Span    Duration `yaml:"span" doc:"time between timestamps of records"`
	Age     Duration `yaml:"age" doc:"time by the clock since the first record came; see the promise of exactly once"`
	Every   Duration `yaml:"every" doc:"ends at multiples of this time of day in UTC, by the clock; see the promise of exactly once"`

	Independent bool  `yaml:"independent" doc:"each group's object ends by itself, and the boundaries count its records alone: for many groups, whose objects would be small otherwise"`
	Behind      int64 `yaml:"behind" doc:"with independent: an object ends when the partition is so many offsets behind its first record, which are read again after a restart; 0 is 1,000,000"`
}

// Bad has the keys of bad_records.
type Bad struct {
	Action string `yaml:"action" doc:"stop (with an error), objects (write them to objects of their own) or topic (send them to a topic)"`
	Topic  string `yaml:"topic" doc:"name of the topic, for action topic"`
	Key    string `yaml:"key" doc:"template of keys, for action objects; {group} is empty"`
}

// Memory has the keys of memory.
type Memory struct {
	InFlight    Size   `yaml:"in_flight" doc:"records and objects in flight, outside the Go heap; beyond it nothing is fetched"`
	Open        Size   `yaml:"open" doc:"content of a partition's open objects that is not compressed yet; beyond it the largest part is compressed"`
	SpillDir    string `yaml:"spill_dir" doc:"a directory on a local disk. If all memory is in open objects, their compressed content moves to files in it, and boundaries stay where they are; empty ends the largest open objects early"`
	SpillLimit  Size   `yaml:"spill_limit" doc:"the most bytes of these files"`
	Limit       Size   `yaml:"limit" doc:"memory of the process, for the Go collector; 0 is that of the container, or the machine's"`
	Compressors int    `yaml:"compressors" doc:"goroutines that compress; 0 is the number of processors"`
}

// Stop has the keys of stop.
type Stop struct {
	Flush   bool     `yaml:"flush" doc:"store open objects when stopping; without it their records are read again. By the clock, see the promise of exactly once"`
	Timeout Duration `yaml:"timeout" doc:"how long stopping may take"`
}

// HTTP has the keys of http.
type HTTP struct {
	Listen string `yaml:"listen" doc:"address for /metrics, /healthz and /readyz, and, as debug says, for a page that shows what the sink does, /stats and /debug/pprof; empty is none"`
	Debug  string `yaml:"debug" doc:"when the page, /stats and /debug/pprof are served, which show topics, arguments and memory of the process: loopback (if listen is an address of this machine alone), always or never"`
}

// Log has the keys of log.
type Log struct {
	Level  string `yaml:"level" doc:"debug, info, warn or error"`
	Format string `yaml:"format" doc:"text or json"`
}

// Default is the configuration of an empty file. It lacks brokers, topics and a store.
func Default() Config {
	return Config{
		Kafka: Kafka{
			MissingTopics: "wait", Group: "freehold-sink", SessionTimeout: Duration(45 * time.Second), RebalanceTimeout: Duration(time.Minute),
			Start: "earliest", Reset: "stop", FetchBytes: 2 << 20, PartitionBytes: 1 << 20, Responses: "offheap", BatchBytes: 256 << 20,
		},
		Values: Values{Type: "text", Framing: "none", Registry: Registry{RetryFor: Duration(10 * time.Minute)}},
		Store:  Store{Uploads: 8, RetryFor: Duration(10 * time.Minute)},
		Objects: Objects{
			Key:         "{topic}/{group}/{partition:04}-{offset:020}{extension}",
			Format:      Format{Name: "lines", Tombstones: "bad", Newlines: "bad"},
			Compression: Compression{Codec: "zstd", MemberBytes: 512 << 10},
		},
		Rotate: Rotate{Records: 25_000, Bytes: 64 << 20},
		Bad:    Bad{Action: "stop", Key: "rejected/{topic}/{partition:04}-{offset:020}{extension}"},
		Memory: Memory{InFlight: 80 << 20, Open: 4 << 20, SpillLimit: 10 << 30},
		Stop:   Stop{Timeout: Duration(5 * time.Second)},
		HTTP:   HTTP{Listen: "127.0.0.1:9466", Debug: "loopback"},
		Log:    Log{Level: "info", Format: "text"},
	}
}

// walk calls do for each key that is not a section.
func walk(v reflect.Value, prefix string, do func(path string, f reflect.StructField, v reflect.Value)) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		path := prefix + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			walk(v.Field(i), path+".", do)
			continue
		}
		do(path, f, v.Field(i))
	}
}

// Check looks for what is missing or contradicts itself, and returns all of it.
func (c Config) Check() error {
	var wrong []error
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	needed := func(missing bool, key string) {
		if missing {
			add("%s is missing", key)
		}
	}
	oneOf := func(key, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			add("%s is %q; it must be one of %q", key, value, allowed)
		}
	}
	between := func(key string, value, least, most Size) {
		if value < least || value > most {
			add("%s is %v; it must be between %v and %v", key, value, least, most)
		}
	}
	between("kafka.fetch_bytes", c.Kafka.FetchBytes, 1<<10, 1<<30)
	between("kafka.fetch_partition_bytes", c.Kafka.PartitionBytes, 1<<10, 1<<30)
	between("kafka.batch_bytes", c.Kafka.BatchBytes, 1<<10, 1<<30)
	between("memory.in_flight", c.Memory.InFlight, 1<<20, 1<<40)
	between("objects.compression.member_bytes", c.Objects.Compression.MemberBytes, 1<<10, 1<<30)
	needed(len(c.Kafka.Brokers) == 0, "kafka.brokers")
	needed(len(c.Kafka.Topics) == 0, "kafka.topics")
	needed(c.Kafka.Group == "", "kafka.group")
	needed(c.Store.URL == "", "store.url")
	oneOf("kafka.start", c.Kafka.Start, "earliest", "latest")
	oneOf("kafka.reset", c.Kafka.Reset, "stop", "earliest", "latest")
	oneOf("kafka.missing_topics", c.Kafka.MissingTopics, "wait", "stop")
	oneOf("kafka.responses", c.Kafka.Responses, "offheap", "client")
	oneOf("kafka.sasl.mechanism", c.Kafka.SASL.Mechanism, "", "plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
	oneOf("values.type", c.Values.Type, "text", "protobuf")
	oneOf("values.framing", c.Values.Framing, "none", "strip", "keep")
	oneOf("objects.format.name", c.Objects.Format.Name, "lines", "jsonl", "length-prefixed", "csv", "avro", "parquet")
	oneOf("bad_records.action", c.Bad.Action, "stop", "objects", "topic")
	needed(c.Bad.Action == "topic" && c.Bad.Topic == "", "bad_records.topic")
	oneOf("http.debug", c.HTTP.Debug, "loopback", "always", "never")
	oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf("log.format", c.Log.Format, "text", "json")
	if slices.Contains(c.Kafka.Topics, c.Bad.Topic) && c.Bad.Action == "topic" {
		add("bad_records.topic is %q, which is one of kafka.topics, so a bad record would come again without end", c.Bad.Topic)
	}
	c.Kafka.SASL.check(add)
	if t := c.Kafka.TLS; (t.CertFile == "") != (t.KeyFile == "") {
		add("kafka.tls.cert_file and kafka.tls.key_file belong together, but one is missing")
	}
	c.Values.check(add)
	c.Objects.Format.check(add)
	c.checkText(add)
	for i, p := range c.Objects.PartitionBy {
		set := 0
		for _, is := range []bool{p.Time != "", p.Field != "", p.Header != "", p.Key} {
			if is {
				set++
			}
		}
		if set != 1 {
			add("objects.partition_by[%d] has %d of time, field, header and key; it must have one", i, set)
		}
	}
	return errors.Join(wrong...)
}

// check looks for keys that the format would not look at.
func (f Format) check(add func(format string, args ...any)) {
	for _, k := range []struct {
		key     string
		set     bool
		formats []string
	}{
		{"envelope", len(f.Envelope) > 0, []string{"jsonl", "avro", "parquet"}}, {"key", f.Key != "", []string{"jsonl"}}, {"value", f.Value != "", []string{"jsonl"}},
		{"columns", len(f.Columns) > 0, []string{"csv", "parquet"}}, {"length", f.Length != "", []string{"length-prefixed"}},
		{"schema_file", f.SchemaFile != "", []string{"avro"}}, {"newlines", f.Newlines != "" && f.Newlines != "bad", []string{"lines"}},
	} {
		if k.set && !slices.Contains(k.formats, f.Name) {
			add("objects.format.%s is set, but objects.format.name is %s; the key is for %s", k.key, f.Name, strings.Join(k.formats, ", "))
		}
	}
}

// checkText looks for values that are no text where the format has text.
func (c Config) checkText(add func(format string, args ...any)) {
	f, what := c.Objects.Format, "values.framing is keep, and a framing is no text"
	messages := c.Values.Type == "protobuf"
	if messages {
		what = "values.type is protobuf, and messages are no text"
	}
	switch {
	case !messages && c.Values.Framing != "keep":
	case messages && f.Name == "lines":
		add("objects.format.name is lines, but %s; choose jsonl, csv, parquet, avro or length-prefixed", what)
	case f.Name == "jsonl" && f.Value == "string" && slices.Contains(f.Envelope, "value"):
		add("objects.format.value is string, but %s; choose json or base64", what)
	case f.Name == "csv" && slices.Contains(f.Columns, "value"):
		add("objects.format.columns has the column value, but %s; choose fields of it, or another format", what)
	}
}

// check looks for keys that are missing or contradict each other.
func (s SASL) check(add func(format string, args ...any)) {
	either := func(name, file, variable string) {
		switch {
		case file == "" && variable == "":
			add("kafka.sasl.%s_file is missing", name)
		case file != "" && variable != "":
			add("kafka.sasl.%s_file and kafka.sasl.%[1]s_env are both set; choose one", name)
		}
	}
	switch s.Mechanism {
	case "":
	case "oauthbearer":
		either("token", s.TokenFile, s.TokenEnv)
	default:
		if s.User == "" {
			add("kafka.sasl.user is missing")
		}
		either("password", s.PasswordFile, s.PasswordEnv)
	}
}

// check looks for keys that contradict each other.
func (v Values) check(add func(format string, args ...any)) {
	r := v.Registry
	switch protobuf := v.Type == "protobuf"; {
	case !protobuf && (v.Descriptors != "" || v.Message != "" || v.ProtoNames):
		add("values.type is text, but descriptors_file, message or proto_names are set, which are for protobuf")
	case protobuf && v.Descriptors == "" && len(r.URL) == 0:
		add("values.type is protobuf, but there is neither values.descriptors_file nor values.registry.url")
	case protobuf && (v.Descriptors == "") != (v.Message == ""):
		add("values.descriptors_file and values.message belong together, but one is missing")
	}
	for _, address := range r.URL {
		// The address is not shown, because it may have a password. net/url's error would repeat it, too.
		if u, err := url.Parse(address); err != nil || u.User != nil || u.RawQuery != "" {
			add("values.registry.url is not of the form https://host:port; user and password have keys of their own")
		}
	}
	if len(r.URL) > 0 && v.Framing == "none" {
		add("values.registry.url is set, but values.framing is none; choose strip or keep")
	}
	if len(r.URL) == 0 && (r.User != "" || r.PasswordFile != "" || r.PasswordEnv != "" || r.TokenFile != "" || r.CAFile != "" || r.CertFile != "") {
		add("values.registry.url is missing, but other keys of the registry are set")
	}
	if r.PasswordFile != "" && r.PasswordEnv != "" {
		add("values.registry.password_file and values.registry.password_env are both set; choose one")
	}
	if (r.CertFile == "") != (r.KeyFile == "") {
		add("values.registry.cert_file and values.registry.key_file belong together, but one is missing")
	}
}

// Size is a number of bytes: 4194304, 4MiB, 512KiB, 1GiB.
type Size int64

var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *Size) UnmarshalYAML(n *yaml.Node) error {
	number, factor := n.Value, int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || v*float64(factor) > 1<<62 {
		return fmt.Errorf("line %d: %q is no size; write it as 512KiB, 64MiB, 1.5GiB or a number of bytes", n.Line, n.Value)
	}
	*s = Size(v * float64(factor))
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (s Size) MarshalYAML() (any, error) { return s.String(), nil }

// String writes a size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units[:3] {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Duration is a time: 5s, 1h30m.
type Duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || v < 0 {
		return fmt.Errorf("line %d: %q is no time; write it as 500ms, 30s, 15m or 1h", n.Line, n.Value)
	}
	*d = Duration(v)
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }
