package lists

import (
	"context"
	"iter"

	"github.com/posthouse/posthouse"
)

// A BulkReader is a [posthouse.Store] that can read entries of several threads at once. Lists of
// threads use it. Without it they ask for each thread by itself.
type BulkReader interface {
	// ReadAll yields the entries at refs in this order, without bodies if headers is set, as
	// [posthouse.Store.Read] does one by one. Absent ones are passed over. The number of refs has
	// no limit.
	ReadAll(ctx context.Context, refs []posthouse.Ref, headers bool) iter.Seq2[*posthouse.Entry, error]
}
