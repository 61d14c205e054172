package main

import (
	"os"
	"os/exec"
	"path/filepath"
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

// TestServeLogsInByAProvider has its flags, and refuses those that let nobody in.
func TestServeLogsInByAProvider(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(flags ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), self, append([]string{"serve", "--ephemeral", "--addr", "127.0.0.1:0", "--data-dir", t.TempDir()}, flags...)...)
		cmd.Env = append(os.Environ(), "POSTHOUSE_RELEASE_TEST=1")
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%q ends with %v: %s", flags, err, out)
		}
		return string(out)
	}
	issuer := []string{"--oidc-issuer", "https://accounts.example.com", "--oidc-client-id", "posthouse", "--oidc-url", "https://posthouse.example.com"}
	if out := run(issuer...); !strings.Contains(out, "Roles are required") {
		t.Errorf("without roles it says %s", out)
	}
	if out := run(append(issuer, "--oidc-role", "king=*")...); !strings.Contains(out, "oidc-role") || !strings.Contains(out, "viewer, approver and operator") {
		t.Errorf("with another role it says %s", out)
	}
}

// TestFilesOfEndpointsHaveKinds reads a file with mail, which the binary without it refuses.
func TestFilesOfEndpointsHaveKinds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "notify.yaml")
	text := "mail:\n  server: smtp.example.com:587\n  from: posthouse@example.com\n  people: {alice: alice@example.com}\n  endpoints: [{name: mail}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "webhook", "check", path)
	cmd.Env = append(os.Environ(), "POSTHOUSE_RELEASE_TEST=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "1 webhook can be used") {
		t.Errorf("it ends with %v and says %s", err, out)
	}
}
