package dispatch

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
	"github.com/posthouse/posthouse/task"
)

// A liveness is what a session's slot holds: what another process needs to take it over, and
// what a list of workers says.
type liveness struct {
	task.Hello
	Engine string    `json:"engine,omitempty"` // the process that heard of it last
	Heard  time.Time `json:"heard,omitzero"`   // when that was, by its clock
	Pass   string    `json:"pass,omitempty"`   // whose session it is; "" is that process
	Name   string    `json:"name,omitempty"`   // of the worker on record
	Bound  bool      `json:"bound,omitempty"`  // Pass is said

	// Doubts are gates whose claims other engines ask about; see doubt.go.
	Doubts []posthouse.ID `json:"doubts,omitempty"`
}

// A peer is a session of another process, as the store had it when it was listed.
type peer struct {
	liveness
	revision uint64
	quiet    time.Duration // for how long this process has seen no heartbeat
}

// abandoned is how many leases a session is silent before whoever finds it removes it. Its
// own process would have done so after one.
const abandoned = 20

// engineName names this process in lists of workers.
func (d *Dispatcher) engineName() string { return d.core.Config.Owner }

// findPeers lists the sessions of other processes, if that was not done just now. In a store
// that cannot list slots there are none.
func (d *Dispatcher) findPeers(ctx context.Context, fresh time.Duration) error {
	store, ok := d.core.Store.(posthouse.SlotLister)
	begun := d.core.Config.Now()
	d.mu.Lock()
	known := !d.peersAt.IsZero() && begun.Sub(d.peersAt) < fresh
	d.mu.Unlock()
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
		p.quiet = d.core.Owners.Quiet(item.Key.Step, item.Revision, begun)
		peers[item.Key.Step] = p
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peersAt = begun
	d.peers = peers
	maps.DeleteFunc(peers, func(id string, p *peer) bool { // those that are here
		s := d.sessions[id]
		return s != nil && (p.Engine == d.engineName() || p.revision <= s.revision)
	})
	return nil
}

// sweepPeers removes what is left of workers whose process died with them.
func (d *Dispatcher) sweepPeers(ctx context.Context) error {
	if err := d.findPeers(ctx, 0); err != nil {
		return err
	}
	d.mu.Lock()
	gone := map[string]uint64{}
	for id, p := range d.peers {
		if p.quiet > abandoned*d.lease() {
			gone[id] = p.revision
		}
	}
	d.mu.Unlock()
	for id, revision := range gone {
		_, err := d.core.Store.Slot(ctx, livenessOf(id), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: revision})
		if err != nil && !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrNotFound) {
			return err
		}
	}
	return nil
}

// Workers implements [task.Control]. Of workers at other processes it does not know the
// claims, nor anything where the store cannot list slots.
func (d *Dispatcher) Workers(ctx context.Context) ([]task.WorkerInfo, error) {
	if err := d.findPeers(ctx, d.core.Config.RenewEvery()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	claims := map[string][]posthouse.ID{}
	for _, h := range d.held {
		if !h.lost {
			claims[h.session] = append(claims[h.session], h.id.Gate)
		}
	}
	now := d.core.Now()
	all := make([]task.WorkerInfo, 0, len(d.sessions)+len(d.peers))
	for id, s := range d.sessions {
		if d.peers[id] == nil {
			w := workerInfo(id, &s.hello)
			w.Token = s.pass
			w.Engine, w.Here, w.Heard, w.Silent = d.engineName(), true, s.heard, now.Sub(s.heard) > d.lease()
			w.Claims = append([]posthouse.ID{}, claims[id]...)
			slices.Sort(w.Claims)
			all = append(all, w)
		}
	}
	for id, p := range d.peers {
		w := workerInfo(id, &p.Hello)
		w.Token = p.Pass
		w.Engine, w.Heard, w.Silent = p.Engine, p.Heard, p.quiet >= d.lease()
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b task.WorkerInfo) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Session, b.Session))
	})
	return all, nil
}

func workerInfo(id string, h *task.Hello) task.WorkerInfo {
	return task.WorkerInfo{Session: id, Worker: h.Worker, Group: h.Group, Tasks: slices.Clone(h.Tasks), AtOnce: h.AtOnce}
}

// handlers counts the workers that take tasks of a name and a group, as far as this process
// knows. Callers hold d.mu.
func (d *Dispatcher) handlers(name, group string) (n int) {
	takes := func(h *task.Hello) bool {
		return (group == "" || group == h.Group) && slices.Contains(h.Tasks, name)
	}
	for id, s := range d.sessions {
		if d.peers[id] == nil && takes(&s.hello) {
			n++
		}
	}
	for _, p := range d.peers {
		if p.quiet < d.lease() && takes(&p.Hello) {
			n++
		}
	}
	return n
}
