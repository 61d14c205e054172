package server

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
)

// A Thread is a thread's summary as the API shows it, with times of a zone in the place of
// the summary's own, which are Unix milliseconds.
type Thread struct {
	posthouse.ThreadInfo
	CreatedAt time.Time          `json:"createdAt"`
	UpdatedAt time.Time          `json:"updatedAt" doc:"of the last entry, exactly"`
	DueAt     *time.Time         `json:"dueAt,omitempty" doc:"when the next gate expires or escalates, or the next timer fires"`
	Now       string             `json:"now,omitempty" doc:"one line: the intent of the oldest question that waits for people, else the nodes that run next, the error, what it waits for and until when, or the newest note of the program; at most 200 bytes"`
	Unknown   int                `json:"unknownEffects,omitempty" doc:"effects on the world of the current generation with an unknown outcome: GET /api/threads/{id}/effects"`
	Held      *Hold              `json:"hold,omitempty" doc:"nothing of the thread may be removed"`
	Release   *posthouse.Release `json:"release,omitempty" doc:"that closed it; on answers about a version only"`

	// They hide the fields of these names in the summary.
	Created *struct{} `json:"created,omitempty" doc:"-"`
	Updated *struct{} `json:"updated,omitempty" doc:"-"`
	Due     *struct{} `json:"due,omitempty" doc:"-"`
}

// toTime returns the instant of a summary's time.
func toTime(m posthouse.Millis) time.Time { return time.UnixMilli(int64(m)).UTC() }

// showThread looks up what a list shows beside the summary.
func showThread(ctx context.Context, l *ledger.Ledger, t *posthouse.ThreadInfo) (*Thread, error) {
	shown, err := showThreads(ctx, l, []*posthouse.ThreadInfo{t})
	if err != nil {
		return nil, err
	}
	return shown[0], nil
}

// showThreads is showThread for a list, in its order.
func showThreads(ctx context.Context, l *ledger.Ledger, page []*posthouse.ThreadInfo) ([]*Thread, error) {
	faces, err := overview.Faces(ctx, l, page)
	if err != nil {
		return nil, err
	}
	shown := make([]*Thread, len(page))
	for i, t := range page {
		f := faces[i]
		v := &Thread{ThreadInfo: *t, CreatedAt: toTime(t.Created), UpdatedAt: f.UpdatedAt, Now: f.Now, Unknown: f.Unknown, Held: showHold(&t.Hold)}
		if t.Due > 0 {
			due := toTime(t.Due)
			v.DueAt = &due
		}
		shown[i] = v
	}
	return shown, nil
}
