package bench

import (
	"encoding/json"
	"io"

	"github.com/posthouse/posthouse"
)

// ReadFigures reads the figures of an earlier run, as bench --json wrote them.
// [posthouse.ErrInvalid].
func ReadFigures(r io.Reader) ([]Figure, error) {
	var earlier []Figure
	if err := json.NewDecoder(r).Decode(&earlier); err != nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "against", Message: "names no run of bench: " + err.Error(),
			Hint: "write one with bench --json > FILE", Err: err,
		}
	}
	return earlier, nil
}

// maxGrowth is how much a counted figure may grow before it counts as worse: goroutines that
// wait for each other do not always do so in the same order.
const maxGrowth = 1.1

// Compare gives each figure its value in an earlier run. A counted figure that grew by more
// than a tenth is not OK. Timed ones are not judged: the other run may have been on another
// machine, or beside other work.
func Compare(figures, earlier []Figure) {
	type key struct{ workload, name string }
	have := map[key]float64{}
	for _, f := range earlier {
		have[key{f.Workload, f.Name}] = f.Value
	}
	for i := range figures {
		f := &figures[i]
		was, ok := have[key{f.Workload, f.Name}]
		if !ok {
			continue
		}
		f.Earlier = &was
		if f.Counted && f.Value > was*maxGrowth {
			f.OK = false
		}
	}
}
