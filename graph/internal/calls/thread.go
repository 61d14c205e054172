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

// ThreadName names the thread of a call. h is the head of the caller, birth that of its branch
// ([posthouse.ThreadInfo.Birth]), key the execution that calls. The name consists of the
// caller's thread and branch, the node and, for a subgraph that lives per call, the execution.
// It ends with a hash over all that tells calls apart: a caller that was released or deleted and
// begins again gets other threads, and so do names that read alike.
func ThreadName(h *posthouse.Header, birth uint64, key string, lifetime uint8, perCall bool) string {
	name := h.Thread
	if b := h.Branch; b != posthouse.MainBranch {
		name += ":" + b
	}
	call := "." + calledAs(key)
	if perCall {
		call += "." + key
	}
	id := fmt.Appendf(nil, "%q %q %d %d %q", h.Thread, h.Branch, h.Generation, lifetime, name+call)
	if birth != 0 {
		id = fmt.Appendf(id, " %d", birth)
	}
	sum := sha256.Sum256(id)
	end := "." + hex.EncodeToString(sum[:6])
	name += strings.NewReplacer("/", "-", "#", "-", "+", "-", ">", "-").Replace(call)
	return strings.ToValidUTF8(name[:min(len(name), posthouse.MaxID-len(end))], "") + end
}

// CancelInherited cancels gates that a fork inherited and that wait for the original's
// subgraph thread. The fork waits for its own.
func CancelInherited(ctx context.Context, l *ledger.Ledger, open []*posthouse.Gate, thread string) error {
	for _, g := range open {
		if g.Kind != posthouse.GateThread || g.Text == thread {
			continue
		}
		_, err := l.Withdraw(ctx, g.ID, ledger.Withdrawal{By: posthouse.RuntimeActor, Reason: "the fork waits for thread " + thread})
		if err != nil && !errors.Is(err, posthouse.ErrDecided) {
			return err
		}
	}
	return nil
}
