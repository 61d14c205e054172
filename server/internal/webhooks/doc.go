// Package webhooks has the resource /api/webhooks: who is told what happens, and how that goes.
package webhooks
