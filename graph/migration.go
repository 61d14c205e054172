package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/upgrade"
)

// A Migration changes the records of an earlier version of the graph for a later one.
// The first of CompileOptions.Migrations that has a checkpoint's fingerprint as From
// is applied, or else the first without From, and then all after it: keep them in the
// order in which the graph changed. They are not applied to a checkpoint that this
// version made, or to one without a fingerprint, which was saved by hand.
type Migration struct {
	From string // the fingerprint that it begins at, see [App.Fingerprint]; "": any

	// Nodes are the new names of nodes, by the old ones. The key of a node in a subgraph
	// is its old path, as in "research/plan": "outline". Write a name with a slash or an escape
	// in it ("a/b", "a%2Fb") as [posthouse.EscapeName] does, here and in Inputs.
	//
	// A renamed node keeps what it has on record: steps, attempts, open and decided
	// gates, what a lost run did, and the state and position of a subgraph. A call that
	// has begun in a thread of its own goes on in that thread. Calls of later runs are in
	// threads of the new name, which go on with what the old one kept.
	Nodes map[string]string

	// Parts returns the state in its new shape, without the parts to drop. It may change
	// its argument, and must depend on nothing else: it is called again whenever an old
	// checkpoint is read.
	Parts func(old posthouse.State) (posthouse.State, error)

	// Subgraphs does what Parts does for the state of a subgraph that is kept in the thread of the
	// graph around it. path is the path that the subgraph's node has now, as in "research/deep".
	Subgraphs func(path string, old posthouse.State) (posthouse.State, error)

	// Inputs returns what a task was sent in its new shape. node is the name or path that
	// the task has now. It must not change the bytes it is given.
	Inputs func(node string, in posthouse.Value) (posthouse.Value, error)
}

func (a *core) migrationsFrom(fingerprint string) []migrate.Migration {
	return migrate.From(a.migrations, fingerprint, a.fingerprint)
}

// current returns a checkpoint with the state that migrations make of it.
func (a *core) current(c *posthouse.Checkpoint) (*posthouse.Checkpoint, error) {
	ms := a.migrationsFrom(c.Fingerprint)
	if len(ms) == 0 {
		return c, nil
	}
	s, err := migrate.Parts(ms, c)
	if err != nil {
		return nil, mismatchError(err)
	}
	return &posthouse.Checkpoint{Header: c.Header, State: s, Metadata: c.Metadata, Program: c.Program}, nil
}

// renames returns the frontier's renames. A subgraph that a lost run had called, and
// this one calls, has those of the whole.
func (r *run) renames() frontier.Renames {
	if r.subrun == nil || len(r.rootState.renamed) == 0 || len(r.frontier.Renamed) > 0 {
		return r.frontier.Renamed
	}
	return r.rootState.renamed.Inside(r.subrun.path)
}

// escapeMigrations returns a copy in which paths and new names are escaped.
func escapeMigrations(ms []Migration) []migrate.Migration {
	out := make([]migrate.Migration, len(ms))
	for i, m := range ms {
		nodes := make(map[string]string, len(m.Nodes))
		for path, name := range m.Nodes {
			nodes[migrate.EscapePath(path)] = posthouse.EscapeName(name)
		}
		m.Nodes = nodes
		out[i] = migrate.Migration(m)
	}
	return out
}

func (a *core) version() *upgrade.Version {
	return &upgrade.Version{
		Graph: a.Graph, Fingerprint: a.fingerprint, Migrations: a.migrations, Ledger: a.ledger,
		Refused: func(r *upgrade.Refusal) error { return changedError(r) },
	}
}

// fits returns why this version of the graph cannot run on from a past checkpoint.
func (a *core) fits(ctx context.Context, c *posthouse.Checkpoint) error {
	ended := posthouse.IsOver(c.Status)
	if c.Fingerprint != a.fingerprint && !ended {
		t, err := a.version().Of(ctx, c, false)
		if err != nil {
			return err
		}
		if e := t.Err(true); e != nil {
			return e
		}
	}
	p, err := frontier.ReadFrontier(c.Next, c.Program, frontier.PlanPart)
	if err != nil {
		return err
	}
	if len(p.Tasks) == 0 && !ended {
		return noNext(c.ID)
	}
	_, err = a.newSnapshot(c)
	return err
}

func noNext(id posthouse.ID) error {
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "thread", Message: "checkpoint " + string(id) + " names no node to run",
		Hint: "run the thread with an input, or update it with UpdateOptions.Goto",
	}
}

// migrateHead checks that the head fits this version of the graph, and commits its
// migration if one is needed. pending says that what is to run counts.
func (r *run) migrateHead(ctx context.Context, pending bool) error {
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
		t.Frontier = frontier.Frontier{Skipped: t.Frontier.Skipped, Epoch: t.Frontier.Epoch} // the input starts over in any case
	}
	d, err := t.Draft(ctx)
	if err != nil {
		return err
	}
	_, err = r.sess.Commit(ctx, d)
	return err
}
