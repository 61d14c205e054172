package proof

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
)

const (
	maxTails = 200_000 // threads with an end that a verification remembers
	maxSince = 2000    // threads that are looked at to count what came later
)

// A Since counts what a verification did not see.
type Since struct {
	Threads int    `json:"threads" doc:"threads with entries that it did not see"`
	New     int    `json:"new" doc:"of these, threads that it did not know"`
	Entries uint64 `json:"entries" doc:"how many entries these are, nearly: numbers of removed ones count"`
	More    bool   `json:"more,omitempty" doc:"there are others, which were not looked at"`
}

// remember keeps where threads ended, for the newest verification alone.
func (js *jobs) remember(v *Verification, tails map[string]uint64) {
	js.update(func() {
		for _, older := range js.all {
			older.tails = nil
		}
		v.tails = tails
	})
}

// since counts the entries after a verification. Threads come with the newest entry first, so that it
// ends at the first one that has no entry from the minute in which the verification began.
func (p *Proof) since(r *api.Request) (*Since, error) {
	v, err := p.found(r)
	if err != nil {
		return nil, err
	}
	s := &Since{More: v.tails == nil}
	if v.tails == nil {
		return s, nil
	}
	began := posthouse.Millis(v.Started.UnixMilli())
	looked := 0
	for t, err := range p.ledger.Threads(r.Context(), posthouse.ThreadQuery{Thread: v.Thread, Newest: v.Thread == ""}) {
		if err != nil {
			return nil, err
		}
		if t.Updated+60_000 <= began {
			break
		}
		if looked++; looked > maxSince {
			s.More = true
			break
		}
		last, known := v.tails[t.Thread]
		if known && t.Tail.Seq <= last {
			continue
		}
		s.Threads++
		if !known {
			s.New++
		}
		s.Entries += t.Tail.Seq - min(last, t.Tail.Seq)
	}
	return s, nil
}
