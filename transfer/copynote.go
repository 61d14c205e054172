package transfer

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// SignalCopied is the name of the signal with which a copy of a thread begins, if [CopyOptions] says who
// makes it. Its value names the original as thread, and the released version as version.
const SignalCopied = "$copied"

// A copyNote is the value of [SignalCopied].
type copyNote struct {
	Thread  string `json:"thread"`
	Version uint32 `json:"version,omitempty"`
}

// note begins the new thread with a record of who copies what.
func (c *threadCopier) note(o *CopyOptions) error {
	if o.By == "" {
		return nil
	}
	body, err := json.Marshal(copyNote{c.from, o.Version})
	if err != nil {
		return posthouse.Invalid("thread", "does not encode: %v", err)
	}
	t, err := c.l.Lock(c.to)
	if err != nil {
		return err
	}
	defer c.l.Unlock(t)
	err = c.l.Append(c.ctx, t, func(tx *core.Tx) error {
		if err := tx.CheckLease(c.claim); err != nil {
			return err
		}
		commit.AddSignal(tx, &posthouse.SignalInfo{ID: tx.Core.IDs.New(tx.At), Name: SignalCopied, By: o.By}, body)
		tx.Sign = true
		return nil
	})
	c.begun = c.begun || mayBe(err)
	return err
}
