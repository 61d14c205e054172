package posthouse

import (
	"slices"
	"time"
)

// A Release is a closed generation of a thread: its version. It never changes, and can
// be read, listed and forked until it is dropped.
type Release struct {
	Thread string `json:"thread"`
	ReleaseInfo
	Seq  uint64    `json:"seq"`  // of the generation's last entry, which holds the release
	Hash Hash      `json:"hash"` // of that entry
	At   time.Time `json:"at"`

	// Ended lists the gates with approvals that could still be used, or asked for again, until
	// the release ended them: see [grants.ApprovalOf]. Only what makes the release returns it.
	Ended []ID `json:"ended,omitempty"`
}

// A ReleaseInfo is the header of a release: its entry closes the generation. It has no
// body, and stays when the generation is dropped.
type ReleaseInfo struct {
	Version     uint32       `json:"version"`        // the generation that it closes
	First       uint64       `json:"first"`          // that generation's first entry
	Base        Hash         `json:"base,omitzero"`  // the Prev of the generation's first entry: it keeps the chain whole when the generation is dropped
	Tags        []string     `json:"tags,omitempty"` // names beside the number
	By          string       `json:"by,omitempty"`
	Reason      string       `json:"reason,omitempty"`
	Failed      bool         `json:"failed,omitempty"` // released because the work failed
	Fence       uint64       `json:"fence"`            // the newest claim of the thread: later fence numbers must be higher
	Checkpoints int          `json:"checkpoints"`      // that the generation had
	Heads       []BranchHead `json:"heads,omitempty"`  // where its branches ended, main first
}

// Head returns where a branch of the released generation ended; "" is main.
func (m *ReleaseInfo) Head(branch string) (BranchHead, bool) { return headOf(m.Heads, branch) }

func (m *ReleaseInfo) fields(f *fields) {
	f.Number(&m.First)
	f.Fixed(m.Base[:])
	f.Texts(&m.Tags)
	f.Text(&m.By)
	f.Text(&m.Reason)
	f.Flag(&m.Failed)
	f.Number(&m.Fence)
	f.Total(&m.Checkpoints)
	f.heads(&m.Heads)
}

func (m *ReleaseInfo) check(e *Entry, f *fields) {
	if m.First == 0 || m.First > e.Seq || (m.First == 1) != m.Base.IsZero() {
		f.Fail("a release from entry %d on", m.First)
	}
	for _, h := range m.Heads {
		if h.Seq < m.First || h.Seq > e.Seq {
			f.Fail("a released head in entry %d", h.Seq)
		}
	}
}

func headOf(heads []BranchHead, branch string) (BranchHead, bool) {
	if branch == "" {
		branch = MainBranch
	}
	for _, b := range heads {
		if b.Branch == branch {
			return b, true
		}
	}
	return BranchHead{}, false
}

// Clone returns a deep copy that shares nothing with r.
func (r *Release) Clone() *Release {
	c := *r
	c.Tags, c.Heads = slices.Clone(r.Tags), slices.Clone(r.Heads)
	return &c
}
