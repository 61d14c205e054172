package memstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// A slot keeps its revision and fence when its value is deleted.
type slot struct {
	posthouse.Slot
	there bool // it has a value
}

// Slot implements [posthouse.Store].
func (s *Store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if err := valid.Slot(key, &op); err != nil {
		return posthouse.Slot{}, err
	}
	s.index.Lock()
	defer s.index.Unlock()
	if err := s.index.Usable(ctx); err != nil {
		return posthouse.Slot{}, err
	}
	have := s.slots[key.Thread][key.Step]
	if have == nil {
		have = &slot{}
	}
	if op.Verb == posthouse.SlotGet {
		if !have.there {
			return posthouse.Slot{}, posthouse.NotFound(fmt.Sprintf("slot %q of thread", key.Step), key.Thread)
		}
		return have.copy(), nil
	}
	if err := op.Admits(key, have.Slot, have.there); err != nil {
		return posthouse.Slot{}, err
	}
	have.Fence = max(have.Fence, op.Fence)
	if op.Verb == posthouse.SlotPut {
		have.Value, have.Revision, have.there = bytes.Clone(op.Value), have.Revision+1, true
	} else {
		have.Value, have.there = nil, false
	}
	if s.slots[key.Thread] == nil {
		s.slots[key.Thread] = map[string]*slot{}
	}
	s.slots[key.Thread][key.Step] = have
	return have.copy(), nil
}

// Slots implements [posthouse.SlotLister]. It yields the slots as they are when
// the first is asked for.
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return func(yield func(*posthouse.SlotItem, error) bool) {
		items, err := s.slotsOf(ctx, thread)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (s *Store) slotsOf(ctx context.Context, thread string) (items []*posthouse.SlotItem, err error) {
	s.index.RLock()
	defer s.index.RUnlock()
	if err := s.index.Usable(ctx); err != nil {
		return nil, err
	}
	for name, steps := range s.slots {
		for step, have := range steps {
			if have.there && (thread == "" || thread == name) {
				items = append(items, &posthouse.SlotItem{Key: posthouse.SlotKey{Thread: name, Step: step}, Slot: have.copy()})
			}
		}
	}
	slices.SortFunc(items, func(a, b *posthouse.SlotItem) int {
		return cmp.Or(strings.Compare(a.Key.Thread, b.Key.Thread), strings.Compare(a.Key.Step, b.Key.Step))
	})
	return items, nil
}

func (s *slot) copy() posthouse.Slot {
	return posthouse.Slot{Value: bytes.Clone(s.Value), Revision: s.Revision, Fence: s.Fence}
}
