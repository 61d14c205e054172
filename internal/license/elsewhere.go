package license

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
)

// Imported reports whether a decision came with an import of its thread, and nobody has said here
// since that the effect is to be done: the store that it comes from has the decision, too.
func Imported(info *posthouse.ThreadInfo, g *posthouse.Gate, u *effect.Use) bool {
	return isBefore(info, posthouse.SignalImported, g, u)
}

// PutBack reports whether the store was put back to an earlier state after a decision, and nothing
// has begun under it since: what it licenses may be done already, in what was lost.
func PutBack(info *posthouse.ThreadInfo, g *posthouse.Gate, u *effect.Use) bool {
	return isBefore(info, posthouse.SignalPutBack, g, u)
}

func isBefore(info *posthouse.ThreadInfo, mark string, g *posthouse.Gate, u *effect.Use) bool {
	seq := info.NewestSignal(mark)
	return g.Decision != nil && g.Decision.Seq < seq && u.Since() < seq
}

// MayBeDone returns why an effect without a result may be done already: the store was put back to an
// earlier state since. It is nil if it was not, and for a decision that licenses nothing on the branch,
// which is asked for again there.
func MayBeDone(ctx context.Context, c *commit.Committer, g *posthouse.Gate, thread, branch string, u *effect.Use) (why, err error) {
	if Here(g, thread, branch) != nil {
		return nil, nil
	}
	info, err := c.Logs.Thread(ctx, thread)
	if err != nil || g.Seq < info.First || !PutBack(info, g, u) {
		return nil, err
	}
	mark, err := c.Logs.PutBack(ctx, info)
	if err != nil {
		return nil, err
	}
	return mark.Error(), nil
}

// ContinuesElsewhere reports whether an effect that waits within its function may have continued in
// another store, or in what was lost when this one was put back.
func ContinuesElsewhere(ctx context.Context, c *commit.Committer, thread string, u *effect.Use) (bool, error) {
	info, err := c.Logs.Thread(ctx, thread)
	if err != nil {
		return false, err
	}
	return u.Since() < max(info.NewestSignal(posthouse.SignalImported), info.NewestSignal(posthouse.SignalPutBack)), nil
}
