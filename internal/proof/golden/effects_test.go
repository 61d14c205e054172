package golden_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
)

// effectStores are the stores with effects in all their states, of both versions that wrote them:
// threads "here-" run them in the program, "away-" at a worker, "handler-" in a worker's handler.
func effectStores(t *testing.T) (all []goldenStore) {
	t.Helper()
	paths := must.Get(filepath.Glob("testdata/*/effects-*.db.gz"))(t)
	if len(paths) != 6 {
		t.Fatalf("found %d stores with effects: %s", len(paths), paths)
	}
	for _, p := range paths {
		all = append(all, goldenStore(strings.TrimSuffix(p, ".db.gz")))
	}
	return all
}

// onEffectStores runs a test over each of them: its file, and a copy in memory.
func onEffectStores(t *testing.T, test func(t *testing.T, g goldenStore, store posthouse.Store)) {
	t.Helper()
	for _, g := range effectStores(t) {
		for name, open := range map[string]func(*testing.T) posthouse.Store{"sqlite": g.sqlite, "memory": g.memory} {
			t.Run(g.name()+"/"+name, func(t *testing.T) { test(t, g, open(t)) })
		}
	}
}

// A reading is what is said of a thread's payment.
type reading struct {
	status grants.Status
	asks   string // the kinds of its open questions to people
}

// saidByError is how an attempt reads that ended with an error. These versions took that for the word that
// it did not act, and it proves nothing.
const saidByError = grants.Unknown

// readings are what is said of the payments, a month after the stores were written.
var readings = map[string]reading{
	"here-proposed":           {asks: "approval"},
	"here-refused":            {},
	"here-licensed":           {}, // nothing of it is on record
	"here-done":               {status: grants.Executed},
	"here-happened":           {status: grants.Executed},
	"here-repaid":             {status: grants.Executed},
	"here-parked-done":        {status: grants.Executed},
	"here-begun":              {status: grants.Released}, // a process has the thread, for all that is known
	"here-begun-asked":        {grants.Unknown, "outcome"},
	"here-idempotent-begun":   {status: grants.Released},
	"here-idempotent-unknown": {status: grants.Unknown},
	"here-twice":              {status: saidByError}, // the first of two was paid
	"here-unknown":            {status: grants.Unknown},
	"here-parts-unknown":      {status: grants.Unknown},
	"here-asked":              {grants.Unknown, "outcome"},
	"here-lost-again":         {grants.Unknown, "outcome"},
	"here-approved":           {status: grants.Decided},  // people said that it was not done, and no program has seen it yet
	"here-responded":          {status: grants.Executed}, // people said that it was
	"here-rejected":           {status: grants.Unknown},
	"here-gave-up":            {status: grants.Unknown},
	"here-undone":             {grants.Decided, "approval"}, // settled as not done, and asked for again
	"here-reconciled-undone":  {grants.Decided, "approval"},
	"here-failed":             {status: saidByError},
	"here-reset":              {status: saidByError},
	"here-failed-twice":       {status: saidByError},
	"here-failed-again":       {status: saidByError},
	"here-idempotent-failed":  {status: saidByError},
	"here-parts-failed":       {status: saidByError},
	"here-parked":             {grants.Released, "approval"},
	"here-parked-answered":    {status: grants.Decided}, // nothing of it has acted

	"away-proposed":          {asks: "approval"},
	"away-licensed":          {},
	"away-done":              {status: grants.Executed},
	"away-happened":          {status: grants.Executed},
	"away-repaid":            {status: grants.Executed},
	"away-failed":            {status: saidByError},
	"away-asked":             {grants.Unknown, "outcome"},
	"away-approved":          {status: grants.Decided},
	"away-responded":         {status: grants.Executed},
	"away-rejected":          {status: grants.Unknown},
	"away-gave-up":           {status: grants.Unknown},
	"away-claimed-cancelled": {status: grants.Unknown},
	"away-withdrawn":         {status: grants.Decided},
	"away-claimed":           {status: grants.Released},
	"away-open":              {status: grants.Released},
	"away-retried":           {status: grants.Released},

	"handler-proposed":         {asks: "approval"},
	"handler-licensed":         {},
	"handler-open":             {},
	"handler-done":             {status: grants.Executed},
	"handler-done-task-failed": {status: grants.Executed},
	"handler-happened":         {status: grants.Executed},
	"handler-repaid":           {status: grants.Executed},
	"handler-failed":           {status: saidByError},
	"handler-asked":            {grants.Unknown, "outcome"},
	"handler-approved":         {status: grants.Decided},
	"handler-responded":        {status: grants.Executed},
	"handler-rejected":         {status: grants.Unknown},
	"handler-gave-up":          {status: grants.Unknown},
	"handler-lost-unasked":     {status: grants.Unknown},
	"handler-begun":            {status: grants.Released},
}

// olderReadings are what is different at 39d2def: a task of a worker was not the effect's.
var olderReadings = map[string]reading{
	"away-claimed-cancelled": {status: grants.Decided}, // nothing says that a worker had it
	"away-lost":              {status: saidByError},
	"away-lost-done":         {status: grants.Executed},
}

// notOlder are threads that 39d2def does not have: workers lost no effects there.
var notOlder = regexp.MustCompile("^handler-|^away-(asked|approved|responded|rejected|gave-up|happened|repaid)$")

// older reports whether the store is of 39d2def.
func (g goldenStore) older() bool { return strings.Contains(g.name(), "39d2def") }

func (g goldenStore) readings() map[string]reading {
	all := maps.Clone(readings)
	if g.older() {
		maps.DeleteFunc(all, func(thread string, _ reading) bool { return notOlder.MatchString(thread) })
		maps.Copy(all, olderReadings)
	}
	return all
}

// TestEffectsStay: what these versions put on record of effects is there, byte for byte; it verifies,
// and is read as what it was.
func TestEffectsStay(t *testing.T) {
	onEffectStores(t, func(t *testing.T, g goldenStore, store posthouse.Store) {
		l, _ := g.ledger(t, store)
		want := g.answers(t)
		links := want["links"].(map[string]any)
		delete(want, "links")
		for info, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
			must.Do(t, err)
			if is := fmt.Sprint(info.Tail.Seq, " ", info.Link); links[info.Thread] != is {
				t.Errorf("thread %s ends with %s, was %s", info.Thread, is, links[info.Thread])
			}
			delete(links, info.Thread)
		}
		if len(links) > 0 {
			t.Errorf("missing: %v", links)
		}
		report := must.Get(sign.Verify(t.Context(), store, g.ring(t), &sign.VerifyOptions{RequireSigned: g.signed(), RequireGrants: true}))(t)
		if !report.OK() {
			t.Errorf("it does not verify: %+v", report)
		}
		delete(want, "effects") // see readings
		if want["threads"] != nil {
			delete(want["verify"].(map[string]any), "unknown") // errors count now
			compare(t, want, must.Get(ask(t.Context(), l, g.ring(t)))(t))
		}
		for thread, w := range g.readings() {
			if is := readOf(t, l, thread); is != w {
				t.Errorf("%s is %+v, want %+v", thread, is, w)
			}
		}
	})
}

// readOf returns what is said of a thread's payment, by the list of effects and by its grant.
func readOf(t *testing.T, l *ledger.Ledger, thread string) (r reading) {
	t.Helper()
	for _, u := range must.Get(ledger.Effects(t.Context(), l, thread))(t) {
		if strings.HasSuffix(u.Name, "first") {
			continue
		}
		r.status = u.Status
		of := must.Get(ledger.ReadGrant(t.Context(), l, u.Grant))(t)
		if i := slices.IndexFunc(of.Uses, func(v grants.Use) bool { return v.Name == u.Name }); i < 0 || of.Uses[i].Status != u.Status {
			t.Errorf("%s is %s, and by its grant %+v", thread, u.Status, of.Uses)
		}
	}
	for q, err := range l.Gates(t.Context(), ledger.GateQuery{Thread: thread}) {
		must.Do(t, err)
		r.asks += q.Kind
	}
	return r
}

// An end is how a thread ends when it is resumed again and again: the payments, the run's status or the code of
// its error, and what it asks people then.
type end struct {
	paid int
	says string
	asks string
}

var (
	paysOnce  = end{1, "done", ""}
	stays     = end{0, "done", ""}
	isAsked   = end{0, "waiting", "outcome"}
	isRefused = end{0, "forbidden", ""}

	// afterError is how an effect ends that failed with an error by the rule of these versions.
	afterError = isAsked
	// besidesParts is how one ends that failed after a part of it was on record.
	besidesParts = isAsked
	// inHandlers is how one ends in a handler that failed its task: that is on record.
	inHandlers = end{0, "failed", ""}
)

// ends are how the threads end that differ from those that wait or are done.
var ends = map[string]end{
	"here-proposed":           {0, "waiting", "approval"},
	"here-refused":            isRefused,
	"here-licensed":           paysOnce,
	"here-done":               stays,
	"here-happened":           stays,
	"here-repaid":             stays,
	"here-parked-done":        stays,
	"here-begun":              isAsked,
	"here-begun-asked":        isAsked,
	"here-unknown":            isAsked,
	"here-parts-unknown":      isAsked,
	"here-asked":              isAsked,
	"here-lost-again":         isAsked,
	"here-approved":           paysOnce, // people said that it was not done
	"here-responded":          stays,    // people said that it was
	"here-rejected":           isRefused,
	"here-gave-up":            isRefused,
	"here-idempotent-begun":   paysOnce, // again, with the same key
	"here-idempotent-unknown": paysOnce,
	"here-idempotent-failed":  paysOnce,
	"here-undone":             {0, "waiting", "approval"},
	"here-reconciled-undone":  {0, "waiting", "approval"},
	"here-parked":             {0, "waiting", "approval"},
	"here-parked-answered":    paysOnce,
	"here-failed":             afterError,
	"here-reset":              afterError,
	"here-failed-twice":       afterError,
	"here-failed-again":       afterError,
	"here-twice":              afterError,
	"here-parts-failed":       besidesParts,

	"away-proposed":          {0, "waiting", "approval"},
	"away-licensed":          {0, "waiting", ""}, // its task is open
	"away-open":              {0, "waiting", ""},
	"away-retried":           {0, "waiting", ""},
	"away-claimed":           {0, "waiting", ""},
	"away-approved":          {0, "waiting", ""},
	"away-done":              stays,
	"away-happened":          stays,
	"away-repaid":            stays,
	"away-responded":         stays,
	"away-asked":             isAsked,
	"away-rejected":          isRefused,
	"away-gave-up":           isRefused,
	"away-withdrawn":         {0, "cancelled", ""},
	"away-claimed-cancelled": {0, "cancelled", "outcome"}, // whoever takes the thread over asks
	"away-failed":            afterError,

	"handler-proposed":         {0, "waiting", "approval"},
	"handler-licensed":         {0, "waiting", ""}, // its handler's task is open
	"handler-open":             {0, "waiting", ""},
	"handler-begun":            {0, "waiting", ""},
	"handler-approved":         {0, "waiting", ""},
	"handler-responded":        {0, "waiting", ""},
	"handler-rejected":         {0, "waiting", ""},
	"handler-asked":            isAsked,
	"handler-done":             stays,
	"handler-happened":         stays,
	"handler-repaid":           stays,
	"handler-done-task-failed": {0, "failed", ""},
	"handler-lost-unasked":     {0, "failed", "outcome"},
	"handler-gave-up":          {0, "failed", ""},
	"handler-failed":           inHandlers,
}

// olderEnds are what is different at 39d2def.
var olderEnds = map[string]end{
	"away-claimed-cancelled": {0, "cancelled", ""},
	"away-lost":              afterError,
	"away-lost-done":         stays,
}

// TestEffectsGoOn resumes each thread, again and again, as a deploy does with all that are not done. An effect
// that was done is not done again, and what people said counts.
func TestEffectsGoOn(t *testing.T) {
	onEffectStores(t, func(t *testing.T, g goldenStore, store posthouse.Store) {
		l, c := g.ledger(t, store)
		b, thread := &teller{}, ""
		app := must.Get(flow.New("golden-effects", b.deal(func() string { return besides(thread) })).Open(l, nil))(t)
		want := maps.Clone(ends)
		if g.older() {
			maps.Copy(want, olderEnds)
		}
		for _, thread = range slices.Sorted(maps.Keys(g.readings())) {
			b.paid = 0
			var is end
			for range 3 {
				r, err := app.Resume(t.Context(), thread)
				is.says = says(r, err)
				c.forward(2 * time.Hour) // in a copy a lease is over once it was seen for its time
			}
			is.paid, is.asks = b.paid, readOf(t, l, thread).asks
			if is != want[thread] {
				t.Errorf("%s ends with %+v, want %+v", thread, is, want[thread])
			}
		}
		report := must.Get(sign.Verify(t.Context(), store, g.ring(t), &sign.VerifyOptions{RequireGrants: true}))(t)
		if !report.OK() {
			t.Errorf("it does not verify: %+v", report)
		}
	})
}

// says is the status of a run, the code of its error, or "failed".
func says(r *flow.Result[string], err error) string {
	var e *posthouse.Error
	var failed *flow.Error
	switch {
	case err == nil:
		return string(r.Status)
	case errors.As(err, &e):
		return string(e.Code)
	case errors.As(err, &failed):
		return "failed"
	}
	return err.Error()
}

// besides is what the payment's function of a thread does in addition.
func besides(thread string) string {
	switch {
	case strings.HasPrefix(thread, "here-parked"):
		return "asks"
	case strings.HasPrefix(thread, "here-parts"):
		return "reserves"
	}
	return ""
}
