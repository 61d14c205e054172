package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func broken(context.Context) (string, error) { return "", errUnreadable }
func text(context.Context) (string, error)   { return "we rent you a lamp", nil }

func yes(who string) posthouse.Decision {
	return posthouse.Decision{By: who, Verdict: posthouse.Approve}
}
func no(who string) posthouse.Decision { return posthouse.Decision{By: who, Verdict: posthouse.Reject} }

// TestADocumentGoesThroughManyHands has each of them in an office of its own:
// nothing but the file is left between two.
func TestADocumentGoesThroughManyHands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "documents.db")
	var out bytes.Buffer
	visit := func(do func(o *office) error, want error) {
		t.Helper()
		store, err := sqlitestore.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		o, err := open(store, nil, broken, &out)
		if err != nil {
			t.Fatal(err)
		}
		defer o.ledger.Close()
		out.Reset()
		if err := do(o); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}
	say := func(d posthouse.Decision) func(o *office) error {
		return func(o *office) error { return o.answer(t.Context(), "d", d) }
	}
	visit(func(o *office) error {
		_, err := o.app.Run(t.Context(), "d", Document{Author: "cid", Amount: 5000})
		return err
	}, nil)
	visit(say(posthouse.Decision{By: "zoe", Verdict: posthouse.Respond, Value: []byte(`5`)}), posthouse.ErrInvalid)
	visit(say(posthouse.Decision{By: "zoe", Verdict: posthouse.Respond, Value: []byte(`"lamp"`)}), nil)
	visit(say(yes("ann")), nil)
	visit(say(yes("ann")), posthouse.ErrVoted)
	visit(say(yes("cid")), posthouse.ErrForbidden) // the author
	visit(say(yes("eve")), posthouse.ErrForbidden) // not yet escalated
	visit(func(o *office) error { return o.delegate(t.Context(), "d", "bob", "dora") }, nil)
	visit(say(yes("bob")), posthouse.ErrForbidden) // handed on
	visit(say(yes("dora")), nil)
	visit(say(yes("fay")), nil)
	visit(say(yes("fay")), posthouse.ErrVoted)
	visit(say(yes("gus")), nil)
	want := strings.Join([]string{
		"typed in by zoe, since: unreadable", "review: approve, ann approve, dora approve for bob",
		"sign: approve, fay approve, gus approve", "published", "done", "",
	}, "\n")
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

func TestTheRulesOfAReview(t *testing.T) {
	for _, c := range []struct {
		name  string
		votes []posthouse.Decision
		want  []string
	}{
		{"one no is outvoted", []posthouse.Decision{no("ann"), yes("bob")}, nil}, // the author's say is missing
		{"two are enough", []posthouse.Decision{yes("ann"), yes("bob")}, []string{"review: approve, ann approve, bob approve", "published"}},
		{"two noes are too many", []posthouse.Decision{no("ann"), no("bob")}, []string{"review: reject, ann reject, bob reject"}},
	} {
		var out bytes.Buffer
		o, err := open(memstore.New(), nil, text, &out)
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.app.Run(t.Context(), "d", Document{Author: "zoe", Amount: 10})
		for _, v := range c.votes {
			err = errors.Join(err, o.answer(t.Context(), "d", v))
		}
		s, failed := o.app.State(t.Context(), "d")
		err = errors.Join(err, failed, o.ledger.Close())
		if err != nil || !slices.Equal(s.State.Trail, c.want) {
			t.Errorf("%s: s.State.Trail %q, error %v", c.name, s.State.Trail, err)
		}
	}
}

// TestContractWithoutAnAnswerEnds lets two days pass: more people are asked, then it is over,
// though no person did anything. A runner minds the time.
func TestContractWithoutAnAnswerEnds(t *testing.T) {
	now := make(chan time.Time, 1)
	now <- time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { at := <-now; now <- at; return at }
	wait := func(d time.Duration) { at := <-now; now <- at.Add(d) }
	o, err := open(memstore.New(), clock, text, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.ledger.Close()
	if _, err := o.app.Run(t.Context(), "d", Document{Author: "zoe", Amount: 10}); err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(o.ledger, &runner.Options{Programs: []posthouse.Program{o.app}, Poll: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	stopped := make(chan error, 1)
	go func() { stopped <- r.Run(ctx) }()
	until := func(what string, ok func(e *posthouse.Event) bool) {
		t.Helper()
		for e, err := range o.ledger.Watch(ctx, ledger.WatchQuery{Thread: "d"}) {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if ok(e) {
				return
			}
		}
	}
	wait(25 * time.Hour)
	until("the escalation", func(e *posthouse.Event) bool { return e.Assignment != nil && slices.Contains(e.Assignment.To, "eve") })
	q, err := o.question(ctx, "d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.ledger.Decide(ctx, q, yes("eve")); err != nil {
		t.Error(err)
	}
	wait(24 * time.Hour)
	until("the end", func(e *posthouse.Event) bool {
		return e.Checkpoint != nil && e.Checkpoint.Status == posthouse.StatusDone
	})
	s, err := o.app.State(ctx, "d")
	if want := []string{"review: expire, eve approve"}; err != nil || !slices.Equal(s.State.Trail, want) {
		t.Errorf("s.State.Trail %q, error %v", s.State.Trail, err)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
