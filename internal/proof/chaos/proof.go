package chaos

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
)

// prove compares the payments of a complete run that the witness knows with those on its
// record, both ways: each that was made must be there as executed, under a decision that the
// people made and on its content, and each that is there must have been made.
func (t *testimony) prove(ctx context.Context, l *ledger.Ledger, thread string) error {
	if !pays(thread) {
		return nil
	}
	uses, err := ledger.Effects(ctx, l, thread)
	if err != nil {
		return err
	}
	for _, step := range []int{placeHere, placeThere} {
		var on []grants.Use
		for _, u := range uses {
			if u.Name == payName(step) && u.Status == grants.Executed {
				on = append(on, u)
			}
		}
		d := t.deed(place{thread, step})
		switch {
		case len(d.payments) > 0 && len(on) == 0:
			t.found(unrecorded, thread, "payment %d of %s is made, and the record does not show it", step, thread)
		case len(d.payments) == 0 && (len(on) > 0 || len(d.licenses) > 0):
			t.found(notMade, thread, "payment %d of %s is not made; it is approved %d times and on record %d times", step, thread, len(d.licenses), len(on))
		case len(on) > 1:
			t.found(twice, thread, "payment %d of %s is on record %d times", step, thread, len(on))
		case len(on) == 1:
			if why, err := t.licensed(ctx, l, d, on[0].Grant); err != nil {
				return err
			} else if why != "" {
				t.found(unrecorded, thread, "payment %d of %s is on record under gate %q, %s", step, thread, on[0].Grant, why)
			}
		}
	}
	return nil
}

// licensed returns why what was paid is not what the record's gate licenses, or "".
func (t *testimony) licensed(ctx context.Context, l *ledger.Ledger, d *deed, grant posthouse.ID) (string, error) {
	if grant == "" {
		return "which is none", nil
	}
	g, err := l.Gate(ctx, grant)
	if err != nil {
		return "", err
	}
	if g.Decision == nil || g.Decision.Verdict != posthouse.Approve && g.Decision.Verdict != posthouse.Edit {
		return fmt.Sprintf("whose decision is %+v", g.Decision), nil
	}
	var p payment
	if err := json.Unmarshal(g.Licensed(), &p); err != nil {
		return "", err
	}
	for _, said := range d.licenses {
		if said.Gate == grant && said.Amount == p.Amount && said.Verdict == g.Decision.Verdict {
			return "", nil
		}
	}
	return fmt.Sprintf("which people did not decide so: %s of %d", g.Decision.Verdict, p.Amount), nil
}
