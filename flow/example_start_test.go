package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A run can start later: its thread is on record at once, and a runner starts it then.
func Example_startLater() {
	now := time.Date(2026, 11, 26, 18, 0, 0, 0, time.UTC)
	led, err := ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := flow.New("report", func(context.Context, string) (string, error) { return "sent", nil }).Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	head, err := report.StartJSON(ctx, "report-27", []byte(`"sales"`), &posthouse.StartOptions{StartAt: now.Add(14 * time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}
	gate, err := led.Gate(ctx, head.Gates[0])
	fmt.Println(head.Status, gate.Kind, gate.ExpiresAt.Format(time.DateTime), err)

	now = now.Add(14 * time.Hour) // a runner advances it
	fmt.Println(report.Advance(ctx, "report-27", posthouse.MainBranch))
	out, err := report.Resume(ctx, "report-27")
	fmt.Println(out.Status, out.Output, err)
	// Output:
	// waiting timer 2026-11-27 08:00:00 <nil>
	// <nil>
	// done sent <nil>
}
