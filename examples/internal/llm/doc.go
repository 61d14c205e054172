// Package llm is a small client for language models, enough for the examples:
// one [Model] over the HTTP API of OpenAI, of Anthropic, or of any server that
// speaks like one of them, and over a function of yours.
//
//	model, err := llm.FromEnv(os.Getenv)
//	reply, err := step.DoWith(ctx, "model", step.Options{
//		Retry: posthouse.RetryPolicy{Max: 3, On: llm.Temporary}, Timeout: 2 * time.Minute,
//	}, func(ctx context.Context) (llm.Reply, error) {
//		return model.Complete(ctx, llm.Request{Messages: s.Messages}, step.Writer(ctx))
//	})
//
// The answer is written to the writer as it comes, and returned whole, with
// what it used. A stream that ends before its end is an error and no answer,
// so half an answer is never put on record.
//
// A client tries once. The step tries again, for errors that are [Temporary]:
// so the attempts are on record, and a restart neither forgets them nor starts
// over. Text that a failed attempt streamed stays in the stream; a reader sees
// the next attempt after it.
//
// # Keys
//
// Keys come from the environment and go into one header of a request, over
// TLS or to this machine. They are in no error, no log and no state, and a
// redirect is not followed.
package llm
