package host

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// exportTime is how long what was traced last may take to be sent at the end.
const exportTime = 5 * time.Second

// openTraces opens what exports traces, and lets the Ledger call it.
func (h *Host) openTraces(ctx context.Context, o *Options, lo *ledger.Options) error {
	if o.OpenTraces == nil {
		return nil
	}
	exporter, err := o.OpenTraces(ctx, o.Name, o.Version)
	if err != nil || exporter == nil {
		return err
	}
	h.exporter, lo.Tracer = exporter, exporter
	counted := lo.Appended
	lo.Appended = func(records []posthouse.Record, took time.Duration, err error) {
		counted(records, took, err)
		exporter.Appended(records, took, err)
	}
	return nil
}

// closeTraces sends what was traced last. A trace that cannot be sent is lost, and logged: a host that
// ended well has ended well.
func (h *Host) closeTraces() {
	if h.exporter == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), exportTime)
	defer cancel()
	if err := h.exporter.Close(ctx); err != nil {
		h.log.Warn("not all that was traced was sent", "error", err)
	}
	h.exporter = nil
}
