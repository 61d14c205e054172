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
	maxListed = 1_000 // gates of each state, the newest first
	maxLooked = 5_000 // entries and gates that are looked at for those
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
	for _, state := range []inbox.State{inbox.Open, inbox.Decided, inbox.Expired, inbox.Withdrawn} {
		page, err := inbox.List(ctx, ps.ledger, &inbox.Query{State: state, Program: info.Name, Limit: maxListed, Look: maxLooked})
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if item.Err != nil || !item.Gate.AsksPeople() {
				continue
			}
			g := item.Gate
			i, known := at[g.Name]
			if !known {
				if len(info.Questions) == declared+maxAsked {
					continue
				}
				i = len(info.Questions)
				at[g.Name] = i
				info.Questions = append(info.Questions, posthouse.ProgramQuestion{Name: g.Name, Text: g.Text, Payload: g.PayloadSchema})
			}
			info.Questions[i].Asked = true
		}
	}
	slices.SortFunc(info.Questions[declared:], func(a, b posthouse.ProgramQuestion) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return nil
}
