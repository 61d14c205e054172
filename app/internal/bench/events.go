package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

const (
	listeners      = 1000 // as many as a server has
	listenerTokens = 5    // a token has a quarter of them
)

// events measures how long an event takes, from the begin of its append, until the last of 1,000 clients
// has it. No server writes to 1,000 sockets in the time of one, so the limit is against a bare one of net/http,
// which writes the same bytes to as many streams after the same append.
func events(s *session) (err error) {
	v, err := s.serve()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	var secrets []string
	for i := range listenerTokens {
		secret, err := v.tokens.Create(fmt.Sprintf("listener-%d", i), tokens.Viewer, nil)
		if err != nil {
			return err
		}
		secrets = append(secrets, secret)
	}
	many := s.n(listeners)
	bare, err := newBareStreams()
	if err != nil {
		return err
	}
	defer bare.close()
	head := posthouse.Root("told", posthouse.State{})
	save := func() (err error) {
		head, err = v.Ledger.Save(s.ctx, head, nil)
		if err == nil {
			head = head.Derive(posthouse.State{})
		}
		return err
	}
	told := func(url string, clients int, tell func() error) side {
		return side{fmt.Sprintf("%d clients of %s", clients, url), func() (measure, error) {
			return s.told(&audience{url, secrets, clients}, s.n(20), tell)
		}}
	}
	all, err := s.interleave(
		told(v.URL, many, save),
		told(bare.server.URL, many, func() error { return errors.Join(save(), bare.tell()) }),
		told(v.URL, 1, save),
	)
	if err != nil {
		return err
	}
	half := func(m *measure) float64 { return micros(m.times, 0, 1) }
	ours, base, one := median(all[0], half), median(all[1], half), median(all[2], half)
	s.note("an event at one client", "µs", one, 0)
	s.note("at the slowest of 1,000, a client", "µs", ours/float64(many), base/float64(many))
	s.atMost("an event at the slowest of 1,000", "µs", ours, base, ratio(all[0], all[1], half), 3)
	return nil
}

// An audience is clients of one server.
type audience struct {
	url     string
	secrets []string
	clients int
}

// told opens streams of events, tells n times, and measures each time how long it takes until all clients
// have it.
func (s *session) told(a *audience, n int, tell func() error) (m measure, err error) {
	ctx, stop := context.WithCancel(s.ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer stop()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	seen := make(chan error, 2*a.clients) // each tells of each event, and of its end
	for i := range a.clients {
		body, err := subscribe(ctx, transport, a.url, a.secrets[i%len(a.secrets)])
		if err != nil {
			return m, err
		}
		open.Go(func() { listen(body, seen) })
	}
	return s.each(n, func() error {
		if err := tell(); err != nil {
			return err
		}
		for range a.clients {
			if err := <-seen; err != nil {
				return err
			}
		}
		return nil
	})
}

// listen reads a stream to its end and tells of each checkpoint.
func listen(body io.ReadCloser, seen chan<- error) {
	lines := bufio.NewReaderSize(body, 2<<10)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			seen <- errors.Join(err, body.Close())
			return
		case strings.HasPrefix(string(line), "event: checkpoint"):
			seen <- nil
		}
	}
}

// subscribe opens a stream of what happens from now on.
func subscribe(ctx context.Context, t *http.Transport, url, secret string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/events?after=now", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("a stream of events: %s", res.Status), res.Body.Close())
	}
	return res.Body, nil
}

// bareStreams is a server of net/http that writes one event to all of its streams.
type bareStreams struct {
	server *localServer
	mu     sync.Mutex
	open   map[chan struct{}]bool
}

// bareEvent is about as long as that of a checkpoint.
var bareEvent = []byte("id: 1234\nevent: checkpoint\ndata: " + strings.Repeat("x", 700) + "\n\n")

func newBareStreams() (b *bareStreams, err error) {
	b = &bareStreams{open: map[chan struct{}]bool{}}
	b.server, err = serveLocally(func(w http.ResponseWriter, r *http.Request) {
		more := make(chan struct{}, 1000)
		b.mu.Lock()
		b.open[more] = true
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.open, more)
		}()
		rc := http.NewResponseController(w)
		w.WriteHeader(http.StatusOK)
		for rc.Flush() == nil {
			select {
			case <-more:
				_, _ = w.Write(bareEvent) // Flush fails, too
			case <-r.Context().Done():
				return
			}
		}
	})
	return b, err
}

// tell tells all streams.
func (b *bareStreams) tell() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for more := range b.open {
		more <- struct{}{}
	}
	return nil
}

func (b *bareStreams) close() { b.server.close() }
