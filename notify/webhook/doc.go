// Package webhook is the channel of package notify to an HTTP receiver, by the Standard Webhooks
// specification, and what a receiver in Go checks messages with.
//
//	hook, err := webhook.New(&webhook.Options{URL: "https://ops.example.com/hook", SecretFile: "ops.secret"})
//	n, err := notify.New(led, []notify.Endpoint{{Name: "ops", Channel: hook}}, nil)
//
// A message is a POST with an event as JSON and three headers: webhook-id, which is the same for each
// attempt, webhook-timestamp, the time of the attempt in Unix seconds, and webhook-signature, one
// "v1," and HMAC-SHA256 for each secret, separated by spaces. The HMAC is of id, timestamp and body,
// joined by dots.
//
// # Answers
//
// Any status from 200 to 299 says that the receiver has the message. 410 says that it wants no more:
// the endpoint stops. All others, redirects included, are failures, and the message is tried again;
// Retry-After is heeded. At most 64 KiB of an answer are read, and nothing of it is kept.
//
// # Where it connects
//
// Each connection is checked by the address that it goes to, after the name was resolved: private,
// loopback, link-local and other special addresses are refused unless Options.Allow has them. So a name
// that changes its address in between leads nowhere else. Proxies of the environment are not used.
package webhook
