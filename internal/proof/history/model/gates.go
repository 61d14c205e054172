package model

import "github.com/anishathalye/porcupine"

// Gates is the model of questions, one in each thread, that get one decision.
func Gates() porcupine.Model { return modelOf(gateStep) }

// A question has no ID after an ask without an answer, until somebody sees it.
type question struct {
	Asked    bool
	ID       string
	Decision string
}

// named returns the question if it may have the id.
func (q question) named(id string) (question, bool) {
	if q.Asked && q.ID == "" {
		q.ID = id
	}
	return q, q.Asked && q.ID == id
}

func gateStep(q question, op Op, out Answer) []question {
	switch op.Do {
	case Ask:
		switch {
		case out.Code == Conflict:
			return when(q.Asked, q)
		case out.Code == Unknown && q.Asked:
			return []question{q}
		}
		return when((out.Code == OK || out.Code == Unknown) && !q.Asked, question{Asked: true, ID: out.ID})
	case Inbox:
		if out.ID == "" {
			return when(!q.Asked || q.Decision != "", q)
		}
		seen, ok := q.named(out.ID)
		return when(ok && q.Decision == "", seen)
	}
	seen, ok := q.named(op.ID)
	if out.Code == NotFound {
		return when(!ok, q)
	}
	if op.Do == Read {
		return when(out.Code == OK && ok && seen.Decision == out.Value, seen)
	}
	mine := seen
	mine.Decision = op.Value
	switch out.Code {
	case OK:
		return when(ok && seen.Decision == "", mine)
	case Decided:
		// A client that asks a store again after a lost answer finds its own decision.
		if seen.Decision == "" && out.Value == op.Value {
			return when(ok, mine)
		}
		return when(ok && seen.Decision == out.Value, seen)
	case Unknown:
		if ok && seen.Decision == "" {
			return []question{mine}
		}
		return []question{q}
	}
	return nil
}
