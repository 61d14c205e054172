// Package tree draws a thread: its checkpoints from the roots down, with branches set
// off to the right. Between a checkpoint and its children are the gates it opened and
// how they were decided.
//
//	● 019a…01  node analyzer     waiting   2026-11-21 04:00:01
//	│ ? gate-019a…02  refund: Refund order 1234?
//	│ ✓ approved by alice, 2026-11-21 08:14:40: within the limit
//	├─● 019a…07  fork            saved     2026-11-21 09:00:00  [what-if]
//	● 019a…05  node approver     done      2026-11-21 08:14:40  [main]
//
// The branch that a checkpoint heads follows it in brackets. A line that goes
// straight down is the branch of its parent.
package tree
