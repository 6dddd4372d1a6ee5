// SPDX-License-Identifier: Apache-2.0

package kafkatest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is that of Kafka.
const Version = "4.3.1"

// LibsVariable names a folder with the jars of Kafka: libs of an unpacked release. Then Install fetches nothing.
const LibsVariable = "FREEHOLD_KAFKA_LIBS"

// ErrUnavailable says that this machine cannot run a broker. The error around it says what is missing.
var ErrUnavailable = errors.New("no Kafka on this machine")

//go:embed pom.xml
var pom []byte

// Install returns the folder with Kafka's jars. The first call has Maven fetch them, 54 MB, into the user's folder of caches.
func Install(ctx context.Context) (libs string, err error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("%w: install Java 17 or later (Debian: apt-get install openjdk-17-jre-headless): %w", ErrUnavailable, err)
	}
	if libs := os.Getenv(LibsVariable); libs != "" {
		if !complete(libs) {
			return "", fmt.Errorf("%w: %s is %s, which has no jar of a broker", ErrUnavailable, LibsVariable, libs)
		}
		return libs, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	libs = filepath.Join(cache, "freehold", "kafka-"+Version)
	if complete(libs) {
		return libs, nil
	}
	return libs, fetch(ctx, libs)
}

// complete reports whether a folder has the jar of the broker.
func complete(libs string) bool {
	found, _ := filepath.Glob(filepath.Join(libs, "kafka_2.13-*.jar")) // The error is for a bad pattern.
	return len(found) > 0
}

// fetch has Maven copy the jars to a folder, which is there afterwards with all of them, or not at all.
func fetch(ctx context.Context, libs string) error {
	if _, err := exec.LookPath("mvn"); err != nil {
		return fmt.Errorf("%w: install Maven (Debian: apt-get install maven), or let %s name the folder libs of an unpacked Kafka: %w", ErrUnavailable, LibsVariable, err)
	}
	if err := os.MkdirAll(filepath.Dir(libs), 0o777); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(libs), "fetching")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o666); err != nil {
		return err
	}
	jars := filepath.Join(dir, "libs")
	out, err := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+jars).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: fetching the jars by Maven: %w\n%s", ErrUnavailable, err, out)
	}
	if err := os.Rename(jars, libs); err != nil && !complete(libs) { // Another process may have fetched them meanwhile.
		return err
	}
	return nil
}
