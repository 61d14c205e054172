package desk

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// A Case tests one rule.
type Case struct {
	Name  string // theme/rule
	Rule  string // in full, printed when it is broken
	Run   func(t *T)
	Needs storetest.Need // default: the rule applies over every store
}

// A T is what one case uses: a T of storetest, and the suite's cipher.
type T struct {
	*storetest.T
	Cipher posthouse.Cipher // may be nil

	Ctx context.Context
}

// Over returns the case as one of storetest with Ledgers that use the cipher.
func (c Case) Over(cipher posthouse.Cipher) storetest.Case {
	return storetest.Case{Name: c.Name, Rule: c.Rule, Needs: c.Needs, Run: func(t *storetest.T) {
		c.Run(&T{T: t, Cipher: cipher, Ctx: t.Context()})
	}}
}
