package sample

import (
	"context"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/demo"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/refund"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/task/natslink"
)

// Programs returns the programs of the binary: serve has no program, dev has the sample. The
// version is what the linker set, "" for what Go recorded.
func Programs(version string) app.Programs {
	return app.Programs{
		Name: "posthouse", Version: version, OpenStore: all.Open, OpenLink: natslink.Open,
		Dev: &app.Dev{
			About: aboutSample, Open: openSample,
			Demo: &app.Demo{About: "a week of invoices, refunds and more", Open: demo.Open, Fill: demo.Fill, Work: demo.Work, Letters: demo.Letters()},
		},
	}
}

const aboutSample = `Serve, with a sample workflow to try: refunds that somebody must approve.

The coordinator dispatch has an analyzer look at the request, then waits for a
decision, a minute or a month and any number of restarts, then has an approver
carry it out. No API key is needed. What the approver did is in effects.log in
the data directory, one line for each refund; where the store is encrypted
(--encrypt), a line has the key and the time alone.`

// openSample makes the bundled workflow.
func openSample(_ context.Context, env *app.Env) (*app.Set, error) {
	set := &app.Set{Next: `send dispatch "please refund order 1234"`}
	log := refund.LogEffects
	if env.Ledger.EncryptionStatus().EncryptsAtRest {
		log = refund.LogKeys
		set.Notes = []string{"Effects", "effects.log has keys and times alone; the rest is in the store"}
	}
	c, err := refund.New(env.Ledger, refund.Options{Effects: log(filepath.Join(env.Dir, "effects.log"))})
	if err != nil {
		return nil, err
	}
	set.Programs = []posthouse.Program{c}
	// An approval is about the request in the state. Other programs need no Recover.
	set.Recover = func(cp *posthouse.Checkpoint) (string, bool) {
		if cp.Graph != c.Name() {
			return "", true
		}
		return refund.Request(cp.State)
	}
	return set, nil
}
