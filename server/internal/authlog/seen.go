package authlog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// A Seen is the newest login of a person that is on record.
type Seen struct {
	Role    tokens.Role
	Account bool // with an account elsewhere, not with a token
	At      time.Time
}

// People returns the newest login of each person in the newest entries of the record, as many as most.
// More says that there are older entries.
func People(ctx context.Context, l *ledger.Ledger, most int) (seen map[string]Seen, more bool, err error) {
	seen, n := map[string]Seen{}, 0
	for e, err := range l.Log(ctx, Thread, posthouse.Range{Reverse: true, Limit: most}) {
		if err != nil {
			return nil, false, err
		}
		n++
		for i := len(e.Events) - 1; i >= 0; i-- {
			s := e.Events[i].Signal
			if s == nil || s.Name != string(Login) {
				continue
			}
			var act Act
			if json.Unmarshal(s.Value, &act) != nil || act.Person == "" {
				continue
			}
			if _, known := seen[act.Person]; !known {
				seen[act.Person] = Seen{Role: tokens.Role(act.Role), Account: act.Method == ByAccount, At: e.At}
			}
		}
	}
	return seen, n == most, nil
}
