package effect

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptrace"
	"sync"
)

// A wire is what the network saw of one attempt of an effect: whether something may have been
// sent, and which errors ended what was not.
type wire struct {
	mu       sync.Mutex
	sent     bool    // a request was given a connection
	open     int     // connections that were made and not given up for their certificate
	failures []error // of name look-ups, dials and certificates
}

type keyWire struct{}

// Traced returns a context in which an attempt of an effect notes what it sends: net/http and net
// report it to [httptrace.ClientTrace].
func Traced(ctx context.Context) context.Context {
	w := &wire{}
	ctx = context.WithValue(ctx, keyWire{}, w)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:          func(httptrace.GotConnInfo) { w.note(func() { w.sent = true }) },
		DNSDone:          func(i httptrace.DNSDoneInfo) { w.failed(i.Err) },
		ConnectDone:      func(_, _ string, err error) { w.connected(err) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) { w.shaken(err) },
	})
}

func (w *wire) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *wire) failed(err error) {
	if err != nil {
		w.note(func() { w.failures = append(w.failures, err) })
	}
}

// connected counts a connection: whoever dialed it without net/http may write to it unseen.
func (w *wire) connected(err error) {
	if err == nil {
		w.note(func() { w.open++ })
	}
	w.failed(err)
}

// shaken takes a connection back after its certificate was refused here: nothing is sent over it.
func (w *wire) shaken(err error) {
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		w.note(func() { w.open-- })
		w.failed(err)
	}
}

// unsent reports whether nothing was sent, and err is an error that the network reported.
func (w *wire) unsent(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent || w.open > 0 {
		return false
	}
	for _, failure := range w.failures {
		if errors.Is(err, failure) {
			return true
		}
	}
	return false
}

// A neverSent is an error after which nothing happened, as long as its attempt sends nothing.
type neverSent struct {
	error
	wire *wire
}

func (e neverSent) Unwrap() error { return e.error }

// MarkUnsent marks err as [MarkNotDone] does if the attempt of ctx sent nothing and err is a look-up,
// a dial or a refused certificate that it saw. Otherwise it returns err as it is. It looks again when
// the attempt has ended: another request of it may have been sent since.
func MarkUnsent(ctx context.Context, err error) error {
	w, _ := ctx.Value(keyWire{}).(*wire)
	if err == nil || w == nil || !w.unsent(err) {
		return err
	}
	return neverSent{err, w}
}
