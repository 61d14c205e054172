package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
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

// TestMethodsAreThoseOfAnEngine, each with its description, with fields that a request has, and
// in the list of docs/workers.md.
func TestMethodsAreThoseOfAnEngine(t *testing.T) {
	page, err := os.ReadFile("../../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	var named, wanted []string
	for _, m := range wire.Methods() {
		named = append(named, m.Name)
		if m.Summary == "" || m.Notes == "" {
			t.Errorf("method %s has the summary %q and the notes %q; want both", m.Name, m.Summary, m.Notes)
		}
		if !strings.Contains(string(page), "`"+m.Name+"`") && !strings.Contains(string(page), "/api/worker/"+m.Name+"`") {
			t.Errorf("docs/workers.md does not name the call %s", m.Name)
		}
	}
	for i := range reflect.TypeFor[task.Engine]().NumMethod() {
		wanted = append(wanted, strings.ToLower(reflect.TypeFor[task.Engine]().Method(i).Name))
	}
	slices.Sort(named)
	slices.Sort(wanted)
	if !slices.Equal(named, wanted) {
		t.Errorf("the methods are %v; an Engine has %v", named, wanted)
	}
}

// TestMethodsNeedTheirFields: an empty request lacks something, and the error names a field that
// requests have.
func TestMethodsNeedTheirFields(t *testing.T) {
	fields := map[string]bool{}
	for f := range reflect.TypeFor[wire.TaskRequest]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = true
	}
	for _, m := range wire.Methods() {
		_, err := wire.Do(t.Context(), nil, m.Name, &wire.TaskRequest{})
		var refused *posthouse.Error
		if !errors.As(err, &refused) || refused.Code != posthouse.CodeInvalid || !fields[refused.Field] {
			t.Errorf("an empty request to %s is answered with %v; want one of its fields", m.Name, err)
		}
	}
}

// TestResolveTellsTheActions fails if the description of the call leaves an action out.
func TestResolveTellsTheActions(t *testing.T) {
	for _, m := range wire.Methods() {
		for _, a := range task.Actions() {
			if m.Name == wire.Resolve && !regexp.MustCompile(`[ ,]`+string(a)+`[,. ]`).MatchString(m.Notes) {
				t.Errorf("the call does not say that a verdict may be %s: %s", a, m.Notes)
			}
		}
	}
}

// FuzzServe: any request has an answer, and one that does not fit says which field.
func FuzzServe(f *testing.F) {
	for _, body := range []string{
		`{"hello":{"protocol":1,"worker":"w","tasks":["x"],"atOnce":1}}`, `{"session":"worker-x"}`, `{"claim":{"gate":"gate-x","fence":1},"value":"eA=="}`,
		`{"claim":{"gate":"gate-x","fence":1},"verdict":{"action":"complete"}}`, `{`,
	} {
		for i, m := range wire.Methods() {
			if m.Name != wire.Claim { // it waits
				f.Add(i, []byte(body))
			}
		}
	}
	e, methods := newEngine(f), wire.Methods()
	f.Fuzz(func(t *testing.T, method int, body []byte) {
		name := "nonsense"
		if method >= 0 && method < len(methods) && methods[method].Name != wire.Claim {
			name = methods[method].Name
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
