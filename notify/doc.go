// Package notify tells people and programs what happens: it carries events of the log to
// endpoints, each through its channel. Package webhook has the channel to an HTTP receiver.
//
//	hook, err := webhook.New(&webhook.Options{URL: "https://ops.example.com/hook", SecretFile: "ops.secret"})
//	n, err := notify.New(led, []notify.Endpoint{{Name: "ops", Channel: hook}}, nil)
//	err = n.Run(ctx) // until ctx ends
//
// # Deliveries
//
// Nothing is queued: an endpoint has a place in the log, and what follows that place is yet to be
// told. The place is kept in a slot of the store, with the messages that are tried again, so a
// restart loses no message and a backlog takes no memory. Of several processes over one store, one has
// an endpoint at a time. It writes under a fence: one that was frozen finds that it has lost the
// endpoint, and stops.
//
// A delivery is made at least once. A message that comes twice has the same [Message.ID].
// Messages come in the order of the log, except those that are tried again.
//
// # Failures
//
// A delivery that fails is tried again after growing pauses, while the messages after it go on.
// When [Window] messages of an endpoint wait for another attempt, the endpoint is down: its place
// in the log stays, and those messages are tried in turn, one from time to time. Other endpoints do
// not notice. A message is given up after all its attempts only if the endpoint has taken another
// one in between; [Notifier.Replay] sends it again.
//
// # Answers
//
// A channel in which people answer, as Slack, is [Answering]: it decides gates in the name of the person
// that the configuration knows somebody as, by the rules that hold everywhere. It may keep a [Memo] of
// what it said about a gate.
//
// # Caveats
//
// An endpoint that is new begins with what happens from then on. An imported thread is told of
// as it arrives. After a copy of the store, or a restart before its first entry, an endpoint searches
// its place by time: until something new happens, an import of what is older is not told. Each
// endpoint reads the whole log, so have tens of them, not hundreds.
package notify
