package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/task"
)

// A peer is a session of another process, as the store had it when it was listed.
type peer struct {
	liveness
	revision uint64
	quiet    time.Duration // for how long this process has seen no heartbeat
}

// abandoned is how many leases a session is silent before whoever finds it removes it. Its
// own process would have done so after one.
const abandoned = 20

// ListPeers lists the sessions of other processes, unless that was done in a time. If the
// store cannot list slots, no peers are known.
func (a *Sessions) ListPeers(ctx context.Context, fresh time.Duration) error {
	store, ok := a.core.Store.(posthouse.SlotLister)
	begun := a.core.Now()
	a.mu.Lock()
	known := !a.peersAt.IsZero() && begun.Sub(a.peersAt) < fresh
	a.mu.Unlock()
	if !ok || known {
		return nil
	}
	peers := map[string]*peer{}
	for item, err := range store.Slots(ctx, posthouse.ProcessThread) {
		if errors.Is(err, posthouse.ErrCorrupt) {
			continue // whatever it was, it is not heard of
		}
		if err != nil {
			return err
		}
		p := &peer{revision: item.Revision}
		if !strings.HasPrefix(item.Key.Step, sessionPrefix) || json.Unmarshal(item.Value, &p.liveness) != nil || p.Check() != nil {
			continue
		}
		p.quiet = a.core.Owners.SilentFor(item.Key.Step, item.Revision, begun)
		peers[item.Key.Step] = p
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peersAt, a.peers = begun, peers
	maps.DeleteFunc(peers, func(id string, p *peer) bool { // those that are here
		s := a.here[id]
		return s != nil && (p.Engine == a.core.Config.Owner || p.revision <= s.revision)
	})
	return nil
}

// SweepPeers removes the liveness of workers that died together with their process.
func (a *Sessions) SweepPeers(ctx context.Context) error {
	if err := a.ListPeers(ctx, 0); err != nil {
		return err
	}
	a.mu.Lock()
	gone := map[string]uint64{}
	for id, p := range a.peers {
		if p.quiet > abandoned*a.lease() {
			gone[id] = p.revision
		}
	}
	a.mu.Unlock()
	for id, revision := range gone {
		if err := a.delete(ctx, id, revision); err != nil && !errors.Is(err, posthouse.ErrConflict) {
			return err
		}
	}
	return nil
}

// Workers returns all sessions that are known, here and at other processes, without their claims.
func (a *Sessions) Workers() []task.WorkerInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.core.Now()
	all := make([]task.WorkerInfo, 0, len(a.here)+len(a.peers))
	for id, s := range a.here {
		if a.peers[id] == nil {
			w := workerInfo(id, &s.Hello)
			w.Token = s.pass
			w.Engine, w.Here, w.Heard, w.Silent = a.core.Config.Owner, true, s.heard, now.Sub(s.heard) > a.lease()
			w.Until = s.heard.Add(a.lease())
			all = append(all, w)
		}
	}
	for id, p := range a.peers {
		w := workerInfo(id, &p.Hello)
		w.Token = p.Pass
		w.Engine, w.Heard, w.Silent = p.Engine, p.Heard, p.quiet >= a.lease()
		w.Until = p.Heard.Add(a.lease())
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b task.WorkerInfo) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Session, b.Session))
	})
	return all
}

func workerInfo(id string, h *task.Hello) task.WorkerInfo {
	return task.WorkerInfo{Session: id, Worker: h.Worker, Group: h.Group, Tasks: slices.Clone(h.Tasks), Concurrency: h.Concurrency, Protocol: h.Protocol}
}

// CountHandlers counts the workers that take the tasks of a queue, as far as this process knows.
func (a *Sessions) CountHandlers(key board.QueueKey) (n int) {
	takes := func(h *task.Hello) bool {
		return (key.Group == "" || key.Group == h.Group) && slices.Contains(h.Tasks, key.Task)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range a.here {
		if a.peers[id] == nil && takes(&s.Hello) {
			n++
		}
	}
	for _, p := range a.peers {
		if p.quiet < a.lease() && takes(&p.Hello) {
			n++
		}
	}
	return n
}
