package service

import (
	"os"
	"sync"
)

// A TB is what the package needs of a test.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Missing skips a test without an installed server, or fails it if
// POSTHOUSE_REQUIRE_SERVICES is set.
func Missing(t TB, server, why string) {
	t.Helper()
	if os.Getenv("POSTHOUSE_REQUIRE_SERVICES") != "" {
		t.Fatalf("no %s is installed: %s", server, why)
	}
	t.Skipf("no %s is installed: %s; set POSTHOUSE_REQUIRE_SERVICES to make this an error", server, why)
}

// A Shared is a server that all tests of a process share.
type Shared struct {
	// Env is an environment variable with the URL. A test binary that is started again by
	// one of its tests finds the server of its parent there.
	Env string

	mu   sync.Mutex
	stop func()
}

// URL returns the server's URL, and starts it before the first test that asks.
func (s *Shared) URL(t TB, start func() (url string, stop func())) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if url := os.Getenv(s.Env); url != "" {
		return url
	}
	url, stop := start()
	s.stop = stop
	if err := os.Setenv(s.Env, url); err != nil {
		t.Fatalf("%s: %v", s.Env, err)
	}
	return url
}

// Stop ends the server, if this process has started it.
func (s *Shared) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
		s.stop = nil
		_ = os.Unsetenv(s.Env)
	}
}

// A Main runs the tests of a package and then stops a shared server. It goes where a
// *testing.M goes, as in goleak.VerifyTestMain(pgtest.Main(m)).
type Main struct {
	Tests interface{ Run() int }
	Then  func()
}

// Run runs the tests.
func (m Main) Run() int {
	defer m.Then()
	return m.Tests.Run()
}
