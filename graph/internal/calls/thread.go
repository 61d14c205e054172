package calls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// ThreadName names the thread of a call that an execution, by its key, makes: behind the
// caller's, whose head is h, by the node and, unless it lives per thread, by the
// execution. A hash over all that tells calls apart ends it: a caller that was released
// or deleted and begins anew, and a name that reads like another's, have threads of
// their own.
func ThreadName(h *posthouse.Header, key string, lifetime uint8, perCall bool) string {
	name := h.Thread
	if b := h.Branch; b != posthouse.MainBranch {
		name += ":" + b
	}
	call := "." + CalledAs(key)
	if perCall {
		call += "." + key
	}
	id := fmt.Appendf(nil, "%q %q %d %d %q", h.Thread, h.Branch, h.Generation, lifetime, name+call)
	sum := sha256.Sum256(id)
	end := "." + hex.EncodeToString(sum[:6])
	name += strings.NewReplacer("/", "-", "#", "-", "+", "-", ">", "-").Replace(call)
	return strings.ToValidUTF8(name[:min(len(name), posthouse.MaxID-len(end))], "") + end
}

// CancelInherited ends the waits that a fork took along for the thread of the subgraph
// of whom it was forked from: the next execution waits for its own.
func CancelInherited(ctx context.Context, l *ledger.Ledger, open []*posthouse.Gate, thread string) error {
	for _, g := range open {
		if g.Kind != posthouse.GateThread || g.Text == thread {
			continue
		}
		_, err := l.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Cancel, By: "posthouse", Reason: "the fork waits for thread " + thread})
		if err != nil && !errors.Is(err, posthouse.ErrDecided) {
			return err
		}
	}
	return nil
}
