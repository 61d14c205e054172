package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/worker"
)

// A Recording is the input of the task transcribe.
type Recording struct {
	Recording string `json:"recording"`
	Language  string `json:"language"`
}

// Work runs two workers until ctx ends. They transcribe: one recording takes minutes, one is silent
// until the task is retried, and one waits until somebody says who speaks.
func Work(ctx context.Context, engine task.Engine) error {
	var studio studio
	ran := make(chan error, 2)
	for _, o := range []worker.Options{{Name: "media-1", Concurrency: 2}, {Name: "media-2", Group: "gpu", Concurrency: 1}} {
		o.DrainTimeout = 100 * time.Millisecond
		w, err := worker.New(engine, &o)
		if err != nil {
			return err
		}
		worker.Handle(w, "transcribe", studio.transcribe)
		if o.Group != "" {
			worker.Handle(w, "translate", studio.transcribe)
		}
		go func() { ran <- w.Run(ctx) }()
	}
	return errors.Join(<-ran, <-ran)
}

// A studio knows which recordings it has heard.
type studio struct {
	mu    sync.Mutex
	heard map[string]bool
}

// again reports whether a recording was heard before.
func (s *studio) again(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.heard[name]
	if s.heard == nil {
		s.heard = map[string]bool{}
	}
	s.heard[name] = true
	return before
}

func (s *studio) transcribe(t worker.Task, in Recording) (string, error) {
	takes := 2 * time.Second
	switch again := s.again(in.Recording); {
	case in.Recording == "call-2292.ogg" && !again:
		return "", worker.Permanent(errors.New("the recording is silent: no speech in 48 minutes"))
	case in.Recording == "call-2295.ogg" && t.Resumed() == "":
		return "", t.Pause("who speaks", 6*time.Hour)
	case in.Recording == "call-2291.ogg":
		takes = 10 * time.Minute
	}
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return fmt.Sprintf("the text of %s, in %s", in.Recording, in.Language), nil
	case <-t.Context().Done():
		return "", context.Cause(t.Context())
	}
}

// letters are a box as a queue has one: a hint that is sent again leaves it.
type letters struct{ *deadletter.Memory }

// Replay implements [deadletter.Box].
func (l letters) Replay(ctx context.Context, id string) error {
	all, err := l.Letters(ctx, 1000)
	if err != nil {
		return err
	}
	for _, letter := range all {
		if letter.ID == id {
			if err := letter.MayReplay(); err != nil {
				return err
			}
		}
	}
	return l.Remove(ctx, id)
}

// Letters returns a box with messages of workers that could not be read.
func Letters() deadletter.Box {
	ago := 5 * time.Hour
	box := deadletter.NewMemory(func() time.Time { return time.Now().Add(-ago) })
	for _, l := range []deadletter.Letter{
		{Kind: deadletter.Hint, Subject: "posthouse.hint.transcribe.=.gate-01a2", Reason: "hint: unexpected end of JSON input", Data: []byte(`{"task":"transcribe","gate":"gate-01a2`)},
		{Kind: deadletter.Request, Subject: "posthouse.task.media-1.any.resolve", Reason: "request: field result: is 1,310,720 bytes; at most 1,048,576 are allowed", Size: 1_311_020, Data: []byte(`{"id":{"gate":"gate-01a2134b"},"verdict":{"action":"complete","value":"iVBORw0KGgo`)},
	} {
		_ = box.Put(context.Background(), l) // memory does not fail
		ago = 40 * time.Minute
	}
	return letters{box}
}
