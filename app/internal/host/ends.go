package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/ends"
	"github.com/posthouse/posthouse/transfer"
)

// opened is a host's store, and the file that says where its threads ended.
type opened struct {
	store posthouse.Store
	ends  *ends.Log // nil: the store ends with the process
}

func (o *opened) close() (err error) {
	if o.ends != nil {
		err = o.ends.Close()
	}
	if o.store != nil {
		err = errors.Join(err, o.store.Close())
	}
	return err
}

// followEnds refuses a store that lacks what the data directory has seen, and notes from now on where
// threads end. Gates say from now on whether they were asked before the store was put back.
func (h *Host) followEnds(ctx context.Context, s *Source) error {
	if s.inMemory() {
		return nil
	}
	if _, err := transfer.LastPutBack(ctx, h.Ledger); err != nil {
		return err
	}
	var have []ends.End
	if !s.New { // else these are of another store
		var err error
		have, err = ends.Load(s.Dir.Ends())
		if err != nil {
			return err
		}
	}
	missing, err := ends.Missing(ctx, h.opened.store, have)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return rolledBack(s.URL, s.Dir, missing)
	}
	h.opened.ends, err = ends.Open(s.Dir.Ends(), have, h.log)
	if err == nil {
		h.Ledger.Core().Config.Reached = h.opened.ends.Reached
	}
	return err
}

// maxNamed bounds how many threads an error names.
const maxNamed = 10

// rolledBack is the error of a store that was put back to an earlier state.
func rolledBack(url string, dir datadir.Dir, missing []ends.End) error {
	var names []string
	for _, e := range missing[:min(len(missing), maxNamed)] {
		names = append(names, fmt.Sprintf("%s entry %d", e.Thread, e.Seq))
	}
	more := ""
	if n := len(missing) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Field: "store",
		Message: "at " + address.Redacted(url) + " is behind what the data directory " + string(dir) + " has seen of it: missing are " + strings.Join(names, ", ") + more,
		Hint:    "put the newer store back; if it is lost: posthouse store accept-rollback, after which people are asked before what was approved is done",
	}
}
