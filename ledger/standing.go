package ledger

import (
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// A StandingFailure is a call that failed in a program which did something because of that. The
// call is not made again on its branch: its error is returned again.
type StandingFailure struct {
	ForkStep
	Error  string     `json:"error,omitempty"` // where it can be read
	Ended  bool       `json:"ended,omitempty"` // the run that failed last ended because of it: a resume has nothing to do
	Behind []ForkStep `json:"behind"`          // what is on record after it, at most 1,000: results, attempts, waits and questions. It stays done

	ended uint64 // the newest entry which says that a run ended because of it
}

// executions are what headers say of the steps and gates of executions, by their names.
type executions map[string]*threadlog.Execution

func (all *executions) of(task string) *threadlog.Execution {
	if *all == nil {
		*all = executions{}
	}
	x := (*all)[task]
	if x == nil {
		x = &threadlog.Execution{}
		(*all)[task] = x
	}
	return x
}

// step adds a step. What is read of its value is whether it is empty.
func (all *executions) step(seq uint64, s *posthouse.StepInfo, empty bool) {
	r := posthouse.StepRecord{Seq: seq, Step: posthouse.Step{
		Task: s.Task, Name: s.Name, Occurrence: s.Occurrence, Effect: s.Effect, Grant: s.Grant, Unordered: s.Unordered, Value: posthouse.Value{Codec: s.Codec},
	}}
	if !empty {
		r.Value.Data = []byte{0}
	}
	x := all.of(s.Task)
	x.Steps = append(x.Steps, r)
}

func (all *executions) gate(seq uint64, g *posthouse.GateInfo) {
	x := all.of(g.Task)
	x.Gates = append(x.Gates, &posthouse.Gate{ID: g.ID, Task: g.Task, Name: g.Name, Kind: g.Kind, Record: posthouse.GateRecord{}, Seq: seq})
	if x.Before == nil {
		x.Before = map[posthouse.ID]int{}
	}
	x.Before[g.ID] = len(x.Steps)
}

// restart removes what a step that begins again does not know.
func (all *executions) restart() {
	for _, x := range *all {
		x.RestartStep()
	}
}

// standing returns the failures that stand, of those that wanted names.
func (all *executions) standing(wanted func(*threadlog.Failure) bool) []StandingFailure {
	list := []StandingFailure{}
	for _, task := range slices.Sorted(maps.Keys(*all)) {
		for _, f := range (*all)[task].Failures() {
			if f.Stands() && wanted(f) && len(list) < maxPlanned {
				list = append(list, standingFailure(f))
			}
		}
	}
	return list
}

func standingFailure(f *threadlog.Failure) StandingFailure {
	s := StandingFailure{ForkStep: forkStep(f.Step), Behind: []ForkStep{}, ended: f.Ended}
	for _, b := range f.Behind[:min(len(f.Behind), maxPlanned)] {
		step := ForkStep{Task: s.Task, Name: b.Name, Occurrence: b.Occurrence, Seq: b.Seq}
		if b.Step != nil {
			step = forkStep(b.Step)
		}
		s.Behind = append(s.Behind, step)
	}
	return s
}

func forkStep(s *posthouse.StepRecord) ForkStep {
	return ForkStep{s.Task, s.Name, s.Occurrence, s.Effect.String(), s.Grant, s.Seq}
}

// wantErrors has the errors of failures read.
func wantErrors(b bodies, list []StandingFailure) {
	for i := range list {
		f := &list[i]
		b.want(f.Seq, func(e *posthouse.Entry, recs []posthouse.Record) error {
			for i := range recs {
				s := recs[i].Step
				if s != nil && s.Codec == threadlog.CodecFailed && s.Task == f.Task && s.Name == f.Name && s.Occurrence == f.Occurrence {
					f.Error = errorIn(e.Bodies[i])
				}
			}
			return nil
		})
	}
}
