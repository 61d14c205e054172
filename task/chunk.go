package task

import "encoding/json"

// A Chunk is text or a value that a handler or a program reports while it works. It is not
// recorded.
type Chunk struct {
	Thread string          `json:"thread"`
	Step   string          `json:"step,omitempty"`  // that reports it; "" outside of any
	Text   string          `json:"text,omitempty"`  // "" where it is a value
	Value  json.RawMessage `json:"value,omitempty"` // nil where it is text
}
