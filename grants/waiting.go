package grants

// A useWaiting is what an effect waits for, and what it did before.
type useWaiting struct {
	parked    uint32 // the newest attempt that waits, from 1
	open      int    // gates that are not decided
	withdrawn bool   // one was, without an answer
	acted     bool   // results within it are on record
	unknown   bool   // a worker ended without a word on it, or people are asked what became of it
	places    []Place
	begun     int // workers that had it, without those that say that they did not act
}

// A Place is a record that a worker had an effect, or says that it did not act.
type Place struct {
	Seq    uint64
	Index  int
	Undone bool
}

func (w *useWaiting) note(what string, seq uint64, i int) {
	undone := what == useUndone
	if undone {
		w.begun--
	} else {
		w.begun++
	}
	w.places = append(w.places, Place{seq, i, undone})
}

// status returns how far an effect has come that waits: it goes on, unless what it waited for
// was withdrawn. Then it may have happened if anything of it had begun.
func (w *useWaiting) status() Status {
	switch {
	case w.unknown:
		return Unknown
	case w.open > 0 || !w.withdrawn:
		return Released
	case w.begun > 0 || w.acted:
		return Unknown
	}
	return Decided
}

// Places returns where the log says which workers had an effect as a task.
func (u *Use) Places() []Place { return u.waiting.places }
