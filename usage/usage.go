package usage

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// MaxEntries bounds how many entries of a thread are read. Of a longer one the newest count.
const MaxEntries = 20_000

// A Usage is what a thread used of models, on all of its branches.
type Usage struct {
	Sum
	Models []Model `json:"models" doc:"the same by model, in the order of their names"`
	More   bool    `json:"more,omitempty" doc:"the thread has more entries than the 20,000 newest, which were read"`
}

// A Model is what was used of one model.
type Model struct {
	Model string `json:"model" doc:"as the program named it; empty for notes that name none"`
	Sum
}

// A Sum adds up notes that name a model, tokens or a cost.
type Sum struct {
	Calls        int    `json:"calls" doc:"how many notes name a model, tokens or a cost"`
	InputTokens  int64  `json:"inputTokens" doc:"tokens that models read"`
	OutputTokens int64  `json:"outputTokens" doc:"tokens that models wrote"`
	Costs        []Cost `json:"costs" doc:"the sum of each unit, in the order of the units"`
	Unread       int    `json:"unread,omitempty" doc:"costs that are no amount with a unit, and are in no sum"`
}

func (s *Sum) add(n *posthouse.Note) {
	s.Calls++
	s.InputTokens += n.InputTokens
	s.OutputTokens += n.OutputTokens
	if n.Cost == "" {
		return
	}
	amount, unit, ok := parse(n.Cost)
	if !ok {
		s.Unread++
		return
	}
	i, found := slices.BinarySearchFunc(s.Costs, unit, func(c Cost, unit string) int { return cmp.Compare(c.Unit, unit) })
	if !found {
		s.Costs = slices.Insert(s.Costs, i, Cost{Unit: unit})
	}
	s.Costs[i].sum.add(amount)
	s.Costs[i].Amount = s.Costs[i].sum.String()
}

// Of adds up the notes of a thread. Notes that were removed with their results are absent.
// [posthouse.ErrNotFound] for an unknown thread, [posthouse.ErrSealed] without its key; errors are
// those of [ledger.Ledger.Log].
func Of(ctx context.Context, l *ledger.Ledger, thread string) (*Usage, error) {
	info, err := l.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	u := &Usage{Sum: Sum{Costs: []Cost{}}, Models: []Model{}}
	from := uint64(1)
	if info.Tail.Seq > MaxEntries {
		from, u.More = info.Tail.Seq-MaxEntries+1, true
	}
	models := map[string]*Model{}
	for e, err := range l.Log(ctx, thread, posthouse.Range{From: from, To: info.Tail.Seq}) {
		if err != nil {
			return nil, err
		}
		for _, ev := range e.Events {
			for i := range ev.Notes {
				u.note(models, &ev.Notes[i])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		u.Models = append(u.Models, *models[name])
	}
	return u, nil
}

func (u *Usage) note(models map[string]*Model, n *posthouse.Note) {
	if n.Model == "" && n.Cost == "" && n.InputTokens == 0 && n.OutputTokens == 0 {
		return
	}
	m := models[n.Model]
	if m == nil {
		m = &Model{Model: n.Model, Sum: Sum{Costs: []Cost{}}}
		models[n.Model] = m
	}
	m.add(n)
	u.add(n)
}
