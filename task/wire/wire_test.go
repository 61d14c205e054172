package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/wire"
)

func newEngine(t testing.TB) task.Engine {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	d, err := dispatch.New(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestErrorsKeepTheirCode on the way, with field, message and hint.
func TestErrorsKeepTheirCode(t *testing.T) {
	e := newEngine(t)
	far := wire.NewClient(func(ctx context.Context, method string, body []byte) ([]byte, error) {
		return wire.Serve(ctx, e, method, body).Encode(), nil
	})
	for _, one := range []task.Engine{e, far} {
		_, err := one.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"x"}, Concurrency: -1})
		var have *posthouse.Error
		if !errors.As(err, &have) || have.Field != "atOnce" || have.Code != posthouse.CodeInvalid {
			t.Errorf("%v", err)
		}
		_, err = one.Heartbeat(t.Context(), "worker-x", nil)
		if !errors.As(err, &have) || have.Code != posthouse.CodeNotFound || have.Hint == "" {
			t.Errorf("%v", err)
		}
		_, err = one.Load(t.Context(), task.ClaimID{Gate: "gate-x", Fence: 1})
		if !errors.Is(err, posthouse.ErrConflict) { // its thread may be gone
			t.Errorf("%v", err)
		}
	}
	for what, call := range map[string]wire.Call{
		"no answer": func(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("no route") },
		"nonsense":  func(context.Context, string, []byte) ([]byte, error) { return []byte("<html>"), nil },
		"empty":     func(context.Context, string, []byte) ([]byte, error) { return []byte("{}"), nil },
	} {
		if _, err := wire.NewClient(call).Connect(t.Context(), task.Hello{}); !errors.Is(err, posthouse.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzServe: any request has an answer, and one that does not fit says which field.
func FuzzServe(f *testing.F) {
	for _, body := range []string{
		`{"hello":{"protocol":1,"worker":"w","tasks":["x"],"atOnce":1}}`, `{"session":"worker-x"}`, `{"claim":{"gate":"gate-x","fence":1},"value":"eA=="}`,
		`{"claim":{"gate":"gate-x","fence":1},"verdict":{"action":"complete"}}`, `{`,
	} {
		for i := range wire.Methods {
			if wire.Methods[i] != wire.Claim { // it waits
				f.Add(i, []byte(body))
			}
		}
	}
	e := newEngine(f)
	f.Fuzz(func(t *testing.T, method int, body []byte) {
		name := "nonsense"
		if method >= 0 && method < len(wire.Methods) && wire.Methods[method] != wire.Claim {
			name = wire.Methods[method]
		}
		var reply struct{ Error *posthouse.Error }
		b := wire.Serve(t.Context(), e, name, body).Encode()
		if err := json.Unmarshal(b, &reply); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if e := reply.Error; e != nil && e.Code == posthouse.CodeInvalid && e.Field == "" {
			t.Fatalf("%s", b)
		}
	})
}

// TestRequestsHaveExactNames at every depth.
func TestRequestsHaveExactNames(t *testing.T) {
	for method, data := range map[string]string{
		wire.Claim: `{"Session":"worker-x"}`, wire.Connect: `{"hello":{"protocol":1,"Worker":"w","tasks":["x"],"atOnce":1}}`,
		wire.Load: `{"claim":{"Gate":"gate-x","fence":1}}`, wire.Heartbeat: `{"session":"worker-x","have":[{"gate":"gate-x","Fence":1}]}`,
	} {
		r := wire.Serve(t.Context(), nil, method, []byte(data))
		if r.Error == nil || r.Error.Code != posthouse.CodeInvalid || !r.Malformed {
			t.Errorf("%s: r.Error %+v", data, r.Error)
		}
	}
}
