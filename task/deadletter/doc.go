// Package deadletter keeps unusable messages, with the reason.
//
//	box := deadletter.NewMemory(nil)
//	err := box.Put(ctx, deadletter.Letter{Kind: deadletter.Request, Subject: subject, Reason: err.Error(), Data: body})
//
// A message between engines, or from a worker, that does not parse or is too large is a
// letter here; so it is shown to somebody, and not passed over. No task is lost with it: the
// log is the truth. [Beside] keeps in memory what a shared box does not take. A task that failed for good is no letter; task.Query lists those.
package deadletter
