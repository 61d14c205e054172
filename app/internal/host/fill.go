package host

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// fillLease is longer than any past: no lease ends while the clock is put on.
const fillLease = 1000 * 24 * time.Hour

// fill lets [Options.Fill] write into memory, and copies that into the store. So a past costs few
// writes to a disk, however many commits it has.
func (h *Host) fill(ctx context.Context, o *Options, lo ledger.Options) error {
	if o.Fill == nil {
		return nil
	}
	var clock atomic.Pointer[time.Time]
	at := func(t time.Time) { clock.Store(&t) }
	at(time.Unix(0, 0)) // ids never go back
	lo.Now, lo.LeaseTTL, lo.Appended, lo.Tracer = func() time.Time { return *clock.Load() }, fillLease, nil, nil
	past := memstore.New()
	l, err := ledger.Open(past, &lo)
	if err != nil {
		return err
	}
	err = o.Fill(ctx, &Env{Ledger: l, Dir: string(o.Dir), Logger: h.log}, at)
	err = errors.Join(err, l.Close())
	if err == nil {
		_, err = transfer.CopyStore(ctx, past, h.opened.store, nil)
	}
	return errors.Join(err, past.Close())
}
