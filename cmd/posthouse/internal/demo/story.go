package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/task"
)

// minute and hour are written often.
const (
	minute = time.Minute
	hour   = time.Hour
)

// Faults of the world.
var (
	errBusy    = errors.New("the model is overloaded, try again later")
	errNoMoney = errors.New("the bank refuses: the account's limit for this day is used up")
	errSilent  = fmt.Errorf("the bank did not answer within 30 seconds: %w", posthouse.ErrUnknown)
	errNoParse = errors.New("the model's answer is no JSON: unexpected end of input")
	errDown    = errors.New("dial tcp 10.4.0.7:5432: connection refused")
)

// write plans the week.
func (w *week) write() {
	w.faults = []fault{
		{"read", "INV-1003", errBusy, 1}, {"read", "INV-1017", errBusy, 1}, {"pay", "INV-1006", errNoMoney, 1},
		{"pay", "INV-1009", errNoMoney, 2}, {"pay", "INV-1011", errSilent, 1}, {"pay", "INV-1018", errSilent, 1},
		{"analyze", "the parcel is empty", errNoParse, 1}, {"summarize", "the port of Rotterdam", errBusy, 1},
		{"find", "archive C-431", errDown, 1}, {"find", "crm C-444", errDown, 3},
	}
	w.invoices()
	w.invoicesThatWait()
	w.statements()
	w.refunds()
	w.refundsThatWait()
	w.erasures()
	w.contracts()
	w.newsletters()
	w.researches()
	w.rest()
}

// rest plans what belongs to no program: a thread that people write themselves, and tasks that wait for
// workers.
func (w *week) rest() {
	notes := []string{"Rotation: bob has the phone until Thursday.", "The bank's limit was used up on Tuesday; finance raises it.", "Rotation: dana has the phone from Thursday on."}
	for i, note := range notes {
		w.plan(w.day(5-2*i, 17, 30), "handover", func() error {
			state, err := posthouse.Opaque(nil, map[string]any{"note": note, "number": i + 1})
			if err != nil {
				return err
			}
			_, err = w.ledger.Save(w.ctx, &posthouse.Checkpoint{
				Header: posthouse.Header{Thread: "handover", By: []string{"bob", "dana"}[i/2]}, State: state,
			}, nil)
			return err
		}).rests = true
	}
	for i, call := range []string{"call-2291", "call-2292", "call-2295"} {
		w.plan(w.ago(50*minute-time.Duration(i)*9*minute), "task-"+call, func() error {
			input, err := json.Marshal(map[string]string{"recording": call + ".ogg", "language": "en"})
			if err == nil {
				_, err = w.tasks.Start(w.ctx, task.Start{Task: "transcribe", Key: call, Input: input}, "alice")
			}
			return err
		})
	}
	w.plan(w.day(1, 16, 10), "contract-helvetia", func() error {
		_, err := retain.Hold(w.ctx, w.ledger, "contract-helvetia", retain.HoldOptions{By: "carol", Reason: "the auditors want to see it"})
		return err
	}).rests = true
}
