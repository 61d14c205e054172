package ledgertest

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// Options are for [Run] and [Bench]; nil is as good as their zero value.
type Options struct {
	// Cipher is what the Ledger seals bodies with: the rules hold with one as
	// they do without. Default: none.
	Cipher posthouse.Cipher
}

// A Case tests one rule.
type Case struct {
	Name  string // theme/rule
	Rule  string // in full, printed when it is broken
	Run   func(t *T)
	Needs storetest.Need // default: the rule applies over every store
}

// A T is one case at work: a case of storetest, and the suite's options.
type T struct {
	*storetest.T
	Options Options

	ctx context.Context
}

// Cases lists the suite, theme by theme.
func Cases() []Case { return slices.Concat(ledgerCases(), nameCases(), faultCases()) }

// Run runs the suite over a store: *testing.T calls it as it calls
// [storetest.Run], under the same conditions.
func Run[R storetest.Runner[R]](t R, h storetest.Harness, o *Options) {
	var cases []storetest.Case
	for _, c := range Cases() {
		cases = append(cases, c.over(o))
	}
	storetest.RunCases(t, h, cases)
}

// over returns the case as one of a store.
func (c Case) over(o *Options) storetest.Case {
	if o == nil {
		o = &Options{}
	}
	return storetest.Case{Name: c.Name, Rule: c.Rule, Needs: c.Needs, Run: func(t *storetest.T) {
		c.Run(&T{T: t, Options: *o, ctx: t.Context()})
	}}
}
