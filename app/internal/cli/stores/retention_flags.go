package stores

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/retain"
)

// RetentionFlags are the flags of a policy.
type RetentionFlags struct {
	maxAge, released, finished, slots env.Span
	labels                            []string
	policy                            retain.Policy
}

// Add adds the flags, the name of each with a prefix.
func (r *RetentionFlags) Add(f *pflag.FlagSet, prefix string) {
	f.Var(&r.maxAge, prefix+"max-age", "remove checkpoints older than this, as in 30d, 2w or 12h")
	f.IntVar(&r.policy.MaxPerThread, prefix+"max-per-thread", 0, "remove the oldest checkpoints of a thread beyond this number")
	f.Var(&r.released, prefix+"released", "remove versions released longer ago than this")
	f.Var(&r.finished, prefix+"finished", "remove whole threads that ended, with the slots of their tasks, and did not move for longer than this")
	f.Var(&r.slots, prefix+"slots", "remove, in threads that stay, what handlers saved for tasks that have been complete for longer than this")
	f.IntVar(&r.policy.KeepLast, prefix+"keep-last", 0, "keep the newest so many checkpoints of each branch")
	f.StringSliceVar(&r.policy.KeepBranches, prefix+"keep-branch", nil, "keep the checkpoints of this branch; may be repeated")
	f.StringSliceVar(&r.labels, prefix+"keep-label", nil, "keep checkpoints with this label, NAME or NAME=VALUE; may be repeated")
	f.IntVar(&r.policy.KeepVersions, prefix+"keep-versions", 0, "keep the newest so many released versions of each thread")
	f.StringSliceVar(&r.policy.KeepTags, prefix+"keep-tag", nil, "keep released versions with this tag; may be repeated")
	f.BoolVar(&r.policy.DropSources, prefix+"drop-sources", false, "also remove what a fork was made from")
}

// Policy returns what the flags say.
func (r *RetentionFlags) Policy() retain.Policy {
	p := r.policy
	p.MaxAge, p.Released, p.Finished, p.Slots = time.Duration(r.maxAge), time.Duration(r.released), time.Duration(r.finished), time.Duration(r.slots)
	for _, l := range r.labels {
		if p.KeepLabels == nil {
			p.KeepLabels = map[string]string{}
		}
		name, value, _ := strings.Cut(l, "=")
		p.KeepLabels[name] = value
	}
	return p
}

// Set reports whether they let anything go.
func (r *RetentionFlags) Set() bool {
	p := r.Policy()
	return p.LetsGo()
}
