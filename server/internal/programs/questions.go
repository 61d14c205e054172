package programs

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
)

// Bounds on the questions that are looked up for one program.
const (
	maxAsked  = 100   // questions that were asked, beside those that the program declares
	maxListed = 1_000 // gates that wait, and those that do not, the newest first
	maxLooked = 5_000 // gates that are looked at for those that wait
)

// addAsked adds the questions that a program has asked so far to those that it declares, by their
// names: what the newest gate of each shows. Gates that cannot be read are passed over.
func (ps *Programs) addAsked(ctx context.Context, info *posthouse.ProgramInfo) error {
	info.Questions = slices.Clone(info.Questions)
	at := map[string]int{}
	for i := range info.Questions {
		at[info.Questions[i].Name] = i
	}
	declared := len(info.Questions)
	add := func(item *inbox.Item) bool {
		if item.Err != nil || !item.Gate.AsksPeople() {
			return true
		}
		g := item.Gate
		i, known := at[g.Name]
		if !known {
			if len(info.Questions) == declared+maxAsked {
				return true
			}
			i = len(info.Questions)
			at[g.Name] = i
			info.Questions = append(info.Questions, posthouse.ProgramQuestion{Name: g.Name, Text: g.Text, Payload: g.PayloadSchema})
		}
		info.Questions[i].Asked = true
		return true
	}
	page, err := inbox.List(ctx, ps.ledger, &inbox.Query{Everyone: true, Program: info.Name, Limit: maxListed, Look: maxLooked})
	if err != nil {
		return err
	}
	for i := range page.Items {
		add(&page.Items[i])
	}
	settled := inbox.Walk{Most: maxListed}
	if err := settled.Settled(ctx, ps.ledger, inbox.Query{Program: info.Name, Memory: ps.asked}, add); err != nil {
		return err
	}
	slices.SortFunc(info.Questions[declared:], func(a, b posthouse.ProgramQuestion) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return nil
}
