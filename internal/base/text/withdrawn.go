package text

import "strings"

// WentOn is why a gate is withdrawn if its branch continues without its answer.
const WentOn = "the branch went on without it"

// Paused is why the gate of a task is withdrawn that an operator pauses: another takes its place.
const Paused = "paused"

// maxWhy is how many bytes of the reason of a cancellation each of its gates has. The checkpoint
// has all of it.
const maxWhy = 200

// BranchCancelled is why a gate is withdrawn if its branch was cancelled: by is who cancelled it
// and reason is why. Both may be empty. A reason of more than 200 bytes is cut.
func BranchCancelled(by, reason string) string {
	s := "the branch was cancelled"
	if by != "" {
		s += " by " + by
	}
	if reason == "" {
		return s
	}
	if len(reason) > maxWhy {
		reason = strings.ToValidUTF8(reason[:maxWhy], "") + "…"
	}
	return s + ": " + reason
}
