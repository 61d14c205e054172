package posthouse

// A SignalInfo is the header of a signal; the body is its value, JSON.
type SignalInfo struct {
	ID     ID     `json:"id"`
	Name   string `json:"name"` // one that begins with $ is the runtime's own
	By     string `json:"by,omitempty"`
	Latch  bool   `json:"latch,omitempty"`
	Branch string `json:"branch,omitempty"` // the branch that a request of the runtime is about; else empty
	Prev   uint64 `json:"prev,omitempty"`   // entry of the thread's previous signal of this name; 0 for the first

	// Requesters are the people for whom a program sent it, beside By.
	Requesters []string `json:"requesters,omitempty"`
}

// Flags of a signal.
const (
	signalLatches  = 1 << 0
	signalOnBehalf = 1 << 1 // a list of requesters follows
)

func (s *SignalInfo) fields(f *fields) {
	f.id(&s.ID)
	f.Text(&s.Name)
	f.Text(&s.By)
	flags := byte(0)
	if s.Latch {
		flags |= signalLatches
	}
	if len(s.Requesters) > 0 {
		flags |= signalOnBehalf
	}
	if f.Octet(&flags); flags >= signalOnBehalf<<1 {
		f.Fail("unknown flags of a signal")
	}
	if flags&signalOnBehalf != 0 {
		if f.Texts(&s.Requesters); len(s.Requesters) == 0 {
			f.Fail("an empty list of requesters")
		}
	}
	if !f.Writing() {
		s.Latch = flags&signalLatches != 0
	}
	f.Text(&s.Branch)
	f.Number(&s.Prev)
}

// A TakeInfo says that a branch took a signal: its later waits for that name continue
// after it. It has no body. It stands in the entry that records what became of the
// value: a step result or the decision of a gate.
//
// If it is Returned it says the opposite: the signal answered a wait that is over, and the program
// was never given it. The branch's next wait for the name takes it.
type TakeInfo struct {
	Branch string `json:"branch"`
	Name   string `json:"name"`
	Signal uint64 `json:"signal"` // the signal's entry

	Returned bool `json:"returned,omitempty"` // the signal was not given to the program, and is taken by the next wait
	Gate     ID   `json:"gate,omitempty"`     // the wait that a returned signal had answered; "": that of another branch
}

func (t *TakeInfo) fields(f *fields, format byte) {
	f.branch(&t.Branch)
	f.Text(&t.Name)
	f.Number(&t.Signal)
	if format < entrySettle {
		return
	}
	if f.Flag(&t.Returned); t.Returned {
		f.optionalGateID(&t.Gate)
	}
}
