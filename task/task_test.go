package task_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

func TestVerdictsAreChecked(t *testing.T) {
	for _, c := range []struct {
		field string
		v     task.Verdict
	}{
		{"action", task.Verdict{}},
		{"action", task.Verdict{Action: "maybe"}},
		{"output", task.Verdict{Action: task.Fail, Reason: "x", Output: json.RawMessage("1")}},
		{"output", task.Verdict{Action: task.Complete, Output: json.RawMessage("{")}},
		{"output", task.Verdict{Action: task.Continue, Output: json.RawMessage(`"` + strings.Repeat("x", task.MaxOutput) + `"`)}},
		{"reason", task.Verdict{Action: task.Complete, Reason: "x"}},
		{"reason", task.Verdict{Action: task.Fail}},
		{"reason", task.Verdict{Action: task.Fail, Reason: strings.Repeat("x", 4001)}},
		{"reason", task.Verdict{Action: task.FailPermanent, Reason: "\xff"}},
		{"delay", task.Verdict{Action: task.Complete, Delay: 1}},
		{"delay", task.Verdict{Action: task.RetryAfter, Reason: "x", Delay: -1}},
		{"delay", task.Verdict{Action: task.Pause, Name: "x"}},
		{"delay", task.Verdict{Action: task.Pause, Name: "x", Delay: task.MaxPause + 1}},
		{"name", task.Verdict{Action: task.Pause, Delay: time.Second}},
		{"name", task.Verdict{Action: task.Fail, Reason: "x", Name: "x"}},
	} {
		var e *posthouse.Error
		if err := c.v.Check(); !errors.As(err, &e) || e.Field != c.field || e.Code != posthouse.CodeInvalid && e.Code != posthouse.CodeTooLarge {
			t.Errorf("%.60v: %v, not about %s", c.v, err, c.field)
		}
	}
	v := task.Verdict{Action: task.RetryAfter, Reason: "x", Delay: time.Millisecond}
	if err := v.Check(); err != nil || v.Delay != task.MinRetry {
		t.Errorf("%+v, %v", v, err)
	}
	v.Delay = 2 * time.Hour
	if err := v.Check(); err != nil || v.Delay != task.MaxRetry {
		t.Errorf("%+v, %v", v, err)
	}
	v = task.Verdict{Action: task.Complete}
	if err := v.Check(); err != nil || string(v.Output) != "null" {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestHellosAreChecked(t *testing.T) {
	good := task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"a"}, Concurrency: 1}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*task.Hello){
		"protocol": func(h *task.Hello) { h.Protocol++ },
		"worker":   func(h *task.Hello) { h.Worker = "" },
		"group":    func(h *task.Hello) { h.Group = "\x00" },
		"tasks":    func(h *task.Hello) { h.Tasks = nil },
		"atOnce":   func(h *task.Hello) { h.Concurrency = 10_001 },
	} {
		h := good
		spoil(&h)
		var e *posthouse.Error
		if err := h.Check(); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// FuzzParseVerdict: what parses is checked, and is the same when it is written and read again.
func FuzzParseVerdict(f *testing.F) {
	f.Add([]byte(`{"action":"complete","output":{"n":1}}`))
	f.Add([]byte(`{"action":"pause","name":"x","delay":1000000}`))
	f.Add([]byte(`{"action":"fail","reason":"x","more":1}`))
	f.Add([]byte(`{"action":"fail","action":"complete"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := task.ParseVerdict(data)
		if err != nil {
			var e *posthouse.Error
			if !errors.As(err, &e) || e.Field == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := task.ParseVerdict(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if again.Action != v.Action || again.Delay != v.Delay {
			t.Fatalf("%+v, %+v", v, again)
		}
	})
}

// TestVerdictsHaveExactNames at every depth.
func TestVerdictsHaveExactNames(t *testing.T) {
	for _, data := range []string{
		`{"Action":"complete"}`, `{"action":"complete","OUTPUT":1}`, `{"action":"await","waits":[{"Question":{"name":"x","kind":"approval"}}]}`,
		`{"action":"await","waits":[{"question":{"Name":"x","kind":"approval"}}]}`,
	} {
		var e *posthouse.Error
		if _, err := task.ParseVerdict([]byte(data)); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "verdict" {
			t.Errorf("%s: %v", data, err)
		}
	}
	if _, err := task.ParseVerdict([]byte(`{"action":"complete","output":{"Any":{"NAME":1}}}`)); err != nil {
		t.Error(err)
	}
}
