package proof

import (
	"context"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/sign"
)

// A State is how far a verification is.
type State string

// The states.
const (
	Running   State = "running"
	Done      State = "done"      // the report says what was found
	Failed    State = "failed"    // the store could not be read
	Cancelled State = "cancelled" // by a person, or by the end of the server
)

// A Verification is a job as clients see it.
type Verification struct {
	ID      posthouse.ID `json:"id" doc:"names the job"`
	State   State        `json:"state" doc:"running, done, failed or cancelled"`
	By      string       `json:"by" doc:"the person who began it"`
	Thread  string       `json:"thread,omitempty" doc:"the only thread that is verified; absent: all are"`
	Witness *Seen        `json:"witness,omitempty" doc:"what the store is compared with; absent: with nothing of an earlier time"`
	Started time.Time    `json:"startedAt" doc:"when it began"`
	Ended   *time.Time   `json:"endedAt,omitempty" doc:"when it ended; absent while it runs"`

	Threads int   `json:"threads" doc:"threads that were walked to their end so far"`
	Entries int   `json:"entries" doc:"entries that were walked so far"`
	Bytes   int64 `json:"bytes" doc:"of their headers and bodies"`

	OK      bool         `json:"ok" doc:"it is done, and there is no fault"`
	Report  *sign.Report `json:"report,omitempty" doc:"what was found, with the first faults; absent until it is done"`
	Faults  []Kind       `json:"faultKinds,omitempty" doc:"how many faults there are of each kind, the kind found first in front"`
	Problem string       `json:"problem,omitempty" doc:"why it failed"`

	tails map[string]uint64 // where the threads ended that were walked; nil: there were too many to remember
}

// A Kind counts faults.
type Kind struct {
	Kind    sign.FaultKind `json:"kind" doc:"of these faults"`
	Count   int            `json:"count" doc:"how many there are"`
	Message string         `json:"message,omitempty" doc:"what each of them says; absent where they differ"`
}

// kindsOf counts faults by their kinds.
func kindsOf(faults []sign.Fault) (kinds []Kind) {
	at := map[sign.FaultKind]int{}
	for _, f := range faults {
		i, ok := at[f.Kind]
		if !ok {
			i, at[f.Kind] = len(kinds), len(kinds)
			kinds = append(kinds, Kind{Kind: f.Kind, Message: f.Message})
		}
		kinds[i].Count++
		if kinds[i].Message != f.Message {
			kinds[i].Message = ""
		}
	}
	return kinds
}

// firstFaults is how many faults, and effects without a grant, a verification lists. All faults are in pages.
const firstFaults = 100

// bounded returns a verification with so much of its report as one answer has.
func (v Verification) bounded() *Verification {
	if v.Report == nil {
		return &v
	}
	r := *v.Report
	r.Faults = r.Faults[:min(len(r.Faults), firstFaults)]
	if more := len(r.Ungranted) - firstFaults; more > 0 {
		r.Ungranted = r.Ungranted[:firstFaults]
		r.UngrantedMore += more
	}
	v.Report = &r
	return &v
}

// A Seen is a witness that the store is compared with.
type Seen struct {
	At      time.Time `json:"at" doc:"when it was made"`
	Threads int       `json:"threads" doc:"how many it saw; witnessed in the report counts those that still have what it saw"`
	Key     string    `json:"key" doc:"that signed it"`
}

// kept is how many verifications are remembered.
const kept = 20

// jobs are the verifications of this process, the newest last.
type jobs struct {
	mu      sync.Mutex
	all     []*Verification
	running context.CancelFunc // nil: no verification runs
}

// begin adds a job unless one runs.
func (js *jobs) begin(v *Verification, cancel context.CancelFunc) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.running != nil {
		last := js.all[len(js.all)-1]
		return &posthouse.Error{
			Code: posthouse.CodeBusy, Message: "verification " + string(last.ID) + " runs: one at a time",
			Hint: "follow it at /api/verifications/" + string(last.ID) + ", or cancel it by DELETE",
		}
	}
	js.running = cancel
	js.all = append(js.all, v)
	if len(js.all) > kept {
		js.all = js.all[len(js.all)-kept:]
	}
	return nil
}

// update changes a job.
func (js *jobs) update(fn func()) {
	js.mu.Lock()
	defer js.mu.Unlock()
	fn()
}

// find returns a copy of a job, nil for any other id.
func (js *jobs) find(id posthouse.ID) *Verification {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, v := range js.all {
		if v.ID == id {
			c := *v
			return &c
		}
	}
	return nil
}

// list returns copies of all jobs without their reports, the newest first.
func (js *jobs) list() []Verification {
	js.mu.Lock()
	defer js.mu.Unlock()
	var all []Verification
	for i := len(js.all) - 1; i >= 0; i-- {
		c := *js.all[i]
		c.Report = nil
		all = append(all, c)
	}
	return all
}
