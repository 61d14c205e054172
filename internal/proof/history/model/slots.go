package model

import "github.com/anishathalye/porcupine"

// Slots is the model of values with revisions that grow and fences that never fall.
func Slots() porcupine.Model { return modelOf(slotStep) }

// A slot is a slot's content. The revision of a put without an answer is above Rev, and
// otherwise not known.
type slot struct {
	There, Loose bool
	Value        string
	Rev, Fence   uint64 // Rev is the last one, even if it was deleted
}

// matches reports whether the slot may have, and whether it must have, a revision.
func (s slot) matches(rev uint64) (may, must bool) {
	switch {
	case rev == Any:
		return true, true
	case !s.There || rev == 0:
		must = !s.There && rev == 0
		return must, must
	case s.Loose:
		return rev > s.Rev, false
	}
	return rev == s.Rev, rev == s.Rev
}

func slotStep(s slot, op Op, out Answer) []slot {
	if op.Do == Get {
		return s.get(out)
	}
	fits := op.Fence == 0 || op.Fence >= s.Fence
	may, must := s.matches(op.Rev)
	if op.Do == Delete && !s.There {
		may, must = true, true
	}
	next := s
	next.Fence = max(s.Fence, op.Fence)
	if op.Do == Delete {
		next.There, next.Value = false, ""
	} else {
		next.There, next.Loose, next.Value = true, true, op.Value
	}
	switch out.Code {
	case OK:
		if op.Do == Put {
			next.Loose, next.Rev = false, out.Rev
			may = may && out.Rev > s.Rev
		}
		return when(fits && may, next)
	case Conflict:
		return when(fits && !must, s)
	case Fenced:
		return when(!fits, s)
	case Unknown:
		switch {
		case !fits || !may:
			return []slot{s}
		case must:
			return []slot{next}
		}
		return []slot{s, next}
	}
	return nil
}

func (s slot) get(out Answer) []slot {
	switch {
	case out.Code == NotFound:
		return when(!s.There, s)
	case out.Code != OK || !s.There || out.Value != s.Value || out.Fence != s.Fence:
		return nil
	case s.Loose && out.Rev > s.Rev:
		s.Loose, s.Rev = false, out.Rev
	}
	return when(!s.Loose && out.Rev == s.Rev, s)
}
