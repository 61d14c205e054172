package gate

import "github.com/posthouse/posthouse/internal/effect"

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
