// Package limit bounds what clients may take of a server, so that no client takes what the
// others need, and ends what they take when the server closes.
//
//	life := limit.NewLifetime()
//	streams := limit.NewQuota(life, limit.Bounds{All: 1000, Token: 250, Noun: "streams", Held: "streams open"})
//	leave, err := streams.Take("ci") // the token's name; problem.CodeTooMany
//	defer leave()
//	err = life.Close(ctx) // ends the streams, waits for the rest
//
// A [Quota] counts what is open, [Unauthenticated] the connections that have sent no token
// yet, [Turns] the answers that are made at once, and [Unread] the bytes that clients leave
// unread. An [AnswerTimeout] bounds how long an answer waits for work to end.
//
// Each of them is safe for concurrent use. They know no routes and no bodies.
package limit
