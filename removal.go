package posthouse

import "github.com/posthouse/posthouse/internal/base/canon"

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

func (h Hold) append(b []byte) []byte {
	b = canon.AppendUint(b, h.Seq)
	if h.Seq == 0 {
		return b
	}
	return canon.AppendUint(canon.AppendString(b, h.By), uint64(h.Since))
}

func readHold(r *decoder) (h Hold) {
	if h.Seq = r.Uint(); h.Seq != 0 {
		h.By, h.Since = r.String(), Millis(r.Uint())
	}
	return h
}
