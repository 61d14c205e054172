package posthouse

import "github.com/posthouse/posthouse/internal/base/canon"

// A RemovalInfo attests what was removed from the log. The body lists the removed
// checkpoints, see docs/format.md.
type RemovalInfo struct {
	Reason string       `json:"reason,omitempty"`
	By     string       `json:"by,omitempty"`
	Whole  bool         `json:"whole,omitempty"` // the thread: every entry before this one
	Count  int          `json:"count"`           // checkpoints removed from the current generation
	Heads  []BranchHead `json:"heads,omitempty"` // branches with a moved head; an empty id ends the branch
	Gates  []ID         `json:"gates,omitempty"` // gates that were removed with their checkpoint, and cancelled

	Archived int    `json:"archived,omitempty"` // checkpoints removed from released generations
	Version  uint32 `json:"version,omitempty"`  // this release: all of it but its record
	Left     int    `json:"left,omitempty"`     // with Version: checkpoints that remain in the releases
}

func (m *RemovalInfo) fields(f *fields) {
	f.Text(&m.Reason)
	f.Text(&m.By)
	f.Flag(&m.Whole)
	f.Total(&m.Count)
	f.Total(&m.Archived)
	f.Number32(&m.Version)
	f.Total(&m.Left)
	f.heads(&m.Heads)
	canon.List(&f.Fields, &m.Gates, f.gateID)
}

// A RemovedList is the body of a removal record.
type RemovedList struct {
	Checkpoints []RemovedCheckpoint `json:"checkpoints,omitempty"`
	Bodies      []BodyRef           `json:"bodies,omitempty"` // that may be gone
}

// A RemovedCheckpoint names a removed checkpoint.
type RemovedCheckpoint struct {
	ID  ID     `json:"id"`
	Seq uint64 `json:"seq"`
}

// CountRemoved adds a removed checkpoint to those of its generation.
func (m *RemovalInfo) CountRemoved(seq uint64, t *ThreadInfo) {
	if seq < t.First {
		m.Archived++
	} else {
		m.Count++
	}
}

// A Hold is a thread's legal hold. The zero value is no hold.
type Hold struct {
	By    string `json:"by"`
	Since Millis `json:"since"`
	Seq   uint64 `json:"seq"` // of the entry that records it
}

func (h *Hold) fields(f *fields) {
	if f.Number(&h.Seq); h.Seq != 0 {
		f.Text(&h.By)
		f.millis(&h.Since)
	}
}
