// Package examples has bodies and answers that /openapi.json shows: one story, of the refund of order
// 1234, from its begin to its end.
package examples
