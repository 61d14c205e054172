// Package natshint is a queue of hints in NATS JetStream, and the dead letters beside it.
//
//	q, err := natshint.New(conn, nil)
//	d, err := dispatch.New(ledger, &dispatch.Options{Hints: q})
//
// The stream {prefix}-hints is a work queue. A hint has the subject
// {prefix}.hint.{task}.{group}.{gate}, and there is one for each gate at most: the server
// refuses a second. Names are written into subjects so that each has one form and all can be
// read: letters, digits, - and _ stay, any other byte is = and two hexadecimal digits, and no
// group is = alone. Each task and group has a consumer, which engines share. A hint given to
// an engine stays in the stream until the engine acknowledges it.
//
// The stream may be purged or deleted at any time: engines make it again, and tell it again
// of what is open. So it is kept in memory unless Options.Files asks for more.
//
// The stream {prefix}-dead has messages to {prefix}.dead, with the reason in a header: at
// most 10,000 in 16 MiB, for 30 days.
//
// Workers need no access to either. An engine needs to publish to {prefix}.hint.>,
// {prefix}.dead, $JS.API.> and $JS.ACK.>, and to have its replies (_INBOX.>).
package natshint
