package threadlog

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// RemovedList returns what the removal record in an entry lists.
func (r *Reader) RemovedList(seq uint64) (*posthouse.RemovedList, error) {
	e, err := r.Entry(seq, true)
	if err != nil {
		return nil, err
	}
	list := &posthouse.RemovedList{}
	for i := range e.Recs {
		if e.Recs[i].Removal != nil && len(e.Bodies[i]) > 0 {
			if err := json.Unmarshal(e.Bodies[i], list); err != nil {
				return nil, posthouse.Corrupt("the removal at entry %d of thread %q does not decode: %v", seq, e.Thread, err)
			}
		}
	}
	return list, nil
}
