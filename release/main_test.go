package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("POSTHOUSE_RELEASE_TEST") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestServeReadsTheEnvironment refuses what it cannot export, and so reads what is to be exported.
func TestServeReadsTheEnvironment(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "serve", "--ephemeral", "--addr", "127.0.0.1:0", "--data-dir", t.TempDir())
	cmd.Env = append(os.Environ(), "POSTHOUSE_RELEASE_TEST=1", "OTEL_TRACES_EXPORTER=zipkin")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "OTEL_TRACES_EXPORTER is neither otlp nor none") {
		t.Errorf("it ends with %v and says %s", err, out)
	}
}
