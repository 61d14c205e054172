package gate

import (
	"context"

	"github.com/posthouse/posthouse/internal/effect"
)

// NotDone says that nothing happened: the function of an effect returns it for an error after
// which the effect can run again, as when the bank refused the payment. It is nil for nil.
//
// Any other error of an effect's function, a panic and a context that ended leave the outcome
// unknown: the request may have been carried out and its answer lost. Such an effect does not run
// again by itself. So mark only what proves that nothing happened: an answer of the other side
// that says so, or a request that was never sent. Of an error that joins several, each one must be
// marked.
//
//	resp, err := client.Do(req)
//	if err != nil {
//		return "", err // unknown: the bank may have paid
//	}
//	if resp.StatusCode == http.StatusPaymentRequired {
//		return "", gate.NotDone(errors.New("the account has no funds"))
//	}
//
// errors.Is and errors.As see through it. Outside of an effect it changes nothing.
func NotDone(err error) error { return effect.MarkNotDone(err) }

// Unsent is [NotDone] for an error of a request that was never sent: its host was not found, refused
// the connection, or has a certificate that is not trusted here. Any other error it returns as it is,
// and so this one if the attempt may have sent anything: net/http repeats a request by itself and
// follows redirects, and its last error says nothing of what it sent before.
//
// ctx is the context that [Act] or [Require] gave to the function, or that a worker's handler has.
// The request must have been made with it, by net/http or net: of one that was made with another
// context nothing is known, and its error is returned as it is. So it is for a transport that dials
// in its own way.
//
//	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
//	...
//	resp, err := client.Do(req)
//	if err != nil {
//		return "", gate.Unsent(ctx, err)
//	}
func Unsent(ctx context.Context, err error) error { return effect.MarkUnsent(ctx, err) }
