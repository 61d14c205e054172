package conform

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/scratch"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

// Options are the settings of [Run].
type Options struct {
	// URL is the address of the store. Required.
	URL string

	// Open opens a store by its address. Required.
	Open func(ctx context.Context, url string) (posthouse.Store, error)

	// Again starts this program again with the same command line. One case kills that
	// process. Required.
	Again func(ctx context.Context) *exec.Cmd

	Only string // run the cases that have it in their name; default: all
	Long bool   // repeat races and random histories 1,000 times

	// Progress is called when a case ends, one call at a time. Optional.
	Progress func(done, of int, name string)
}

// A Report is what [Run] found.
type Report struct {
	Store      string     `json:"store"` // its address without a password
	Passed     int        `json:"passed"`
	Failed     []Case     `json:"failed"`
	Skipped    []string   `json:"skipped"`             // cases that do not apply, with the reason
	Unchecked  []string   `json:"unchecked,omitempty"` // rules that only a test can check: see package lineartest
	Durability Durability `json:"durability"`
	LeftBehind []string   `json:"leftBehind,omitempty"` // namespaces that could not be dropped, with the reason
}

// OK reports whether no case failed and nothing weakens the store.
func (r *Report) OK() bool { return len(r.Failed) == 0 && len(r.Durability.Weak) == 0 }

// A Case is a case that failed.
type Case struct {
	Name string `json:"name"`
	Log  string `json:"log"`
}

// killed is the case in which a process is killed.
const killed = "reopen/another process wrote it and was killed"

// unchecked is the rule of package lineartest. That links a checker of histories, which is
// no part of a program that serves.
const unchecked = "race/heads are linearizable"

// parallel is how many cases run at once.
const parallel = 4

// Run runs the suite and measures what a write costs. A store that breaks a rule is no
// error: the report names the rule. It fails if the store cannot be opened.
func Run(ctx context.Context, o *Options) (*Report, error) {
	s := &suite{Options: o, server: &scratch.Server{URL: o.URL, Open: o.Open}, seats: make(chan struct{}, parallel), report: &Report{Store: address.Redacted(o.URL), Failed: []Case{}, Skipped: []string{}}}
	cases := allCases()
	for _, c := range cases {
		if strings.Contains(c.Name, o.Only) {
			s.of++
		}
	}
	durability, err := s.measure(ctx)
	if err != nil {
		return nil, err
	}
	s.report.Durability = *durability
	root := &test{suite: s, ctx: ctx}
	root.do(func(t *test) {
		storetest.RunCases(t, storetest.Harness{
			Open: s.openCase, Durable: durability.Kept, Short: !o.Long, Long: o.Long, Only: o.Only, Again: o.Again,
		}, cases)
	})
	s.running.Wait()
	root.clean()
	if strings.Contains(unchecked, o.Only) {
		s.report.Unchecked = append(s.report.Unchecked, unchecked)
	}
	if root.failed {
		return nil, errors.New(strings.TrimSpace(root.text()))
	}
	s.report.Durability.Killed = durability.Kept && strings.Contains(killed, o.Only) &&
		!slices.ContainsFunc(s.report.Failed, func(c Case) bool { return c.Name == killed })
	slices.SortFunc(s.report.Failed, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return s.report, ctx.Err()
}

// Groups returns what the names of cases begin with, as in "append/", in the order of the suite.
func Groups() (groups []string) {
	for _, c := range allCases() {
		group, _, _ := strings.Cut(c.Name, "/")
		if group += "/"; !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return groups
}

func allCases() []storetest.Case { return slices.Concat(storetest.Cases(), stresstest.Cases()) }

// A suite is one run.
type suite struct {
	*Options
	server  *scratch.Server
	seats   chan struct{} // one for each case that runs beside others
	running sync.WaitGroup
	of      int

	mu     sync.Mutex
	done   int
	report *Report
	opened map[string]bool // namespaces to drop
}

// openCase opens the store of a case's directory, and drops it when the case ends.
func (s *suite) openCase(t storetest.TB, dir string) posthouse.Store {
	s.mu.Lock()
	first := !s.opened[dir]
	if s.opened == nil {
		s.opened = map[string]bool{}
	}
	s.opened[dir] = true
	s.mu.Unlock()
	if first {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			if err := s.server.Drop(ctx, dir); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				at, _, _ := s.server.At(dir)
				s.report.LeftBehind = append(s.report.LeftBehind, address.Redacted(at)+": "+err.Error())
			}
		})
	}
	store, err := s.server.Make(t.Context(), dir)
	if err != nil {
		t.Fatalf("the store cannot be opened: %v", err)
	}
	return store
}

// ended counts a case.
func (s *suite) ended(t *test) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if t.failed {
		s.report.Failed = append(s.report.Failed, Case{Name: t.name, Log: t.text()})
	} else {
		s.report.Passed++
	}
	if s.Progress != nil {
		s.Progress(s.done, s.of, t.name)
	}
}

// skipped notes a case that does not apply.
func (s *suite) skipped(format string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of--
	s.report.Skipped = append(s.report.Skipped, fmt.Sprintf(format, args...))
}
