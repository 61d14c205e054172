package model_test

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/history/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A done is an operation with its answer. Operations follow each other, except that one
// without an answer never ends.
type done struct {
	op  model.Op
	out model.Answer
}

func (d done) unknown() done { return done{d.op, model.Answer{Code: model.Unknown}} }

func history(ds ...done) (ops []porcupine.Operation) {
	for i, d := range ds {
		end := int64(2*i + 1)
		if d.out.Code == model.Unknown {
			end = math.MaxInt64
		}
		ops = append(ops, porcupine.Operation{ClientId: i, Input: d.op, Output: d.out, Call: int64(2 * i), Return: end})
	}
	return ops
}

func add(after, next string) done {
	return done{model.Op{Do: model.Append, After: after, Next: next}, model.Answer{}}
}

func refused(after, next, tail string) done {
	return done{model.Op{Do: model.Append, After: after, Next: next}, model.Answer{Code: model.Conflict, Tail: tail}}
}

func log(text string) done {
	return done{model.Op{Do: model.Log}, model.Answer{Log: text}}
}

func put(value string, expected, fence, revision uint64) done {
	return done{model.Op{Do: model.Put, Value: value, Rev: expected, Fence: fence}, model.Answer{Rev: revision}}
}

func get(value string, revision, fence uint64) done {
	return done{model.Op{Do: model.Get}, model.Answer{Value: value, Rev: revision, Fence: fence}}
}

func ask(id string) done { return done{model.Op{Do: model.Ask}, model.Answer{ID: id}} }

func decide(id, value string) done {
	return done{model.Op{Do: model.Decide, ID: id, Value: value}, model.Answer{}}
}

func read(id, value string) done {
	return done{model.Op{Do: model.Read, ID: id}, model.Answer{Value: value}}
}

func claim(owner string, fence, seq uint64) done {
	return done{model.Op{Do: model.Commit, Owner: owner, First: true}, model.Answer{Fence: fence, Seq: seq}}
}

func commit(owner string, fence, seq uint64) done {
	return done{model.Op{Do: model.Commit, Owner: owner, Fence: fence}, model.Answer{Fence: fence, Seq: seq}}
}

func coded(d done, code, value string) done {
	return done{d.op, model.Answer{Code: code, Value: value}}
}

// TestModels judges short histories with a plain verdict.
func TestModels(t *testing.T) {
	for _, c := range []struct {
		name  string
		model porcupine.Model
		ops   []done
		want  bool
	}{
		{"a log grows", model.Heads(), []done{add("", "1"), add("1", "2"), refused("1", "3", "2"), log(" 1 2")}, true},
		{"an entry is appended again", model.Heads(), []done{add("", "1"), add("1", "2"), add("", "1"), log(" 1 2")}, true},
		{"two entries after one", model.Heads(), []done{add("", "1"), add("", "2")}, false},
		{"an entry is lost", model.Heads(), []done{add("", "1"), log("")}, false},
		{"refused without a reason", model.Heads(), []done{refused("", "1", "")}, false},
		{"an unknown entry is there", model.Heads(), []done{add("", "1").unknown(), log(" 1")}, true},
		{"an unknown entry is not there", model.Heads(), []done{add("", "1").unknown(), log(""), log("")}, true},
		{"an unknown entry comes and goes", model.Heads(), []done{add("", "1").unknown(), log(" 1"), log("")}, false},

		{"a slot is written", model.Slots(), []done{put("a", 0, 0, 5), get("a", 5, 0), put("b", 5, 2, 6), get("b", 6, 2)}, true},
		{"a put is lost", model.Slots(), []done{put("a", 0, 0, 1), put("b", 1, 0, 2), get("a", 1, 0)}, false},
		{"an old revision is taken", model.Slots(), []done{put("a", 0, 0, 1), put("b", 1, 0, 2), put("c", 1, 0, 3)}, false},
		{"an old fence is taken", model.Slots(), []done{put("a", 0, 2, 1), put("b", model.Any, 1, 2)}, false},
		{"a revision falls", model.Slots(), []done{put("a", 0, 0, 2), put("b", model.Any, 0, 1)}, false},
		{"a revision is refused that fits", model.Slots(), []done{put("a", 0, 0, 1), coded(put("b", 1, 0, 0), model.Conflict, "")}, false},
		{"an unknown put is there", model.Slots(), []done{put("a", 0, 0, 1), put("b", 1, 0, 0).unknown(), get("b", 7, 0), put("c", 7, 0, 8)}, true},
		{"an unknown put has an old revision", model.Slots(), []done{put("a", 0, 0, 3), put("b", 3, 0, 0).unknown(), get("b", 3, 0)}, false},
		{"an unknown put comes twice", model.Slots(), []done{put("a", model.Any, 0, 0).unknown(), get("a", 1, 0), put("b", model.Any, 0, 2), get("a", 3, 0)}, false},

		{"a question is decided", model.Gates(), []done{ask("q"), read("q", ""), decide("q", "yes"), coded(decide("q", "no"), model.Decided, "yes"), read("q", "yes")}, true},
		{"it is decided twice", model.Gates(), []done{ask("q"), decide("q", "yes"), decide("q", "no")}, false},
		{"it is asked twice", model.Gates(), []done{ask("q"), ask("r")}, false},
		{"its decision changes", model.Gates(), []done{ask("q"), decide("q", "yes"), read("q", "no")}, false},
		{"it opens again", model.Gates(), []done{ask("q"), decide("q", "yes"), read("q", "")}, false},
		{"an unknown decision counts", model.Gates(), []done{ask("q"), decide("q", "yes").unknown(), coded(decide("q", "no"), model.Decided, "yes")}, true},
		{"who asks again finds its own decision", model.Gates(), []done{ask("q"), coded(decide("q", "yes"), model.Decided, "yes"), read("q", "yes")}, true},
		{"decided by nobody", model.Gates(), []done{ask("q"), coded(decide("q", "yes"), model.Decided, "no")}, false},

		{"a lease is overtaken", model.Leases(), []done{claim("a", 1, 1), commit("a", 1, 2), claim("b", 2, 3), coded(commit("a", 1, 0), model.Fenced, "")}, true},
		{"two have one fence", model.Leases(), []done{claim("a", 1, 1), claim("b", 1, 1)}, false},
		{"a fence is ignored", model.Leases(), []done{claim("a", 1, 1), claim("b", 2, 2), commit("a", 1, 3)}, false},
		{"fenced by nobody", model.Leases(), []done{claim("a", 1, 1), coded(commit("a", 1, 0), model.Fenced, "")}, false},
		{"an unknown claim counts", model.Leases(), []done{claim("a", 0, 0).unknown(), claim("b", 2, 2)}, true},
		{"an entry is lost with its lease", model.Leases(), []done{claim("a", 1, 1), commit("a", 1, 2), claim("b", 2, 2)}, false},
	} {
		if have := porcupine.CheckOperations(c.model, history(c.ops...)); have != c.want {
			t.Errorf("%s: %v, want %v", c.name, have, c.want)
		}
	}
}

// TestEveryCodeIsJudged gives each operation an answer that no store has.
func TestEveryCodeIsJudged(t *testing.T) {
	for _, do := range []string{model.Append, model.Get, model.Put, model.Delete, model.Ask, model.Decide, model.Read, model.Commit, model.Release} {
		m := map[string]porcupine.Model{
			model.Append: model.Heads(), model.Get: model.Slots(), model.Put: model.Slots(), model.Delete: model.Slots(),
			model.Ask: model.Gates(), model.Decide: model.Gates(), model.Read: model.Gates(), model.Commit: model.Leases(), model.Release: model.Leases(),
		}[do]
		if porcupine.CheckOperations(m, history(done{model.Op{Do: do}, model.Answer{Code: "corrupt"}})) {
			t.Errorf("%s takes any answer", do)
		}
	}
}
