package model

import "github.com/anishathalye/porcupine"

// Leases is the model of threads that one owner writes at a time. Each claim that gets on
// record has the next fence number, and only the newest one writes. Who is refused as busy
// depends on time, which the model leaves out.
func Leases() porcupine.Model { return modelOf(leaseStep) }

type lease struct {
	Owner      string
	Fence, Seq uint64
	Held       bool
}

func leaseStep(l lease, op Op, out Answer) []lease {
	mine := l.Held && l.Owner == op.Owner && l.Fence == op.Fence
	next := l
	next.Seq++
	switch {
	case op.Do == Lease && out.Code == NotFound:
		return when(l.Seq == 0, l)
	case op.Do == Lease:
		return when(out.Code == OK && out.Fence == l.Fence && out.Held == l.Held && out.Seq == l.Seq, l)
	case op.Do == Release:
		next.Held = false
		switch {
		case out.Code != OK && out.Code != Unknown:
			return nil
		case !mine:
			return []lease{l}
		}
		return []lease{next}
	case out.Code == Busy:
		return []lease{l}
	case op.First:
		next.Owner, next.Held = op.Owner, true
		next.Fence++
		switch out.Code {
		case OK:
			return when(out.Fence == next.Fence && out.Seq == next.Seq, next)
		case Unknown:
			return []lease{next}
		}
		return when(out.Code == Fenced, l)
	}
	switch out.Code {
	case OK:
		return when(mine && out.Fence == l.Fence && out.Seq == next.Seq, next)
	case Fenced:
		return when(!mine, l)
	case Unknown:
		if mine {
			return []lease{next}
		}
		return []lease{l}
	}
	return nil
}
