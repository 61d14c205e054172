package task

import "encoding/json"

// A Chunk is what a handler streams. It is not recorded.
type Chunk struct {
	Thread string          `json:"thread"`
	Step   string          `json:"step"` // of the task in it
	Value  json.RawMessage `json:"value"`
}
