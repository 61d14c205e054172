package coord_test

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

// A stubborn store refuses each append with a conflict, though nothing stands
// against it.
type stubborn struct{ posthouse.Store }

func (stubborn) Append(context.Context, *posthouse.Batch) error {
	return &posthouse.Error{Code: posthouse.CodeConflict, Message: "no"}
}

// A journal does not try for ever where a conflict does not go away.
func TestRecordGivesUpOnALastingConflict(t *testing.T) {
	j := checkpointing(t, open(t, stubborn{memstore.New()}, nil), coord.Discard{}, coord.EveryEvent)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where it never ended
	defer cancel()
	must.Fail(t, j.Record(ctx, completed("c", "a", "1")), posthouse.ErrConflict)
}
