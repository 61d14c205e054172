package natslink_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse/task/link"
)

// A diary collects a log.
type diary struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.b.Write(p)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.b.String()
}

// TestRefusedTokensAreLogged at the default level, with where they came from and never with what
// was sent, and so few a second that they fill no disk.
func TestRefusedTokensAreLogged(t *testing.T) {
	d := &diary{}
	good := &only{tokens: map[string]bool{"good": true}}
	at := listen(t, link.Options{Listen: "127.0.0.1:0", Allow: good.allow, Logger: slog.New(slog.NewTextHandler(d, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	try := func(o ...nats.Option) {
		t.Helper()
		if c, err := nats.Connect(at, append(o, nats.MaxReconnects(0))...); err == nil {
			c.Close()
			t.Error("it may connect")
		}
	}
	try(nats.Token("wrong-secret"))
	for _, want := range []string{"a worker's token was refused", "level=WARN", "from=127.0.0.1:"} {
		if !strings.Contains(d.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, d.String())
		}
	}
	for range 200 {
		try(nats.Token("wrong-secret"))
		try(nats.UserInfo("wrong-user", "wrong-secret"))
		try()
	}
	if n := strings.Count(d.String(), "\n"); n > 100 {
		t.Errorf("%d lines", n)
	}
	if s := d.String(); strings.Contains(s, "wrong-") {
		t.Errorf("the log shows what was sent:\n%s", s)
	}
}
