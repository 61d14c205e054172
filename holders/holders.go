package holders

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Report is who holds threads at a moment.
type Report struct {
	Processes []*Process `json:"items" doc:"those that hold a thread, the one with the most first"`
	Free      int        `json:"free" doc:"threads that can go on and that no process holds"`
	Looked    int        `json:"looked" doc:"threads that were looked at"`
	More      bool       `json:"more,omitempty" doc:"there are more threads that can go on, which do not count"`
}

// A Process is an owner of leases.
type Process struct {
	Process string  `json:"process" doc:"the name under which it holds leases"`
	Threads int     `json:"threads" doc:"that it holds"`
	Silent  bool    `json:"silent,omitempty" doc:"it has not said for the time of a lease that it is there: others take its threads up"`
	Some    []*Held `json:"some" doc:"some of the threads, at most 20"`
}

// A Held is a thread that a process holds.
type Held struct {
	Thread  string    `json:"thread"`
	Program string    `json:"program,omitempty"` // that runs it
	Run     string    `json:"run,omitempty"`
	Fence   uint64    `json:"fence" doc:"it grows with each claim of the thread"`
	Updated time.Time `json:"updatedAt" doc:"the minute of its newest entry"`
}

// Limits of a report.
const (
	Most    = 10_000 // threads that are looked at
	someOf  = 20     // threads that are named of a process
	maxProc = 1000   // processes
)

// List returns who holds the threads that can go on, of the first most by their names; 0 is [Most], which
// is the limit. Threads that wait or have ended are held by no process.
func List(ctx context.Context, l *ledger.Ledger, most int) (*Report, error) {
	if most < 0 || most > Most {
		return nil, posthouse.Invalid("limit", "must be 1 to %d", Most)
	}
	most = cmp.Or(most, Most)
	r := &Report{Processes: []*Process{}}
	by := map[string]*Process{}
	for t, err := range l.Threads(ctx, posthouse.ThreadQuery{Runnable: true, Limit: most + 1}) {
		switch {
		case err != nil:
			return nil, err
		case r.Looked == most:
			r.More = true
			continue
		}
		r.Looked++
		if !t.Lease.Held {
			r.Free++
			continue
		}
		p := by[t.Lease.Owner]
		if p == nil {
			if len(by) == maxProc {
				r.More = true
				continue
			}
			p = &Process{Process: t.Lease.Owner, Some: []*Held{}}
			by[t.Lease.Owner] = p
			r.Processes = append(r.Processes, p)
		}
		if p.Threads++; len(p.Some) < someOf {
			p.Some = append(p.Some, &Held{Thread: t.Thread, Program: t.Graph, Run: t.Lease.Run, Fence: t.Lease.Fence, Updated: time.UnixMilli(int64(t.Updated)).UTC()})
		}
	}
	for _, p := range r.Processes {
		var err error
		p.Silent, err = l.Core().Owners.IsExpired(ctx, p.Process)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.Processes, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(b.Threads, a.Threads), strings.Compare(a.Process, b.Process))
	})
	return r, nil
}
