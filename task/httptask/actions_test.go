package httptask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// TestVerbsOverHTTP: a handler that reaches its engine over HTTP has every verb, and each
// does what it does elsewhere.
func TestVerbsOverHTTP(t *testing.T) {
	e := startEngine(t, true)
	var said []string
	w, err := worker.New(e.reach("w", tokens.Worker), &worker.Options{Name: "w"})
	must.Do(t, err)
	w.HandleFunc("double", func(t worker.Task) error {
		state, err := t.LoadCheckpoint()
		if err != nil {
			return worker.Permanent(err)
		}
		said = append(said, fmt.Sprintf("%d.%d %q %s %s %v", t.Iteration(), t.Attempt(), t.Resumed(), t.Continued(), state, state == nil))
		switch {
		case t.Iteration() == 1:
			return finish(t)
		case t.Attempt() == 2:
			return errors.Join(t.Checkpoint([]byte("kept")), t.Continue(map[string]int{"n": 1}))
		case t.Resumed() != "":
			return t.RetryAfter(errors.New("busy"), time.Millisecond)
		}
		return errors.Join(t.Checkpoint(nil), t.Heartbeat(), t.Pause("nap", 20*time.Millisecond))
	})
	run(t, w.Run)
	_, err = e.app.Run(t.Context(), "t", 21)
	must.Do(t, err)
	e.done("t")
	want := []string{
		`0.1 ""   true`, `0.1 "nap"   false`, `0.2 ""   false`, `1.1 "" {"n":1} kept false`,
		`1.1 "" {"n":1} kept false`, `1.1 "" {"n":1} kept false`, // after the wait for a signal, and after the wait in vain
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	res, err := e.app.Result(t.Context(), "t")
	if err != nil || res.Output != 43 {
		t.Errorf("result %+v, error %v", res, err)
	}
}

// finish records a step, takes a signal that is there, and waits in vain for another.
func finish(t worker.Task) error {
	one, err := step.Do(t.Context(), "one", func(context.Context) (int, error) { return 1, nil })
	if err != nil {
		return err
	}
	if err := errors.Join(t.Stream("half"), t.SendSignal(t.RunID(), "paid", 42)); err != nil {
		return err
	}
	paid, err := t.WaitSignal("paid", 0)
	if err != nil {
		return err
	}
	_, err = t.WaitSignal("never", 20*time.Millisecond)
	if !errors.Is(err, posthouse.ErrExpired) {
		return err
	}
	var n int
	if err := json.Unmarshal(paid, &n); err != nil {
		return err
	}
	return t.Complete(n + one)
}

// TestActionsThatDoNotFit are refused with the field, and the claim stays as it is.
func TestActionsThatDoNotFit(t *testing.T) {
	e := startEngineWith(t, true, &ledger.Options{LeaseTTL: time.Minute}) // the session sends no heartbeats
	far := e.reach("w", tokens.Worker)
	_, err := e.app.Run(t.Context(), "t", 1)
	must.Do(t, err)
	session, err := far.Connect(t.Context(), hello())
	must.Do(t, err)
	c, err := far.Claim(t.Context(), session.ID)
	must.Do(t, err)
	secret, err := e.tokens.Create("raw", tokens.Worker, nil)
	must.Do(t, err)
	post := func(method, body string) (status int, p posthouse.Error) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", e.http.URL+"/api/worker/"+method, strings.NewReader(body))
		must.Do(t, err)
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		a, err := e.http.Client().Do(r)
		must.Do(t, err)
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		must.Do(t, err)
		must.Do(t, json.NewDecoder(bytes.NewReader(text)).Decode(&p))
		return a.StatusCode, p
	}
	claim := fmt.Sprintf(`"claim":{"gate":%q,"fence":%d}`, c.ID.Gate, c.ID.Fence)
	for field, verdict := range map[string]string{
		"delay":   `{"action":"pause","name":"nap","delay":0}`,
		"name":    `{"action":"pause","name":"","delay":1000000}`,
		"action":  `{"action":"checkpoint"}`,
		"reason":  `{"action":"fail"}`,
		"output":  `{"action":"fail","reason":"x","output":1}`,
		"verdict": `{"action":"complete","more":1}`,
	} {
		if status, p := post("resolve", "{"+claim+`,"verdict":`+verdict+"}"); status != http.StatusBadRequest || p.Code != posthouse.CodeInvalid || p.Field != field {
			t.Errorf("%s: %d %+v", field, status, p)
		}
	}
	if _, p := post("save", `{"claim":{"gate":"gate-x","fence":1},"value":"eA=="}`); p.Code != posthouse.CodeConflict {
		t.Errorf("a claim that is not there: %+v", p)
	}
	must.Do(t, far.Save(t.Context(), c.ID, 1, make([]byte, task.MaxSlot)))
	if v, err := far.Load(t.Context(), c.ID); err != nil || len(v) != task.MaxSlot {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	must.Do(t, far.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage("2")}))
	e.done("t")
}

// TestAnEmptySlotOverHTTP: an empty slot differs from a missing and from a cleared one,
// as in process.
func TestAnEmptySlotOverHTTP(t *testing.T) {
	e := startEngine(t, true)
	far := e.reach("w", tokens.Worker)
	_, err := e.app.Run(t.Context(), "t", 1)
	must.Do(t, err)
	s, err := far.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"double"}, Concurrency: 1})
	must.Do(t, err)
	c, err := far.Claim(t.Context(), s.ID)
	must.Do(t, err)
	if have, err := far.Load(t.Context(), c.ID); err != nil || have != nil {
		t.Errorf("nothing saved: %#v, %v", have, err)
	}
	for n, want := range [][]byte{{}, []byte("x"), {}, nil} {
		must.Do(t, far.Save(t.Context(), c.ID, uint64(n+1), want))
		if have, err := far.Load(t.Context(), c.ID); err != nil || string(have) != string(want) || (have == nil) != (want == nil) {
			t.Errorf("saved %#v, loaded %#v, %v", want, have, err)
		}
	}
	must.Do(t, far.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Complete, Output: []byte("2")}))
}
