package env

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestLogFlags logs by the flags, and by a level that is set later.
func TestLogFlags(t *testing.T) {
	var l LogFlags
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	l.Add(f, "warn")
	must.Do(t, f.Parse([]string{"--log-format", "json"}))
	var out bytes.Buffer
	log, err := l.Logger(&out)
	must.Do(t, err)
	log.Info("unseen")
	log.Warn("seen")
	l.Level.Set(slog.LevelDebug)
	log.Debug("seen, too")
	if lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n")); len(lines) != 2 || !bytes.Contains(lines[0], []byte(`"msg":"seen"`)) || !bytes.Contains(lines[1], []byte(`"level":"DEBUG"`)) {
		t.Errorf("the log is %s", out.Bytes())
	}
	for flag, value := range map[string]string{"log-level": "loud", "log-format": "xml"} {
		var l LogFlags
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		l.Add(f, "info")
		must.Do(t, f.Parse([]string{"--" + flag, value}))
		_, err := l.Logger(&out)
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != flag {
			t.Errorf("--%s %s: %v", flag, value, err)
		}
	}
}
