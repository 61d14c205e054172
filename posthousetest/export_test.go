package posthousetest

// KillAt is the kill of one subtest of EveryKill.
func KillAt(entry int, after bool) *Kill { return &Kill{entry: entry, after: after} }
