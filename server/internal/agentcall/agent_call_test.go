package agentcall

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/store/memstore"
)

// An agentFunc is an Agent.
type agentFunc func(context.Context, string, *Options) (*Reply, error)

func (f agentFunc) Handle(ctx context.Context, message string, o *Options) (*Reply, error) {
	return f(ctx, message, o)
}

// TestEndIsNotedBeforeDone holds that the time of a request's end is taken before anybody hears
// of the end. A clock that jumped in between would keep the request for too long.
func TestEndIsNotedBeforeDone(t *testing.T) {
	var working atomic.Pointer[Call]
	var late atomic.Bool
	now := func() time.Time {
		if c := working.Load(); c != nil && isClosed(c.done) {
			late.Store(true)
		}
		return time.Now()
	}
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	life := limit.NewLifetime()
	begin := make(chan struct{})
	agent := agentFunc(func(context.Context, string, *Options) (*Reply, error) { <-begin; return &Reply{}, nil })
	calls := &Calls{
		Agents: map[string]Agent{"dispatch": agent}, Known: NewRegistry(now, 1), Timeout: time.Minute, Ledger: l, Life: life, Log: slog.New(slog.DiscardHandler),
		Quota: limit.NewQuota(life, limit.Bounds{All: 1, Token: 1, Noun: "requests", Held: "requests"}),
	}
	c, err := calls.Start(Message{Agent: "dispatch", Text: "refund 1"})
	if err != nil {
		t.Fatal(err)
	}
	working.Store(c)
	close(begin)
	<-c.done
	for noted := false; !noted; runtime.Gosched() {
		calls.Known.mu.Lock()
		noted = slices.Contains(calls.Known.ended, c)
		calls.Known.mu.Unlock()
	}
	if late.Load() {
		t.Error("the time of the end was taken when the request was done already")
	}
	if err := life.Close(t.Context()); err != nil {
		t.Errorf("closing: %v", err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
