package dispatch

import "github.com/posthouse/posthouse"

// A busyCount has the gates of the tasks of each name that are claimed, or being claimed. It
// is for Options.AtOnce, and has no names without a limit. Dispatcher.mu guards it.
type busyCount map[string]map[posthouse.ID]struct{}

// recount looks again whether a gate's task is claimed, or being claimed. It is called
// behind each change of what is open, queued and held. Callers hold d.mu.
func (d *Dispatcher) recount(name string, gate posthouse.ID) {
	if d.opt.AtOnce[name] == 0 {
		return
	}
	busy := false
	if h := d.held[gate]; h != nil {
		busy = !h.lost && h.gate.Call.Task == name // a hint may have said another one
	} else if t := d.open[gate]; t != nil {
		busy = t.place < 0 && t.name == name
	}
	all := d.busy[name]
	switch {
	case !busy:
		delete(all, gate)
	case all == nil:
		d.busy[name] = map[posthouse.ID]struct{}{gate: {}}
	default:
		all[gate] = struct{}{}
	}
}

// isFull reports whether as many tasks of a name are claimed, or being claimed, as there may
// be. Callers hold d.mu.
func (d *Dispatcher) isFull(name string) bool {
	most, ok := d.opt.AtOnce[name]
	return ok && len(d.busy[name]) >= most
}

// lose notes that a claim is lost: its gate was decided, but not by its session. Callers
// hold d.mu.
func (d *Dispatcher) lose(h *holding) {
	h.lost = true
	d.recount(h.gate.Call.Task, h.gate.ID)
	if d.opt.AtOnce[h.gate.Call.Task] > 0 {
		d.wake() // another one may be claimed
	}
}
