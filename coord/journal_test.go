package coord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func completed(coordination, agent, text string) coord.Event {
	return coord.Event{Kind: coord.AgentCompleted, Coordination: coordination, Agent: agent, Text: text}
}

func record(tb testing.TB, j coord.Journal, events ...coord.Event) {
	tb.Helper()
	for _, e := range events {
		if err := j.Record(tb.Context(), e); err != nil {
			tb.Fatal(err)
		}
	}
}

// The twins of Atmosphere's CheckpointingCoordinationJournalTest, in its order.

func TestCheckpointingDelegatesRecord(t *testing.T) {
	below := &coord.MemoryJournal{}
	j := checkpointing(t, newLedger(t), below, coord.OnAgentBoundaries)
	record(t, j, completed("c", "a", "one"), coord.Event{Kind: coord.AgentDispatched, Coordination: "c"})
	wantList(t, "below", kinds(t, below, coord.EventQuery{}), "AgentCompleted a", "AgentDispatched")
}

func TestCheckpointingPersistsACheckpointForAMatchingEvent(t *testing.T) {
	l := newLedger(t)
	at := time.Date(2025, 12, 31, 23, 59, 0, 123456000, time.UTC)
	e := completed("c", "a", "one")
	e.At, e.ID = at, "event-1"
	j := checkpointing(t, l, coord.Discard{}, coord.OnAgentBoundaries)
	record(t, j, e)
	c := must.Get(j.LastCheckpoint(t.Context(), "c"))(t)
	if c.Agent != "a" || c.Coordination != "c" || c.Thread != "c" || !c.CreatedAt.Equal(at) || !c.IsRoot() || c.Labels["event"] != "event-1" || c.Kind != posthouse.KindEvent {
		t.Fatalf("checkpoint %+v", c.Header)
	}
	if got := must.Get(posthouse.Decode[coord.Event](c.State[posthouse.OpaquePart]))(t); got.Text != "one" || !got.At.Equal(at) {
		t.Fatalf("state %+v", got)
	}
}

func TestCheckpointingBuildsAParentChain(t *testing.T) {
	l := newLedger(t)
	record(t, checkpointing(t, l, coord.Discard{}, coord.OnAgentBoundaries),
		completed("c", "a", "1"), completed("c", "b", "2"), completed("c", "a", "3"))
	wantList(t, "chain", checkpoints(t, l, posthouse.Query{Coordination: "c"}), "event a <root", "event b <0", "event a <1")
}

func TestCheckpointingKeepsCoordinationsApart(t *testing.T) {
	l := newLedger(t)
	j := checkpointing(t, l, coord.Discard{}, coord.OnAgentBoundaries)
	record(t, j, completed("c", "a", "1"), completed("d", "a", "1"), completed("c", "b", "2"), completed("d", "b", "2"))
	other := completed("c", "z", "1")
	other.Thread = "another-request"
	record(t, j, other)
	for _, q := range []posthouse.Query{{Thread: "c"}, {Coordination: "d"}} {
		wantList(t, "chain", checkpoints(t, l, q), "event a <root", "event b <0")
	}
	wantList(t, "its own", checkpoints(t, l, posthouse.Query{Thread: "another-request"}), "event z <root")
}

func TestCheckpointingFilters(t *testing.T) {
	all := []coord.Kind{
		coord.CoordinationStarted, coord.AgentDispatched, coord.AgentCompleted, coord.AgentFailed, coord.AgentEvaluated,
		coord.AgentHandoff, coord.RouteEvaluated, coord.AgentActivityChanged, coord.CircuitStateChanged, coord.CommitmentRecorded,
		coord.CoordinationCompleted, coord.ForkCreated,
	}
	for _, test := range []struct {
		name   string
		filter coord.Filter
		want   int
	}{{"agent boundaries", coord.OnAgentBoundaries, 2}, {"every", coord.EveryEvent, len(all) - 1}, {"none", func(coord.Event) bool { return false }, 0}} {
		l := newLedger(t)
		j := checkpointing(t, l, coord.Discard{}, test.filter)
		for _, k := range all {
			record(t, j, coord.Event{Kind: k, Coordination: "c"})
		}
		// The fork's own first checkpoint is there already, so ForkCreated makes no other.
		if have := len(checkpoints(t, l, posthouse.Query{Coordination: "c"})); have != test.want {
			t.Errorf("%s: %d checkpoints, want %d", test.name, have, test.want)
		}
	}
}

func TestLastCheckpointIsTheMostRecent(t *testing.T) {
	j := checkpointing(t, newLedger(t), coord.Discard{}, coord.OnAgentBoundaries)
	_, err := j.LastCheckpoint(t.Context(), "c")
	must.Fail(t, err, posthouse.ErrNotFound)
	for _, text := range []string{"1", "2"} {
		record(t, j, completed("c", "a", text))
		c := must.Get(j.LastCheckpoint(t.Context(), "c"))(t)
		if e := must.Get(posthouse.Decode[coord.Event](c.State[posthouse.OpaquePart]))(t); e.Text != text {
			t.Fatalf("last is %+v", e)
		}
	}
}

// Where the origin's stop clears what its journal remembers, ours remembers
// nothing: closing the ledger or the journal's end changes no answer.
func TestCheckpointingHasNoStateOfItsOwn(t *testing.T) {
	store := memstore.New()
	l := open(t, store, nil)
	j := checkpointing(t, l, coord.Discard{}, coord.OnAgentBoundaries)
	record(t, j, completed("c", "a", "1"))
	l.Close()
	must.Fail(t, j.Record(t.Context(), completed("c", "a", "2")), posthouse.ErrClosed)
	again := checkpointing(t, open(t, store, nil), coord.Discard{}, coord.OnAgentBoundaries)
	if c := must.Get(again.LastCheckpoint(t.Context(), "c"))(t); c.Agent != "a" {
		t.Fatal(c)
	}
}

func TestCheckpointingQueriesBelow(t *testing.T) {
	below := &coord.MemoryJournal{}
	j := checkpointing(t, newLedger(t), below, coord.OnAgentBoundaries)
	record(t, j, completed("c", "a", "1"), completed("d", "a", "1"))
	wantList(t, "events", kinds(t, j, coord.EventQuery{Coordination: "d"}), "AgentCompleted a")
	var b strings.Builder
	if err := coord.WriteLog(t.Context(), &b, j, coord.EventQuery{Coordination: "c"}); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Fatalf("error %v, b.String() %v", err, b.String())
	}
}

// After a restart the parent is the newest head, not the oldest checkpoint. The
// origin does not test this, and gets it wrong.
func TestAfterARestartTheParentIsTheNewestHead(t *testing.T) {
	store := memstore.New()
	for i := range 4 {
		record(t, checkpointing(t, open(t, store, nil), coord.Discard{}, coord.OnAgentBoundaries),
			completed("c", fmt.Sprintf("a%d", i), ""))
	}
	wantList(t, "chain", checkpoints(t, open(t, store, nil), posthouse.Query{Thread: "c"}),
		"event a0 <root", "event a1 <0", "event a2 <1", "event a3 <2")
}

// Nor this: events at the same time become a chain, never siblings, also from
// two processes.
func TestConcurrentEventsBecomeAChain(t *testing.T) {
	store := memstore.New()
	var wg sync.WaitGroup
	for range 2 {
		j := checkpointing(t, open(t, store, nil), coord.Discard{}, coord.OnAgentBoundaries)
		for range 8 {
			wg.Go(func() {
				for range 5 {
					if err := j.Record(t.Context(), completed("c", "a", "")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	parents := map[posthouse.ID]bool{}
	n := 0
	for h, err := range open(t, store, nil).List(t.Context(), posthouse.Query{Coordination: "c"}) {
		if err != nil {
			t.Fatal(err)
		}
		if parents[h.Parent] {
			t.Fatalf("two children of %q", h.Parent)
		}
		parents[h.Parent] = true
		n++
	}
	if n != 80 {
		t.Fatalf("%d checkpoints, want 80", n)
	}
}

// And this: a failed save is an error.
func TestAFailedSaveIsAnErrorOfRecord(t *testing.T) {
	store := &faulty{Store: memstore.New(), failAt: 2}
	below := &coord.MemoryJournal{}
	j := checkpointing(t, open(t, store, nil), below, coord.OnAgentBoundaries)
	record(t, j, completed("c", "a", "1"))
	must.Fail(t, j.Record(t.Context(), completed("c", "b", "2")), posthouse.ErrFull)
	if n := len(kinds(t, below, coord.EventQuery{})); n != 2 {
		t.Errorf("the journal below has %d events", n)
	}
}

func TestCheckpointingNeedsAllFour(t *testing.T) {
	l := newLedger(t)
	for field, err := range map[string]error{
		"journal":   second(coord.Checkpointing(nil, l, coord.EveryEvent, coord.WholeEvent)),
		"ledger":    second(coord.Checkpointing(coord.Discard{}, nil, coord.EveryEvent, coord.WholeEvent)),
		"filter":    second(coord.Checkpointing(coord.Discard{}, l, nil, coord.WholeEvent)),
		"extractor": second(coord.Checkpointing(coord.Discard{}, l, coord.EveryEvent, nil)),
	} {
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%s: error %v", field, err)
		}
	}
}

type brokenJournal struct{ err error }

func (b brokenJournal) Record(context.Context, coord.Event) error { return b.err }

func (b brokenJournal) Events(context.Context, coord.EventQuery) iter.Seq2[coord.Event, error] {
	return func(yield func(coord.Event, error) bool) { yield(coord.Event{}, b.err) }
}

func TestErrorsBelowAndOfTheExtractor(t *testing.T) {
	l, boom := newLedger(t), errors.New("boom")
	j := checkpointing(t, l, brokenJournal{boom}, coord.EveryEvent)
	if err := j.Record(t.Context(), completed("c", "a", "")); !errors.Is(err, boom) {
		t.Error(err)
	}
	if err := coord.WriteLog(t.Context(), &strings.Builder{}, j, coord.EventQuery{}); !errors.Is(err, boom) {
		t.Error(err)
	}
	if _, err := coord.Fork(t.Context(), j, l, coord.ForkOptions{Event: "x"}); !errors.Is(err, boom) {
		t.Error(err)
	}
	bad := must.Get(coord.Checkpointing(coord.Discard{}, l, coord.EveryEvent, func(context.Context, coord.Event) (posthouse.State, error) { return nil, boom }))(t)
	if err := bad.Record(t.Context(), completed("c", "a", "")); !errors.Is(err, boom) {
		t.Error(err)
	}
	must.Fail(t, j.Record(t.Context(), coord.Event{Kind: coord.AgentCompleted}), posthouse.ErrInvalid)
	if n := len(checkpoints(t, l, posthouse.Query{})); n != 0 {
		t.Errorf("%d checkpoints", n)
	}
}

func TestEventsFromOutsideDoNotPassAWaitingGate(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, approvalFleet(t, w), approval(w))
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	e := completed("dispatch", "z", "")
	e.Thread = r.Thread
	j := checkpointing(t, l, coord.Discard{}, coord.EveryEvent)
	must.Fail(t, j.Record(t.Context(), e), posthouse.ErrConflict)
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	must.Fail(t, j.Record(t.Context(), e), posthouse.ErrConflict)
	must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	record(t, j, e) // it has ended: now it may be commented on
}

func TestExtractors(t *testing.T) {
	done, failed := completed("c", "a", "fine"), coord.Event{Kind: coord.AgentFailed, Coordination: "c", Error: "no"}
	other := coord.Event{Kind: coord.AgentDispatched, Coordination: "c", Agent: "a", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, test := range []struct {
		extract coord.Extractor
		event   coord.Event
		want    string
	}{
		{coord.ResultText, done, `"fine"`},
		{coord.ResultText, failed, `"no"`},
		{coord.ResultText, other, `null`},
		{coord.EventSummary, other, `"2026-01-02T03:04:05.000Z AgentDispatched       c agent=a"`},
		{coord.WholeEvent, done, `{"id":"","kind":"AgentCompleted","coordinationId":"c","at":"0001-01-01T00:00:00Z","agentName":"a","text":"fine"}`},
	} {
		s := must.Get(test.extract(t.Context(), test.event))(t)
		if have := string(s[posthouse.OpaquePart].Data); have != test.want || len(s) != 1 {
			t.Errorf("have %s, want %s", have, test.want)
		}
	}
	// One of one's own; nil is an empty state.
	l := newLedger(t)
	record(t, must.Get(coord.Checkpointing(coord.Discard{}, l, coord.EveryEvent, func(_ context.Context, e coord.Event) (posthouse.State, error) {
		if e.Text == "" {
			return nil, nil
		}
		return posthouse.State{"amount": {Codec: "json", Data: json.RawMessage("7")}}, nil
	}))(t), completed("c", "a", "x"))
	h := must.Get(l.Latest(t.Context(), ledger.LatestQuery{Thread: "c"}))(t)
	if string(h.State["amount"].Data) != "7" {
		t.Fatal(h.State)
	}
}

func TestMemoryJournal(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	j := &coord.MemoryJournal{Max: 3}
	for i, k := range []coord.Kind{coord.CoordinationStarted, coord.AgentDispatched, coord.AgentCompleted, coord.AgentFailed, coord.CoordinationCompleted} {
		record(t, j, coord.Event{
			ID: posthouse.ID(fmt.Sprint("e", i)), Kind: k, Coordination: "c", Thread: fmt.Sprint("t", i%2), Agent: fmt.Sprint(i), At: at(i), Data: json.RawMessage("1"),
			Commitment: &coord.Commitment{Outcome: "x"}, Fork: &coord.ForkLink{Thread: "x"},
		})
	}
	for name, test := range map[string]struct {
		q    coord.EventQuery
		want []string
	}{
		"the newest stay": {coord.EventQuery{}, []string{"AgentCompleted 2", "AgentFailed 3", "CoordinationCompleted 4"}},
		"limit":           {coord.EventQuery{Limit: 1}, []string{"AgentCompleted 2"}},
		"kind":            {coord.EventQuery{Kind: coord.AgentFailed}, []string{"AgentFailed 3"}},
		"agent":           {coord.EventQuery{Agent: "4"}, []string{"CoordinationCompleted 4"}},
		"thread":          {coord.EventQuery{Thread: "t1"}, []string{"AgentFailed 3"}},
		"id":              {coord.EventQuery{ID: "e2"}, []string{"AgentCompleted 2"}},
		"inclusive":       {coord.EventQuery{Since: at(3), Until: at(3)}, []string{"AgentFailed 3"}},
		"since":           {coord.EventQuery{Since: at(4)}, []string{"CoordinationCompleted 4"}},
		"other":           {coord.EventQuery{Coordination: "d"}, nil},
	} {
		wantList(t, name, kinds(t, j, test.q), test.want...)
	}
	for e := range j.Events(t.Context(), coord.EventQuery{}) {
		e.Data[0], e.Commitment.Outcome, e.Fork.Thread = 'x', "y", "y"
		break
	}
	for e := range j.Events(t.Context(), coord.EventQuery{}) {
		if string(e.Data) != "1" || e.Commitment.Outcome != "x" || e.Fork.Thread != "x" {
			t.Fatal("a reader changed what is kept", e)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range j.Events(ctx, coord.EventQuery{}) {
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for range (coord.Discard{}).Events(t.Context(), coord.EventQuery{}) {
		t.Fatal("an event from nothing")
	}
}

func TestEventsHaveAStableForm(t *testing.T) {
	e := coord.Event{
		ID: "1", Kind: coord.CommitmentRecorded, Cause: "0", Coordination: "c", Thread: "t", Branch: "b", Run: "r",
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Agent: "a b", Skill: "s", To: "x", By: "carol",
		Args: json.RawMessage(`{"n":1}`), Text: "two\nlines \x1b[31m", Data: json.RawMessage(`2`), Error: "bad=1", ElapsedMS: 1500,
		Commitment: &coord.Commitment{Issuer: "coordinator:c", Principal: "carol", Subject: "a", Scope: "s", Outcome: coord.OutcomeFailed},
		Fork:       &coord.ForkLink{Coordination: "c", Thread: "u", Event: "9", Checkpoint: "8"},
	}
	want := `{"id":"1","kind":"CommitmentRecorded","causeId":"0","coordinationId":"c","thread":"t","branch":"b","run":"r",` +
		`"at":"2026-01-02T03:04:05Z","agentName":"a b","skill":"s","to":"x","by":"carol","args":{"n":1},"text":"two\nlines \u001b[31m","data":2,` +
		`"error":"bad=1","elapsedMs":1500,"commitment":{"issuer":"coordinator:c","principal":"carol","subject":"a","scope":"s","outcome":"failed"},` +
		`"fork":{"coordinationId":"c","thread":"u","eventId":"9","checkpointId":"8"}}`
	if have := mustJSON(t, e); have != want {
		t.Errorf("JSON\n have %s\n want %s", have, want)
	}
	line := `2026-01-02T03:04:05.000Z CommitmentRecorded    c thread=t branch=b agent="a b" skill=s to=x by=carol issuer=coordinator:c principal=carol ` +
		`subject=a scope=s outcome=failed from=u event=9 text="two\nlines \x1b[31m" error="bad=1" elapsed=1.5s`
	if have := e.String(); have != line {
		t.Errorf("line\n have %s\n want %s", have, line)
	}
}
