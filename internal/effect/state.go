package effect

// A State says how far an attempt of an effect has come, on record.
type State uint8

// The states.
const (
	Licensed State = iota // a decision licenses it, and nothing of it has begun
	Begun                 // its function runs, or ran when its process ended
	Waiting               // its function waits for something within it
	Done                  // its result is on record, or somebody found that it happened
	NotDone               // it is known that nothing happened
	Unknown               // it may have happened
	GivenUp               // it may have happened, and people gave it up

	states = iota
)

var stateNames = [states]string{"licensed", "begun", "waiting", "done", "not done", "unknown", "given up"}

// String returns the state as docs/approvals.md names it.
func (s State) String() string { return stateNames[s] }

// An Event is what changes the state of an attempt.
type Event uint8

// The events.
const (
	Begins      Event = iota // the attempt is on record before its function runs
	Parks                    // something within the function waits
	Continues                // what it waited for is over: its function runs again
	Ends                     // its result is on record
	SaysNotDone              // its function, or the worker that had it, says that nothing happened
	Lost                     // it ended otherwise, or its end was not seen
	Withdrawn                // it was taken back before a worker had it
	Found                    // the program reconciled it: it happened
	Missing                  // the program reconciled it: it did not happen
	Happened                 // people say that it happened
	Redo                     // people say that it did not happen and is to run again
	GiveUp                   // people give it up

	events = iota
)

var eventNames = [events]string{
	"begins", "parks", "continues", "ends", "says not done", "is lost", "is withdrawn", "reconciled: done", "reconciled: not done", "happened", "redo", "give-up",
}

// String returns the event as docs/approvals.md names it.
func (e Event) String() string { return eventNames[e] }

// table has the state that follows each state at each event. A pair that is not listed changes
// nothing: the event is late, repeated, or about another attempt.
var table = [states][events]State{
	Licensed: follow(Licensed, pairs{Begins: Begun, Ends: Done}),
	Begun:    follow(Begun, pairs{Parks: Waiting, Ends: Done, SaysNotDone: NotDone, Lost: Unknown}),
	Waiting:  follow(Waiting, pairs{Continues: Begun, Ends: Done, SaysNotDone: NotDone, Lost: Unknown, Withdrawn: NotDone}),
	Done:     follow(Done, nil),
	NotDone:  follow(NotDone, pairs{Ends: Done}),
	Unknown:  follow(Unknown, pairs{Ends: Done, Found: Done, Missing: NotDone, Happened: Done, Redo: NotDone, GiveUp: GivenUp}),
	GivenUp:  follow(GivenUp, pairs{Ends: Done}),
}

type pairs map[Event]State

// follow returns a row of the table: the state stays, except at the events of p.
func follow(s State, p pairs) (row [events]State) {
	for e := range row {
		row[e] = s
		if to, ok := p[Event(e)]; ok {
			row[e] = to
		}
	}
	return row
}

// Next returns the state that follows s at an event.
func Next(s State, e Event) State { return table[s][e] }
