package ledger

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
)

func checkRules(rules []posthouse.Rule) error {
	for i, r := range rules {
		if r.Name == "" || len(r.Name) > posthouse.MaxID || !text.Valid(r.Name) {
			return posthouse.Invalid("Rules", "%d has no name of 1 to %d bytes of text", i, posthouse.MaxID)
		}
		if r.Check == nil {
			return posthouse.Invalid("Rules", "%q has no Check", r.Name)
		}
	}
	return nil
}
