package coord_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, store posthouse.Store, o *ledger.Options) *ledger.Ledger {
	tb.Helper()
	l, err := ledger.Open(store, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

func wantList(tb testing.TB, what string, have []string, want ...string) {
	tb.Helper()
	if !slices.Equal(have, want) {
		tb.Fatalf("%s:\n have %q\n want %q", what, have, want)
	}
}

// do is a recorded step, and ask a question: what packages step and gate offer.
func do(ctx context.Context, name string, fn func() error) error {
	t, _ := engine.From(ctx)
	_, err := t.Do(ctx, name, posthouse.EffectExternal, func(context.Context) (posthouse.Value, error) {
		if err := fn(); err != nil {
			return posthouse.Value{}, err
		}
		return posthouse.Encode(nil, name)
	})
	return err
}

func ask(ctx context.Context, name string) (*posthouse.Decision, error) {
	t, _ := engine.From(ctx)
	g, err := t.Gates().Ask(ctx, posthouse.Gate{Name: name})
	if err != nil {
		return nil, err
	}
	return g.Decision, nil
}

func decide(tb testing.TB, l *ledger.Ledger, gate posthouse.ID, v posthouse.Verdict, by string) {
	tb.Helper()
	if _, err := l.Decide(tb.Context(), gate, posthouse.Decision{Verdict: v, By: by}); err != nil {
		tb.Fatal(err)
	}
}

// A world counts what agents do and can make them fail.
type world struct {
	calls []string
	fail  map[string]error
}

func (w *world) skill(name string) coord.Skill {
	return func(_ context.Context, c coord.Call) (coord.Result, error) {
		w.calls = append(w.calls, name)
		if err := w.fail[name]; err != nil {
			return coord.Result{}, err
		}
		var args struct {
			Request string `json:"request"`
		}
		if err := c.Bind(&args); err != nil {
			return coord.Result{}, err
		}
		return coord.NewResult(name+" did "+args.Request, map[string]string{"agent": name, "request": args.Request})
	}
}

func (w *world) fleet(tb testing.TB, names ...string) *coord.Fleet {
	var agents []coord.Agent
	for _, n := range names {
		agents = append(agents, coord.Agent{Name: n, Skills: map[string]coord.Skill{"do": w.skill(n)}})
	}
	return must.Get(coord.NewFleet(agents...))(tb)
}

func call(ctx context.Context, f *coord.Fleet, agent, request string) (coord.Result, error) {
	return f.Agent(agent).Call(ctx, "do", map[string]string{"request": request})
}

func checkpointing(tb testing.TB, l *ledger.Ledger, j coord.Journal, f coord.Filter) *coord.CheckpointingJournal {
	tb.Helper()
	return must.Get(coord.Checkpointing(j, l, f, coord.WholeEvent))(tb)
}

func coordinator(tb testing.TB, l *ledger.Ledger, f *coord.Fleet, h coord.Handler) *coord.Coordinator {
	tb.Helper()
	return must.Get(coord.New(l, "dispatch", f, h, &coord.Options{Journal: checkpointing(tb, l, coord.Discard{}, coord.OnAgentBoundaries)}))(tb)
}

// checkpoints describes the checkpoints that match q, oldest first: kind, agent,
// status, and the number of the parent.
func checkpoints(tb testing.TB, l *ledger.Ledger, q posthouse.Query) (list []string) {
	tb.Helper()
	place := map[posthouse.ID]string{"": "root"}
	for h, err := range l.List(tb.Context(), q) {
		if err != nil {
			tb.Fatal(err)
		}
		parent, ok := place[h.Parent]
		if !ok {
			parent = "?"
		}
		place[h.ID] = fmt.Sprint(len(list))
		list = append(list, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s <%s", h.Kind, h.Agent, h.Status, parent)), " "))
	}
	return list
}

// log describes the records of each entry of a thread.
func log(tb testing.TB, l *ledger.Ledger, thread string) (list []string) {
	tb.Helper()
	for e, err := range l.Store().Read(tb.Context(), thread, posthouse.Range{}) {
		if err != nil {
			tb.Fatal(err)
		}
		var words []string
		for _, r := range must.Get(e.Records())(tb) {
			switch {
			case r.Step != nil:
				words = append(words, r.Step.Name)
			case r.Checkpoint != nil:
				words = append(words, strings.Join(strings.Fields("cp "+r.Checkpoint.Agent+" "+string(r.Checkpoint.Status)), " "))
			case r.Decision != nil:
				words = append(words, string(r.Decision.Verdict))
			case r.Claim != nil && r.Claim.Unclaim:
				words = append(words, "unclaim")
			default:
				words = append(words, r.Kind.String())
			}
		}
		list = append(list, strings.Join(words, ", "))
	}
	return list
}

func state[T any](tb testing.TB, l *ledger.Ledger, id posthouse.ID) T {
	tb.Helper()
	c := must.Get(l.Get(tb.Context(), id))(tb)
	return must.Get(posthouse.Decode[T](c.State[posthouse.OpaquePart]))(tb)
}

func newLedger(tb testing.TB) *ledger.Ledger {
	tb.Helper()
	return open(tb, memstore.New(), nil)
}

// A clock ticks a second at each look.
func clock() func() time.Time {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func kinds(tb testing.TB, j coord.Journal, q coord.EventQuery) (list []string) {
	tb.Helper()
	for e, err := range j.Events(tb.Context(), q) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, strings.TrimSpace(string(e.Kind)+" "+e.Agent))
	}
	return list
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	return string(must.Get(json.Marshal(v))(tb))
}
