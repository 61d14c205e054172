package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/dying"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

var (
	proofCases = flag.Int("proof.cases", 300, "random programs of TestGrantsProperty")
	proofSeed  = flag.Uint64("proof.seed", 20261122, "of the first of them")
)

// A deal of a random program: how one payment is proposed and made.
type randomDeal struct {
	quorum     bool
	auto       int // 0: no policy, 1: a judge, 2: accept with a guard
	idempotent bool
	again      bool // in a loop: the same content twice
	beside     bool // in a goroutine, or a parallel branch
	retries    int  // of its node
	validFor   time.Duration
	ceiling    int // from here on it takes two people; 0: never
}

// A witness stands outside the program: it counts what was done to the world.
type witness struct {
	mu     sync.Mutex
	done   map[string]int  // effects, by thread~branch and content
	keys   map[string]bool // of idempotent ones
	broken int             // the chance, in a hundred, of an outcome that is unknown
	rnd    *rand.Rand
}

// pay carries a transfer out; the program is not told for sure.
func (w *witness) pay(ctx context.Context, t bankTransfer, idempotent bool) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := step.Key(ctx)
	at, _, _ := strings.Cut(key, "/")
	what := fmt.Sprintf("%s %s:%d", at, t.To, t.Amount)
	if !idempotent || !w.keys[key] {
		w.done[what]++
	}
	w.keys[key] = true
	switch n := w.rnd.IntN(100); {
	case n < w.broken:
		return "", fmt.Errorf("the line went dead: %w", posthouse.ErrUnknown)
	}
	return "paid", nil
}

// A world is one random case.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	now     time.Time
	below   posthouse.Store
	store   *dying.Store
	ledger  *ledger.Ledger
	deals   []randomDeal
	version int
	graph   bool // else a flow
	rounds  int  // of a graph: how often all deals are made
	naive   bool
	witness *witness
	count   map[string]int
}

// open begins a process.
func (w *world) open() {
	w.store = dying.New(w.below)
	w.ledger = must(ledger.Open(w.store, &ledger.Options{
		Now: func() time.Time { return w.now }, Validate: gate.Validator(), Owner: "here",
	}))(&house{T: w.t})
	if w.rnd.IntN(3) == 0 {
		w.store.Die(1+w.rnd.IntN(12), w.rnd.IntN(2) == 0)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// deal proposes one payment and makes it.
func (w *world) deal(ctx context.Context, name string, d *randomDeal, t bankTransfer, version int) error {
	if w.naive { // the control arm: an answer by name, and the state's content
		a, err := gate.Ask[any](ctx, gate.Question{Name: name, Bind: posthouse.ByName, Show: t})
		if err != nil || !a.Approved() {
			return err
		}
		_, err = step.Do(ctx, "pay-"+name, func(ctx context.Context) (string, error) { return w.witness.pay(ctx, t, d.idempotent) })
		return err
	}
	question := func(c bankTransfer) gate.Question {
		q := gate.Question{Name: name, Text: fmt.Sprintf("Pay? (version %d)", version), ValidFor: d.validFor}
		if d.quorum || d.ceiling > 0 && c.Amount > d.ceiling {
			q.Quorum = &posthouse.Quorum{Need: 2}
			return q
		}
		switch d.auto {
		case 1:
			q.Auto = &gate.Auto{Judge: func(_ context.Context, g *posthouse.Gate) (gate.Judgement, error) {
				return gate.Judgement{Verdict: posthouse.Approve, Confidence: float64(c.Amount%3) / 2}, nil
			}}
		case 2:
			q.Auto = &gate.Auto{Accept: true, Guards: []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{
				func(context.Context, *posthouse.Gate, *posthouse.Decision) error {
					if c.Amount%2 == 0 {
						return errors.New("even amounts are looked at")
					}
					return nil
				},
			}}
		}
		return q
	}
	grant, err := gate.ProposeFor(ctx, t, question)
	if errors.Is(err, posthouse.ErrForbidden) {
		return nil // refused: nothing is paid
	}
	if err != nil {
		return err
	}
	_, err = gate.Act(ctx, "pay-"+name, grant, func(ctx context.Context, c bankTransfer) (string, error) {
		return w.witness.pay(ctx, c, d.idempotent)
	}, gate.ActOptions[bankTransfer, string]{Idempotent: d.idempotent})
	return err
}

// resume moves every branch of every thread on, in this process.
func (w *world) resume() {
	app := w.program()
	for _, at := range w.branches() {
		if w.store.Dead() {
			break
		}
		err := app.resume(w.t.Context(), at[0], at[1])
		switch {
		case err == nil, w.store.Dead(), errors.Is(err, posthouse.ErrUnknown), errors.Is(err, posthouse.ErrBusy):
		case isChanged(err):
			w.count["unstable"]++ // deployed twice with another question: a person has to look
		case errors.Is(err, posthouse.ErrForbidden), errors.Is(err, posthouse.ErrConflict):
			w.count["refused"]++ // used up, or what ran was something else
		case isOrder(err):
			w.count["led elsewhere"]++ // a changed input and another answer, after recorded steps
		default:
			w.t.Fatalf("resuming %v: %v", at, err)
		}
	}
	if w.store.Dead() {
		w.count["killed"]++
		w.now = w.now.Add(time.Minute) // the lost process's lease runs out
		w.open()
	}
}

func isChanged(err error) bool {
	_, ok := errors.AsType[*engine.ChangedError](err)
	return ok
}

func isOrder(err error) bool {
	_, ok := errors.AsType[*engine.OrderError](err)
	return ok
}

func (w *world) branches() (all [][2]string) {
	l := must(ledger.Open(w.below, &ledger.Options{Now: func() time.Time { return w.now }}))(&house{T: w.t})
	for info, err := range l.Threads(w.t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		for _, b := range info.Branches {
			all = append(all, [2]string{info.Thread, b.Branch})
		}
	}
	return all
}

// decide answers some open question, somehow.
func (w *world) decide() {
	var open []*posthouse.Gate
	for g, err := range w.ledger.Gates(w.t.Context(), ledger.GateQuery{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		open = append(open, g)
	}
	if len(open) == 0 {
		return
	}
	g := open[w.rnd.IntN(len(open))]
	if g.Supersedes != "" {
		w.count["re-asked"]++
	}
	d := posthouse.Decision{By: []string{"ann", "bob", "cid"}[w.rnd.IntN(3)], Verdict: posthouse.Approve}
	switch {
	case g.Kind == gate.KindOutcome:
		w.count["unknown"]++
		d = w.truth(g)
	case w.rnd.IntN(8) == 0:
		d.Verdict = posthouse.Reject
	case g.Allows(posthouse.Edit) && g.Quorum == nil && !w.naive && w.rnd.IntN(5) == 0:
		d.Verdict, d.Value = posthouse.Edit, fmt.Appendf(nil, `{"To":"bob","Amount":%d}`, w.rnd.IntN(400))
		w.count["edited"]++
	}
	_, err := w.ledger.Decide(w.t.Context(), g.ID, d)
	switch {
	case err == nil, errors.Is(err, posthouse.ErrVoted), w.store.Dead(), errors.Is(err, posthouse.ErrConflict), errors.Is(err, posthouse.ErrDecided):
	default:
		w.t.Fatal(err)
	}
}

// truth is what a person who has looked at the world answers: that it happened. The
// random world always pays before it loses the line; what was lost before it was
// asked to is paid out by hand.
func (w *world) truth(g *posthouse.Gate) posthouse.Decision {
	return posthouse.Decision{By: "ops", Verdict: posthouse.Happened, Value: json.RawMessage(`"by hand"`)}
}

// fork begins a branch or a thread at some checkpoint, perhaps with another input.
func (w *world) fork() {
	var heads []*posthouse.Header
	for h, err := range w.ledger.List(w.t.Context(), posthouse.Query{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		heads = append(heads, h)
	}
	if len(heads) == 0 || len(heads) > 60 {
		return
	}
	h := heads[w.rnd.IntN(len(heads))]
	var change func(*order)
	if w.rnd.IntN(2) == 0 {
		change = func(o *order) { o.Amount = w.rnd.IntN(400) }
	}
	thread := ""
	if w.rnd.IntN(3) == 0 {
		thread = fmt.Sprint("away-", w.rnd.Uint32())
	}
	if err := w.program().fork(w.t.Context(), h.ID, change, thread); err != nil && !w.store.Dead() {
		w.t.Fatal(err)
	}
	w.count["forked"]++
}

// change edits the state of some branch, or has its step restarted.
func (w *world) change() {
	all := w.branches()
	if len(all) == 0 {
		return // it died before it began
	}
	at := all[w.rnd.IntN(len(all))]
	h, err := w.ledger.Latest(w.t.Context(), ledger.LatestQuery{Thread: at[0], Branch: at[1]})
	switch {
	case err != nil:
	case w.rnd.IntN(2) == 0:
		err = w.program().update(w.t.Context(), at[0], at[1], func(o *order) { o.Amount = w.rnd.IntN(400) })
		w.count["updated"]++
	default:
		_, err = w.ledger.RestartStep(w.t.Context(), h.ID, nil)
		w.count["anew"]++
	}
	if err != nil && !w.store.Dead() && !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrNotFound) {
		w.t.Fatal(err)
	}
}

// approved reads what the log says was approved, by thread~branch and content.
func (w *world) approved() map[string]int {
	l := must(ledger.Open(w.below, nil))(&house{T: w.t})
	all := map[string]int{}
	for info, err := range l.Threads(w.t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		for e, err := range l.Log(w.t.Context(), info.Thread, posthouse.Range{Headers: true}) {
			if err != nil {
				w.t.Fatal(err)
			}
			for _, r := range e.Records {
				if r.Decision == nil {
					continue
				}
				g := must(l.Gate(w.t.Context(), r.Decision.Gate))(&house{T: w.t})
				if g.Kind == gate.KindOutcome || g.Origin != "" || g.Decision.Verdict != posthouse.Approve && g.Decision.Verdict != posthouse.Edit {
					continue
				}
				content := g.Payload
				if g.Decision.Verdict == posthouse.Edit {
					content = g.Decision.Value
				}
				var t bankTransfer
				if err := json.Unmarshal(content, &t); err != nil {
					w.t.Fatal(err)
				}
				at := g.Thread
				if g.Branch != posthouse.MainBranch {
					at += "~" + g.Branch
				}
				all[fmt.Sprintf("%s %s:%d", at, t.To, t.Amount)] += max(1, g.Uses)
			}
		}
	}
	return all
}

// unapproved returns the effects without an approval, or more often than approved.
func (w *world) unapproved() (bad []string) {
	approved := w.approved()
	for _, what := range slices.Sorted(maps.Keys(w.witness.done)) {
		w.count["executed"] += w.witness.done[what]
		if w.witness.done[what] > approved[what] {
			bad = append(bad, fmt.Sprintf("%s: done %d times, approved %d times", what, w.witness.done[what], approved[what]))
		}
	}
	return bad
}

// play runs one random case and returns the unapproved effects.
func play(t *testing.T, seed uint64, naive bool, count map[string]int) []string {
	rnd := rand.New(rand.NewPCG(seed, 7))
	w := &world{
		t: t, rnd: rnd, now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), below: memstore.New(), naive: naive, count: count,
		witness: &witness{done: map[string]int{}, keys: map[string]bool{}, rnd: rand.New(rand.NewPCG(seed, 8)), broken: 12},
	}
	for range 1 + rnd.IntN(3) {
		w.deals = append(w.deals, randomDeal{
			quorum: rnd.IntN(4) == 0, auto: rnd.IntN(4), idempotent: rnd.IntN(3) == 0, again: rnd.IntN(3) == 0, beside: rnd.IntN(3) == 0,
			validFor: time.Duration(rnd.IntN(2)) * time.Hour, ceiling: rnd.IntN(2) * 200, retries: rnd.IntN(2),
		})
	}
	w.graph, w.rounds = seed%2 == 0, 1+rnd.IntN(2)
	w.open()
	if err := w.program().begin(t.Context(), "t", order{Amount: rnd.IntN(300)}); err != nil && !w.store.Dead() && !errors.Is(err, posthouse.ErrUnknown) {
		t.Fatal(err)
	}
	for range 10 + rnd.IntN(20) {
		switch rnd.IntN(11) {
		case 0:
			w.fork()
		case 10:
			w.change()
		case 1:
			w.version = rnd.IntN(3)
			w.count["deployed"]++
			w.open()
		case 2:
			w.now = w.now.Add(time.Duration(rnd.IntN(90)) * time.Minute)
		case 3, 4, 5, 6:
			w.decide()
		default:
			w.resume()
		}
		if w.store.Dead() {
			w.now = w.now.Add(time.Minute)
			w.open()
		}
	}
	return append(w.unapproved(), w.unlicensed()...)
}

// unlicensed returns faults that the records alone show: effects that their gate
// does not license, and effects that name no gate.
func (w *world) unlicensed() (bad []string) {
	if w.naive {
		return nil
	}
	r, err := sign.Verify(w.t.Context(), w.below, nil, &sign.VerifyOptions{RequireGrants: true})
	if err != nil {
		w.t.Fatal(err)
	}
	w.count["verified"] += r.Granted
	for _, f := range r.Faults {
		bad = append(bad, f.String())
	}
	return bad
}

// No effect made under a grant runs on content without an approval, nor more often
// than it was approved, whatever a program does around it: loops, goroutines, judges,
// quorums, edits, parallel branches with retries, updates, restarted steps, forks of
// forks, deploys that ask something else, lost processes and lost answers. Every other
// program is a graph. A witness outside the program counts.
func TestGrantsProperty(t *testing.T) {
	cases := *proofCases
	if testing.Short() {
		cases = min(cases, 100)
	}
	count := map[string]int{}
	for i := range cases {
		if bad := play(t, *proofSeed+uint64(i), false, count); len(bad) > 0 {
			t.Fatalf("seed %d:\n%s", *proofSeed+uint64(i), strings.Join(bad, "\n"))
		}
	}
	t.Logf("%d cases from seed %d: %v", cases, *proofSeed, count)
	for _, what := range []string{"re-asked", "refused", "executed", "killed", "forked", "deployed", "edited", "unknown", "updated", "anew"} {
		if count[what] == 0 {
			t.Errorf("nothing was %s in %d cases", what, cases)
		}
	}
}

// The control arm: a program that takes an answer by name and acts on its state is
// caught.
func TestGrantsPropertyCatches(t *testing.T) {
	caught := 0
	for i := range 60 {
		if len(play(t, *proofSeed+uint64(i), true, map[string]int{})) > 0 {
			caught++
		}
	}
	t.Logf("caught in %d of 60 cases", caught)
	if caught == 0 {
		t.Error("effects that nobody approved were not noticed")
	}
}
