package deadletter

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// maxInMemory bounds the letters of a [Memory]. They have at most 4 KiB each.
const maxInMemory = 1000

// A Memory is a [Box] of one process. Its letters go with the process.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	last    uint64
	letters []Letter // the oldest first
}

var _ Box = (*Memory)(nil)

// NewMemory returns an empty box. Now is the clock.
func NewMemory(now func() time.Time) *Memory { return &Memory{now: now} }

// Put implements [Box].
func (m *Memory) Put(_ context.Context, l Letter) error {
	l.Cut()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	l.ID, l.At = strconv.FormatUint(m.last, 10), m.now()
	if len(m.letters) == maxInMemory {
		m.letters = slices.Delete(m.letters, 0, 1)
	}
	m.letters = append(m.letters, l)
	return nil
}

// Letters implements [Box].
func (m *Memory) Letters(_ context.Context, n int) ([]Letter, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.letters[len(m.letters)-min(n, len(m.letters)):])
	slices.Reverse(all)
	return all, nil
}

// Replay implements [Box]. It always fails: queues have a box of their own.
func (m *Memory) Replay(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, err := m.find(id)
	if err != nil {
		return err
	}
	if err := m.letters[i].MayReplay(); err != nil {
		return err
	}
	return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "no queue is here to send letter " + id + " to", Hint: "remove it"}
}

// Remove implements [Box].
func (m *Memory) Remove(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, err := m.find(id)
	if err == nil {
		m.letters = slices.Delete(m.letters, i, i+1)
	}
	return err
}

// Purge implements [Box].
func (m *Memory) Purge(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.letters)
	m.letters = nil
	return n, nil
}

// find returns where a letter is. Callers hold m.mu.
func (m *Memory) find(id string) (int, error) {
	i := slices.IndexFunc(m.letters, func(l Letter) bool { return l.ID == id })
	if i < 0 {
		return 0, posthouse.NotFound("dead letter", id)
	}
	return i, nil
}
