package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/wire"
)

// A worker asks questions of people, under names that records within a task can have, and the
// verdict that it gave counts: another one is a conflict. So in process and as messages, which
// HTTP and NATS carry.
func TestWorkersQuestionsAndSingleVerdict(t *testing.T) {
	for _, carried := range []bool{false, true} {
		onStores(t, func(h *house) {
			app := must(flow.New("f", func(ctx context.Context, n int) (string, error) {
				return step.Remote[string](ctx, "pay", "pay", n)
			}).Open(h.ledger, nil))(h)
			k := h.desk()
			defer k.stop()
			must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
			c := k.claim()
			var engine task.Engine = k.d
			if carried {
				engine = wire.NewClient(func(ctx context.Context, method string, body []byte) ([]byte, error) {
					return wire.Serve(ctx, k.d, method, body).Encode(), nil
				})
			}
			await := func(w ...task.Wait) error {
				return engine.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Await, Waits: w})
			}
			asks := func(kind, name, text string) task.Wait {
				return task.Wait{Question: &posthouse.Gate{Name: name, Kind: kind, Text: text}}
			}
			invalid := func(what, field string, err error) {
				h.Helper()
				if e := (*posthouse.Error)(nil); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
					h.Errorf("%s: %v", what, err)
				}
			}
			for _, kind := range []string{"outcome", "session", "$approvals", "$"} {
				invalid("kind "+kind, "kind", await(asks(kind, "q", "Pay?")))
			}
			for _, name := range []string{"q>q", "$q", ">"} {
				invalid("question "+name, "question", await(asks("approval", name, "Pay?")))
				invalid("signal "+name, "signal", await(task.Wait{Signal: name}))
			}
			if got := h.inbox("t"); len(got) > 0 {
				h.Error("people are asked", got)
			}
			if err := errors.Join(await(asks("approval", "q", "Pay?")), await(asks("approval", "q", "Pay?"))); err != nil {
				h.Error("an await, and the same again:", err)
			}
			for what, w := range map[string][]task.Wait{
				"another text": {asks("approval", "q", "Pay 99999?")}, "another name": {asks("approval", "r", "Pay?")},
				"one more": {asks("approval", "q", "Pay?"), {Signal: "go"}}, "a signal": {{Signal: "go"}},
			} {
				if err := await(w...); !errors.Is(err, posthouse.ErrConflict) {
					h.Errorf("%s after another await: %v", what, err)
				}
			}
		})
	}
}

// An error in a verdict's JSON names the JSON field.
func TestAMalformedVerdictNamesItsField(t *testing.T) {
	for body, field := range map[string]string{
		`{"action":"await","waits":[{"question":{"name":"q","bind":1}}]}`: "waits.question.bind",
		`{"action":"await","waits":{"question":1}}`:                       "waits",
		`{"action":"complete","delay":"x"}`:                               "delay",
		`[]`:                                                              "verdict",
	} {
		_, err := task.ParseVerdict([]byte(body))
		if e := (*posthouse.Error)(nil); !errors.As(err, &e) || e.Field != field || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "posthouse.") {
			t.Errorf("%s: %v", body, err)
		}
	}
	r := wire.Serve(t.Context(), nil, wire.Claim, []byte(`{"session":{"a":1}}`))
	if e := r.Error; e == nil || e.Field != "session" || strings.Contains(e.Message, "Go ") {
		got, _ := json.Marshal(r.Error)
		t.Errorf("got %s", got)
	}
}
