package posthouse

import (
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A Release is a closed generation of a thread: its version. It never changes, and can
// be read, listed and forked until it is dropped.
type Release struct {
	Thread string `json:"thread"`
	ReleaseInfo
	Seq  uint64    `json:"seq"`  // of the generation's last entry, which holds the release
	Hash Hash      `json:"hash"` // of that entry
	At   time.Time `json:"at"`

	// Ended lists the gates whose approvals could still be used, or asked for again, until
	// the release ended them: see [Gate.Approval]. Only what makes the release returns it.
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

func (m *ReleaseInfo) append(b []byte) []byte {
	b = append(canon.AppendUint(b, m.First), m.Base[:]...)
	b = canon.AppendUint(b, uint64(len(m.Tags)))
	for _, t := range m.Tags {
		b = canon.AppendString(b, t)
	}
	b = canon.AppendString(canon.AppendString(b, m.By), m.Reason)
	b = canon.AppendUint(appendBool(b, m.Failed), m.Fence)
	return appendHeads(canon.AppendUint(b, uint64(m.Checkpoints)), m.Heads)
}

func readRelease(r *decoder) *ReleaseInfo {
	m := &ReleaseInfo{First: r.Uint()}
	copy(m.Base[:], r.Raw(32))
	for range r.Items() {
		m.Tags = append(m.Tags, r.String())
	}
	m.By, m.Reason, m.Failed, m.Fence = r.String(), r.String(), readBool(r), r.Uint()
	m.Checkpoints = int(readUint32(r))
	m.Heads = readHeads(r)
	return m
}

func (m *ReleaseInfo) check(e *Entry, r *decoder) {
	if m.First == 0 || m.First > e.Seq || (m.First == 1) != m.Base.IsZero() {
		r.Fail("a release from entry %d on", m.First)
	}
	for _, h := range m.Heads {
		if h.Seq < m.First || h.Seq > e.Seq {
			r.Fail("a released head in entry %d", h.Seq)
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

func appendHeads(b []byte, heads []BranchHead) []byte {
	b = canon.AppendUint(b, uint64(len(heads)))
	for _, h := range heads {
		b = appendID(canon.AppendString(b, branchCode(h.Branch)), h.Head)
		b = canon.AppendUint(canon.AppendUint(b, h.Seq), codeOf(statusCodes, h.Status))
	}
	return b
}

func readHeads(r *decoder) (heads []BranchHead) {
	for range r.Items() {
		heads = append(heads, BranchHead{readBranch(r), readID(r), r.Uint(), readCode(r, statusCodes)})
	}
	return heads
}
