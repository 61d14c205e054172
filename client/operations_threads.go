package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
)

// PlanResume returns the head of a branch, which says in Resumes what [Client.Resume] would run, and act
// again under decisions that stand. Nothing runs. It fails as Resume would.
func (o Operations) PlanResume(ctx context.Context, head posthouse.ID) (*Checkpoint, error) {
	cp := new(Checkpoint)
	return cp, o.client.ask(ctx, http.MethodPost, checkpointPath(head, "resume"), given("dryRun", "true"), nil, cp)
}

// Version returns a thread as it was released, by the version's number or a tag.
func (o Operations) Version(ctx context.Context, thread, version string) (*Thread, error) {
	t := new(Thread)
	return t, o.client.ask(ctx, http.MethodGet, ThreadPath(thread), given("version", version), nil, t)
}
