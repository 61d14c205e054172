package gates

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func noticeCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/reminders", Rule: "A thread is due when a reminder is; a reminder is recorded once for all that are due, whatever the clock does, and not before its time nor after the decision.", Run: ledgerReminders},
		{Name: "ledger/racing reminders", Rule: "Of many that record a reminder over two ledgers one does.", Run: ledgerRacingReminders},
		{Name: "ledger/snooze", Rule: "A gate that a person hid is missing in their inbox alone, until its time, a reminder, the escalation, or they have it back; its deadline and their right stay.", Run: ledgerSnooze},
		{Name: "ledger/snoozes that make no sense", Rule: "A time that has passed, is not before the deadline or is missing, a person who is not asked, and more than a hundred times are refused.", Run: ledgerBadSnooze},
		{Name: "ledger/notices are sealed", Rule: "With a cipher their reasons are in no entry, and come back whole.", Run: ledgerSealsNotices},
	}
}

// remind records a reminder that is due.
func remind(d *desk.Desk, id posthouse.ID) *posthouse.Gate {
	d.Helper()
	g, err := commit.Remind(d.Ctx, d.Ledger.Core(), id)
	d.OK(err)
	return g
}

// wantNotices fails unless the gate has notices of these kinds, as returned and as read.
func wantNotices(d *desk.Desk, g *posthouse.Gate, kinds ...posthouse.NoticeKind) {
	d.Helper()
	read, err := d.T.Desk(ledger.Options{Now: d.Clock.Now}).Gate(d.Ctx, g.ID)
	d.OK(err)
	if fmt.Sprint(read.Notices) != fmt.Sprint(g.Notices) {
		d.Errorf("returned %+v\nread     %+v", g.Notices, read.Notices)
	}
	var have []posthouse.NoticeKind
	for _, n := range g.Notices {
		have = append(have, n.Kind)
	}
	if !slices.Equal(have, kinds) {
		d.Errorf("gate %s has the notices %v, want %v", g.ID, have, kinds)
	}
}

func ledgerReminders(t *desk.T) {
	d := t.Desk(ledger.Options{})
	start := d.Clock.Now()
	at := func(hours int) time.Time { return posthouse.ToMillis(start.Add(time.Duration(hours) * time.Hour)) }
	id := d.Ask("t", posthouse.Gate{Name: "ok?", Remind: []time.Time{at(1), at(2), at(3), at(5)}, ExpiresAt: at(6)}).Gates[0].ID
	due := func(want time.Time) {
		t.Helper()
		info, err := d.Thread(t.Ctx, "t")
		if err != nil || info.Due != posthouse.Millis(want.UnixMilli()) {
			t.Fatalf("the thread is due at %v, %v, want %v", info.Due, err, want.UnixMilli())
		}
	}
	due(at(1))
	_, err := commit.Remind(t.Ctx, d.Ledger.Core(), id)
	d.WantErr(err, posthouse.ErrConflict)
	d.Clock.Advance(time.Hour)
	wantNotices(d, remind(d, id), posthouse.NoticeReminder)
	due(at(2))
	tail := d.Tail("t")
	_, err = commit.Remind(t.Ctx, d.Ledger.Core(), id)
	if d.WantErr(err, posthouse.ErrConflict); d.Tail("t") != tail {
		t.Error("a reminder is recorded twice")
	}
	d.Clock.Advance(2*time.Hour + time.Minute) // the process slept, or its clock jumped
	g := remind(d, id)
	wantNotices(d, g, posthouse.NoticeReminder, posthouse.NoticeReminder)
	if !g.Notices[1].Until.Equal(at(5)) || g.Notices[1].By != posthouse.RuntimeActor {
		t.Errorf("the reminder of two is %+v", g.Notices[1])
	}
	due(at(5))
	d.Clock.Advance(-2 * time.Hour)
	_, err = commit.Remind(t.Ctx, d.Ledger.Core(), id)
	d.WantErr(err, posthouse.ErrConflict)
	d.Clock.Advance(4 * time.Hour)
	wantNotices(d, remind(d, id), posthouse.NoticeReminder, posthouse.NoticeReminder, posthouse.NoticeReminder)
	due(at(6))
	g = castLastVote(d, id, yes("alice"), posthouse.Approve)
	wantNotices(d, g, posthouse.NoticeReminder, posthouse.NoticeReminder, posthouse.NoticeReminder)
	other := d.Ask("u", posthouse.Gate{Name: "ok?", Remind: []time.Time{at(9)}}).Gates[0].ID
	castLastVote(d, other, yes("alice"), posthouse.Approve)
	d.Clock.Advance(24 * time.Hour)
	_, err = commit.Remind(t.Ctx, d.Ledger.Core(), other)
	d.WantErr(err, posthouse.ErrDecided)
	for name, g := range map[string]posthouse.Gate{
		"after the deadline": {ExpiresAt: at(30), Remind: []time.Time{at(30)}},
		"descending":         {Remind: []time.Time{at(32), at(31)}},
		"twice":              {Remind: []time.Time{at(31), at(31)}},
		"a timer":            {Kind: posthouse.GateTimer, ExpiresAt: at(40), Remind: []time.Time{at(31)}},
		"too many":           {Remind: make([]time.Time, posthouse.MaxReminders+1)},
	} {
		g.Name = "ok?"
		draft := &ledger.Draft{Thread: "bad", Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"ask"}}}
		if _, err := d.Commit(t.Ctx, draft); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

func ledgerRacingReminders(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{}), t.Desk(ledger.Options{})}
	at := posthouse.ToMillis(ledgers[0].Clock.Now().Add(time.Hour))
	id := ledgers[0].Ask("t", posthouse.Gate{Name: "ok?", Remind: []time.Time{at, at.Add(time.Hour)}}).Gates[0].ID
	for _, l := range ledgers {
		l.Clock.Advance(time.Hour)
	}
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = commit.Remind(t.Ctx, ledgers[i%2].Ledger.Core(), id) })
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		switch {
		case err == nil:
			done++
		case !errors.Is(err, posthouse.ErrConflict):
			t.Errorf("the loser of a race: %v, want ErrConflict", err)
		}
	}
	g, err := ledgers[1].Gate(t.Ctx, id)
	t.OK(err)
	if done == 0 || len(g.Notices) != 1 { // two at the same time write the same entry
		t.Errorf("%d recorded the reminder, and the gate has %+v", done, g.Notices)
	}
}

func ledgerSnooze(t *desk.T) {
	d := t.Desk(ledger.Options{})
	start := d.Clock.Now()
	at := func(hours int) time.Time { return posthouse.ToMillis(start.Add(time.Duration(hours) * time.Hour)) }
	ids := d.Ask("t",
		posthouse.Gate{Name: "plain", ExpiresAt: at(100)},
		posthouse.Gate{Name: "reminded", Assignees: []string{"alice", "bob"}, Remind: []time.Time{at(3)}},
		posthouse.Gate{Name: "escalates", Assignees: []string{"alice", "bob"}, Escalation: &posthouse.Escalation{At: at(4), To: []string{"boss"}}},
	).Gates
	sees := func(who string, order inbox.Order, snoozed inbox.Snoozed, want ...string) {
		t.Helper()
		page, err := inbox.List(t.Ctx, d.Ledger, &inbox.Query{Assignee: who, Everyone: who == "", Order: order, Snoozed: snoozed})
		t.OK(err)
		var have []string
		for _, item := range page.Items {
			have = append(have, item.Gate.Name)
		}
		slices.Sort(have)
		if !slices.Equal(have, want) {
			t.Errorf("%s at %s (%s, %s) has %v, want %v", who, d.Clock.Now().Sub(start), order, snoozed, have, want)
		}
	}
	hide := func(i int, until time.Time) *posthouse.Gate {
		t.Helper()
		g, err := inbox.Hide(t.Ctx, d.Ledger, ids[i].ID, inbox.Snooze{By: "alice", Until: until})
		t.OK(err)
		return g
	}
	due, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	wantNotices(d, hide(0, at(2)), posthouse.NoticeSnooze)
	hide(1, at(50))
	if g := hide(2, time.Time{}); !g.Notices[0].Until.Equal(at(4)) {
		t.Errorf("without a time it is back at %v, want the escalation", g.Notices[0].Until)
	}
	if now, err := d.Thread(t.Ctx, "t"); err != nil || now.Due != due.Due || !now.Waiting[0].ExpiresAt.Equal(at(100)) {
		t.Errorf("a snooze moved when the thread is due: %+v, %v", now, err)
	}
	for _, order := range []inbox.Order{inbox.Newest, inbox.ByDeadline} {
		sees("alice", order, "")
		sees("alice", order, inbox.SnoozedShown, "escalates", "plain", "reminded")
		sees("alice", order, inbox.SnoozedOnly, "escalates", "plain", "reminded")
		sees("bob", order, "", "escalates", "plain", "reminded")
		sees("", order, "", "escalates", "plain", "reminded")
	}
	c, err := inbox.Count(t.Ctx, d.Ledger, &inbox.Query{Assignee: "alice"}, 100)
	if t.OK(err); c.Snoozed != 3 || len(c.Questions) != 0 || c.More {
		t.Errorf("counts %+v", c)
	}
	tail := d.Tail("t")
	g, err := inbox.Show(t.Ctx, d.Ledger, ids[0].ID, inbox.Snooze{By: "bob"})
	if t.OK(err); d.Tail("t") != tail || len(g.Notices) != 1 {
		t.Errorf("having back what was not hidden wrote something: %+v", g.Notices)
	}
	d.Clock.Advance(2 * time.Hour)
	sees("alice", inbox.Newest, "", "plain")
	hide(0, at(40))
	sees("alice", inbox.Newest, "")
	g, err = inbox.Show(t.Ctx, d.Ledger, ids[0].ID, inbox.Snooze{By: "alice", Actor: "olga"})
	t.OK(err)
	wantNotices(d, g, posthouse.NoticeSnooze, posthouse.NoticeSnooze, posthouse.NoticeUnsnooze)
	sees("alice", inbox.Newest, "", "plain")
	d.Clock.Advance(time.Hour)
	remind(d, ids[1].ID)
	sees("alice", inbox.Newest, "", "plain", "reminded")
	hide(2, at(60)) // the escalation comes first
	d.Clock.Advance(time.Hour)
	sees("alice", inbox.Newest, "", "escalates", "plain", "reminded")
	hide(2, at(60))
	castLastVote(d, ids[2].ID, yes("alice"), posthouse.Approve) // the right stays
	sees("alice", inbox.Newest, "", "plain", "reminded")
}

func ledgerBadSnooze(t *desk.T) {
	d := t.Desk(ledger.Options{})
	now := d.Clock.Now()
	gates := d.Ask("t",
		posthouse.Gate{Name: "ok?", Assignees: []string{"alice", "bob"}, ExpiresAt: now.Add(9 * time.Hour), Quorum: &posthouse.Quorum{Need: 2}},
		posthouse.Gate{Name: "timer", Kind: posthouse.GateTimer, ExpiresAt: now.Add(9 * time.Hour)},
	).Gates
	id := gates[0].ID
	for name, c := range map[string]struct {
		gate posthouse.ID
		s    inbox.Snooze
		want *posthouse.Error
	}{
		"a past time":        {id, inbox.Snooze{By: "alice", Until: now.Add(-time.Second)}, posthouse.ErrInvalid},
		"this very moment":   {id, inbox.Snooze{By: "alice", Until: now}, posthouse.ErrInvalid},
		"the deadline":       {id, inbox.Snooze{By: "alice", Until: now.Add(9 * time.Hour)}, posthouse.ErrInvalid},
		"the year 12000":     {id, inbox.Snooze{By: "alice", Until: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}, posthouse.ErrInvalid},
		"no time":            {id, inbox.Snooze{By: "alice"}, posthouse.ErrInvalid},
		"no person":          {id, inbox.Snooze{Until: now.Add(time.Hour)}, posthouse.ErrInvalid},
		"the runtime":        {id, inbox.Snooze{By: posthouse.RuntimeActor, Until: now.Add(time.Hour)}, posthouse.ErrInvalid},
		"not asked":          {id, inbox.Snooze{By: "carol", Until: now.Add(time.Hour)}, posthouse.ErrForbidden},
		"a timer":            {gates[1].ID, inbox.Snooze{By: "alice", Until: now.Add(time.Hour)}, posthouse.ErrInvalid},
		"a gate not here":    {"gate-nowhere", inbox.Snooze{By: "alice", Until: now.Add(time.Hour)}, posthouse.ErrNotFound},
		"a very long reason": {id, inbox.Snooze{By: "alice", Until: now.Add(time.Hour), Reason: string(make([]byte, posthouse.MaxText+1))}, posthouse.ErrInvalid},
	} {
		if _, err := inbox.Hide(t.Ctx, d.Ledger, c.gate, c.s); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want.Code)
		}
	}
	castVote(d, id, yes("alice"))
	_, err := inbox.Hide(t.Ctx, d.Ledger, id, inbox.Snooze{By: "alice", Until: now.Add(time.Hour)})
	d.WantErr(err, posthouse.ErrVoted)
	for i := range 100 {
		_, err := inbox.Hide(t.Ctx, d.Ledger, id, inbox.Snooze{By: "bob", Until: now.Add(time.Duration(i+1) * time.Minute)})
		t.OK(err)
	}
	_, err = inbox.Hide(t.Ctx, d.Ledger, id, inbox.Snooze{By: "bob", Until: now.Add(time.Hour)})
	d.WantErr(err, posthouse.ErrTooLarge)
	castLastVote(d, id, yes("bob"), posthouse.Approve)
	_, err = inbox.Hide(t.Ctx, d.Ledger, id, inbox.Snooze{By: "bob", Until: now.Add(time.Hour)})
	d.WantErr(err, posthouse.ErrDecided)
}

func ledgerSealsNotices(t *desk.T) {
	d := t.Desk(ledger.Options{Cipher: t.Ring("k")})
	now := d.Clock.Now()
	id := d.Ask("t", posthouse.Gate{Name: "ok?", Remind: []time.Time{now.Add(time.Hour)}}).Gates[0].ID
	_, err := inbox.Hide(t.Ctx, d.Ledger, id, inbox.Snooze{By: "alice", Until: now.Add(2 * time.Hour), Reason: desk.Secret})
	t.OK(err)
	d.Clock.Advance(time.Hour)
	remind(d, id)
	if found := t.InClear("t"); len(found) > 0 {
		t.Errorf("in the clear: %v", found)
	}
	g, err := t.Desk(ledger.Options{Cipher: t.Ring("k")}).Gate(t.Ctx, id)
	t.OK(err)
	if len(g.Notices) != 2 || g.Notices[0].Reason != desk.Secret || g.Notices[1].Kind != posthouse.NoticeReminder {
		t.Errorf("read %+v", g.Notices)
	}
}
