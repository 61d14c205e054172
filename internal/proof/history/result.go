package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/posthouse/posthouse/internal/proof/history/model"
)

// A Result is what a run found, by model.
type Result struct {
	Verdicts   map[string]porcupine.CheckResult
	Operations map[string]int
	Unknown    map[string]int // of them without an answer
	Refused    map[string]int // of them, by model and code

	Kills    int // of crews
	Stops    int // of crews, until others have gone on
	Restarts int // of servers, which were killed
	Cuts     int // of connections

	bad map[string][]porcupine.Operation // of one key
}

func newResult() *Result {
	return &Result{
		Verdicts: map[string]porcupine.CheckResult{}, Operations: map[string]int{}, Unknown: map[string]int{}, Refused: map[string]int{},
		bad: map[string][]porcupine.Operation{},
	}
}

// patience bounds the check of one key.
const patience = time.Minute

// check judges what is in the lines.
func (r *Result) check(lines []line) {
	type call struct{ client, n int }
	ops := map[string][]porcupine.Operation{}
	at := map[call]*porcupine.Operation{}
	var order []call
	for i, l := range lines {
		c := call{l.Client, l.N}
		switch {
		case l.Op != nil:
			at[c] = &porcupine.Operation{ClientId: l.Client, Input: *l.Op, Output: model.Answer{Code: model.Unknown}, Call: int64(i), Return: math.MaxInt64}
			order = append(order, c)
		case l.Out != nil && at[c] != nil:
			at[c].Output, at[c].Return = *l.Out, int64(i)
		}
	}
	for _, c := range order {
		op, in := at[c], at[c].Input.(model.Op)
		r.Operations[in.Model]++
		if op.Return == math.MaxInt64 {
			r.Unknown[in.Model]++
			switch in.Do {
			case model.Tail, model.Log, model.Get, model.Inbox, model.Read, model.Lease:
				continue // who got no answer has seen nothing
			}
		}
		if code := op.Output.(model.Answer).Code; code != model.OK && code != model.Unknown {
			r.Refused[in.Model+": "+code]++
		}
		ops[in.Model] = append(ops[in.Model], *op)
	}
	for name, m := range model.All() {
		r.Verdicts[name] = porcupine.Ok
		for _, part := range m.Partition(ops[name]) {
			if v := porcupine.CheckOperationsTimeout(m, part, patience); v != porcupine.Ok && r.Verdicts[name] == porcupine.Ok {
				r.Verdicts[name], r.bad[name] = v, part
			}
		}
	}
}

// Explain returns the operations of a key with a history that is not linearizable, one a
// line, for each such model; "" if all are.
func (r *Result) Explain() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.bad)) {
		fmt.Fprintf(&b, "%s: %s\n", name, r.Verdicts[name])
		for _, op := range r.bad[name] {
			end := fmt.Sprint(op.Return)
			if op.Return == math.MaxInt64 {
				end = "never"
			}
			fmt.Fprintf(&b, "  %5d to %5s: client %d: %s\n", op.Call, end, op.ClientId, describe(op))
		}
	}
	return b.String()
}

func describe(op porcupine.Operation) string {
	in, out := op.Input.(model.Op), op.Output.(model.Answer)
	in.Model = ""
	return fmt.Sprintf("%+v -> %+v", in, out)
}
