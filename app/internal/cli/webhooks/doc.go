// Package webhooks has the commands about who is told what happens: [Webhook] lists endpoints, tests
// them, sends them again what happened, checks their file, and makes secrets.
package webhooks
