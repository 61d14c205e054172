package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/takeover"
)

// A Migration takes what an earlier version of the graph has on record to a
// later one. Of CompileOptions.Migrations the first whose From is a
// checkpoint's fingerprint is applied, or else the first without one, and then
// all behind it: keep them in the order in which the graph changed. None is
// applied to a checkpoint of this very graph, nor to one without a fingerprint,
// which was saved by hand.
type Migration struct {
	From string // the fingerprint that it begins at, see [App.Fingerprint]; "": any

	// Nodes are new names of nodes, by the old ones; of a node in a subgraph by its
	// old path, as in "research/plan": "outline". A name with a slash or an escape
	// in it ("a/b", "a%2Fb") is written as [posthouse.EscapeName] does, here and in
	// Inputs. A renamed node keeps what it has
	// on record: steps, attempts, open and decided gates, and of a subgraph its
	// state and where it stands; also what a run did that a crash lost. A call that
	// has begun in a thread of its own goes on in that thread, those of later runs
	// are in threads of the new name, which go on with what it kept.
	Nodes map[string]string

	// Parts returns the state in its new shape; parts that it leaves out are
	// dropped. It must depend on its argument only, which it may change: it is
	// called again whenever an old checkpoint is read.
	Parts func(old posthouse.State) (posthouse.State, error)

	// Inputs returns in its new shape what a task, told by the name or path it has
	// now, was sent. It must not change the bytes it is given.
	Inputs func(node string, in posthouse.Value) (posthouse.Value, error)
}

// migrationsFrom returns what is to be applied to a checkpoint.
func (a *App[S]) migrationsFrom(fingerprint string) []migrate.Migration {
	return migrate.From(a.migrations, fingerprint, a.fingerprint)
}

// current returns a checkpoint with the state that migrations make of it.
func (a *App[S]) current(c *posthouse.Checkpoint) (*posthouse.Checkpoint, error) {
	ms := a.migrationsFrom(c.Fingerprint)
	if len(ms) == 0 {
		return c, nil
	}
	s, err := migrate.Parts(ms, c)
	if err != nil {
		return nil, err
	}
	return &posthouse.Checkpoint{Header: c.Header, State: s, Metadata: c.Metadata, Program: c.Program}, nil
}

// renames are the frontier's, or those of a subgraph that a lost run had called
// and this one calls.
func (r *run[S]) renames() frontier.Renames {
	if r.subrun == nil || len(r.rootState.renamed) == 0 || len(r.frontier.Renamed) > 0 {
		return r.frontier.Renamed
	}
	return r.rootState.renamed.Inside(r.subrun.path)
}

// escapeMigrations returns a copy in which nodes have paths as on record, and
// new names that may stand in one.
func escapeMigrations(ms []Migration) []migrate.Migration {
	out := make([]migrate.Migration, len(ms))
	for i, m := range ms {
		if m.Nodes != nil {
			nodes := make(map[string]string, len(m.Nodes))
			for path, name := range m.Nodes {
				nodes[migrate.EscapePath(path)] = frontier.EscapeName(name)
			}
			m.Nodes = nodes
		}
		out[i] = migrate.Migration(m)
	}
	return out
}

// version returns what takes checkpoints of other versions over.
func (a *App[S]) version() *takeover.Version {
	return &takeover.Version{Graph: a.Graph, Fingerprint: a.fingerprint, Migrations: a.migrations, Ledger: a.ledger}
}

// migrateHead makes sure that the head fits this version of the graph, and migrates
// it, on record, if it has to be. pending says that what is to run counts.
func (r *run[S]) migrateHead(ctx context.Context, pending bool) error {
	h := r.sess.Head()
	if r.subrun != nil || h == nil || h.Fingerprint == r.app.fingerprint {
		return nil
	}
	c, err := r.app.ledger.Get(ctx, h.ID)
	if err != nil {
		return err
	}
	t, err := r.app.version().Of(ctx, c, true)
	if err != nil {
		return err
	}
	if e := t.Err(pending); e != nil {
		return e
	}
	if len(t.Used) == 0 {
		return nil
	}
	if !t.Fits() {
		t.Frontier = frontier.Frontier{Skipped: t.Frontier.Skipped, Epoch: t.Frontier.Epoch} // the input starts anew in any case
	}
	d, err := t.Draft(ctx)
	if err != nil {
		return err
	}
	_, err = r.sess.Commit(ctx, d)
	return err
}
