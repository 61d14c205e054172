package control

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// Workers is that of [task.Control]. It does not know the claims of workers at other processes,
// nor those workers if the store cannot list slots.
func (c *Control) Workers(ctx context.Context) ([]task.WorkerInfo, error) {
	if err := c.sessions.ListPeers(ctx, c.core.Config.RenewEvery()); err != nil {
		return nil, err
	}
	has := map[string][]posthouse.ID{}
	for _, held := range c.claims.All() {
		has[held.ID.Session] = append(has[held.ID.Session], held.ID.Gate)
	}
	all := c.sessions.Workers()
	for i := range all {
		if w := &all[i]; w.Here {
			w.Claims = append([]posthouse.ID{}, has[w.Session]...)
			slices.Sort(w.Claims)
		}
	}
	return all, nil
}
