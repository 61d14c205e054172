package board

import "github.com/posthouse/posthouse"

// A busyCount has the gates of the tasks of each name that are claimed, or being claimed. It
// has no names without a limit.
type busyCount map[string]map[posthouse.ID]stage

// A stage says how far the claim of a task is. A task has both between its claim and its
// removal from the board.
type stage uint8

const (
	claiming stage = 1 << iota // taken from its queue
	claimed                    // a session here has it
)

// SetClaimed notes that a session here has a task of a name.
func (b *Board) SetClaimed(name string, gate posthouse.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setBusy(name, gate, claimed)
}

// SetReleased notes that no session here has a task any more: another one may be claimed.
func (b *Board) SetReleased(name string, gate posthouse.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setIdle(name, gate, claimed)
}

// IsFull reports whether as many tasks of a name are claimed, or being claimed, as may be.
func (b *Board) IsFull(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isFull(name)
}

func (b *Board) isFull(name string) bool {
	most, ok := b.limits[name]
	return ok && len(b.busy[name]) >= most
}

func (b *Board) setBusy(name string, gate posthouse.ID, s stage) {
	if b.limits[name] == 0 {
		return
	}
	all := b.busy[name]
	if all == nil {
		all = map[posthouse.ID]stage{}
		b.busy[name] = all
	}
	all[gate] |= s
}

// setIdle takes a stage from a task, and wakes those that wait for room.
func (b *Board) setIdle(name string, gate posthouse.ID, s stage) {
	all := b.busy[name]
	was := all[gate]
	if was&s == 0 {
		return
	}
	all[gate] = was &^ s
	if all[gate] == 0 {
		delete(all, gate)
	}
	b.wake()
}
