package seldom_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/base/seldom"
)

func TestLinesASecond(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(1_700_000_000, 0)
	l := seldom.New(slog.New(slog.NewTextHandler(&b, nil)), func() time.Time { return now })
	for range 100 {
		l.Warn("refused", "from", "x")
	}
	if n := strings.Count(b.String(), "\n"); n != seldom.PerSecond {
		t.Errorf("%d lines", n)
	}
	now = now.Add(time.Second)
	l.Warn("refused", "from", "y")
	l.Warn("refused", "from", "z")
	if !strings.Contains(b.String(), "from=y more=90\n") || !strings.HasSuffix(b.String(), "from=z\n") {
		t.Error(b.String())
	}
	now = now.Add(-time.Hour) // a clock that was set back
	l.Warn("refused", "from", "w")
	if !strings.HasSuffix(b.String(), "from=w\n") {
		t.Error(b.String())
	}
}
