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
		if e.Recs[i].Removal != nil {
			if err := readRemoved(list, &e.Entry, i); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// readRemoved reads into list what one removal record lists.
func readRemoved(list *posthouse.RemovedList, e *posthouse.Entry, record int) error {
	if len(e.Bodies[record]) == 0 {
		return nil
	}
	if err := json.Unmarshal(e.Bodies[record], list); err != nil {
		return posthouse.Corrupt("the removal at entry %d of thread %q does not decode: %v", e.Seq, e.Thread, err)
	}
	return nil
}
