package client

import "strings"

// A Usage is what a thread used of models, by the notes on record: the answer of [Client.Get] for
// ThreadPath(thread, "usage").
type Usage struct {
	UsageSum
	Models []ModelUsage `json:"models"`         // by model, in the order of their names
	More   bool         `json:"more,omitempty"` // the thread has more entries than were read
}

// A ModelUsage is what was used of one model.
type ModelUsage struct {
	Model string `json:"model"` // "" for notes that name none
	UsageSum
}

// A UsageSum adds up calls.
type UsageSum struct {
	Calls        int   `json:"calls"`
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
	Costs        []struct {
		Amount string `json:"amount"` // exactly, with a point
		Unit   string `json:"unit"`   // as the program wrote it
	} `json:"costs"`
	Unread int `json:"unread,omitempty"` // costs that are no amount with a unit
}

// CostText is the costs in one line, such as 0.71 USD, 3 EUR.
func (s *UsageSum) CostText() string {
	all := make([]string, len(s.Costs))
	for i, c := range s.Costs {
		all[i] = strings.TrimSpace(c.Amount + " " + c.Unit)
	}
	return strings.Join(all, ", ")
}
