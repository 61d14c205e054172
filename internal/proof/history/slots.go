package history

import (
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/history/model"
)

// slots reads and writes two slots, under revisions and fences old and new.
type slots struct {
	*client
	seen []posthouse.Slot // by this client
}

func newSlots(c *client) player { return &slots{client: c, seen: []posthouse.Slot{{}}} }

func (*slots) name() string { return "slots" }
func (*slots) close()       {}

func (s *slots) play() error {
	key := fmt.Sprint("k", s.rnd.IntN(2))
	last, some := s.seen[len(s.seen)-1], s.seen[s.rnd.IntN(len(s.seen))]
	op := model.Op{Model: s.name(), Do: model.Put, Key: key, Rev: last.Revision, Value: fmt.Sprint(s.number, ".", s.n)}
	switch s.rnd.IntN(10) {
	case 0, 1, 2:
		return s.do1(model.Op{Model: s.name(), Do: model.Get, Key: key})
	case 3:
		op.Do, op.Value = model.Delete, ""
	case 4:
		op.Rev = some.Revision
	case 5:
		op.Rev = 0
	case 6:
		op.Rev = model.Any
	}
	switch s.rnd.IntN(8) {
	case 0:
		op.Fence = last.Fence + 1
	case 1, 2:
		op.Fence = last.Fence
	case 3:
		op.Fence = some.Fence
	}
	return s.do1(op)
}

func (s *slots) audit() error {
	return errors.Join(s.do1(model.Op{Model: s.name(), Do: model.Get, Key: "k0"}), s.do1(model.Op{Model: s.name(), Do: model.Get, Key: "k1"}))
}

var verbs = map[string]posthouse.SlotVerb{model.Get: posthouse.SlotGet, model.Put: posthouse.SlotPut, model.Delete: posthouse.SlotDelete}

func (s *slots) do1(op model.Op) error {
	_, err := s.do(op, func() (out model.Answer, err error) {
		slot, err := s.store.Slot(s.ctx, posthouse.SlotKey{Thread: "slots", Step: op.Key}, posthouse.SlotOp{
			Verb: verbs[op.Do], Value: []byte(op.Value), Revision: op.Rev, Fence: op.Fence,
		})
		if err != nil {
			return out, err
		}
		if op.Do != model.Delete {
			s.seen = append(s.seen, slot)
		}
		return model.Answer{Value: string(slot.Value), Rev: slot.Revision, Fence: slot.Fence}, nil
	})
	return err
}
