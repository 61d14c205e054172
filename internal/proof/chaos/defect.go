package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// defects are the faults that payments of the control arm have, each in runs of its own.
func defects() []fault {
	return []fault{tooEarly, unasked, refused, twice, altered, unrecorded, notMade}
}

// sound runs of the control arm pay as they should.
const sound fault = "sound"

// controlThread returns the i-th run of the control arm. Its name says what is wrong with it.
func controlThread(i int) string {
	all := append(defects(), sound)
	d := all[i%len(all)]
	for n := i * 1000; ; n++ {
		thread := fmt.Sprintf("%s.%d", d, n)
		verdict, _ := payment{Thread: thread, Step: placeHere}.answer()
		if (verdict == posthouse.Reject) == (d == refused) {
			return thread
		}
	}
}

// defectOf returns what is wrong with the payments of a run; "" is nothing.
func defectOf(thread string) fault {
	d, _, control := strings.Cut(thread, ".")
	if f := fault(d); control && slices.Contains(defects(), f) {
		return f
	}
	return ""
}

// badly makes a payment past its approval, once in this process.
func (p payment) badly(ctx context.Context, w *witness) error {
	if !w.first(place{p.Thread, p.Step}) {
		return nil
	}
	return errors.Join(ctx.Err(), p.tell(w, 1, p.Amount))
}

// tell tells the witness that the payment is made, as often as it is.
func (p payment) tell(w *witness, times int, amount uint64) error {
	for range times {
		if err := w.write(statement{Mark: paid, Thread: p.Thread, Step: p.Step, Amount: amount}); err != nil {
			return err
		}
	}
	return nil
}

// Unseen is of the line of a control arm. It returns what that
// has not shown; nothing is good.
func (l *Line) Unseen() (unseen []string) {
	if l.Wrong < l.Complete {
		unseen = append(unseen, fmt.Sprintf("%d of %d runs have another record, want all", l.Wrong, l.Complete))
	}
	seen := map[fault]int{}
	for _, f := range l.findings {
		switch d := defectOf(f.thread); {
		case f.fault == stepAgain || f.fault == d:
			seen[f.fault]++
		case d == "":
			unseen = append(unseen, "a sound run is blamed: "+f.text)
		}
	}
	for _, f := range append(defects(), stepAgain) {
		if seen[f] == 0 {
			unseen = append(unseen, fmt.Sprintf("no fault %s was found", f))
		}
	}
	return unseen
}
