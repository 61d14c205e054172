package client

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// An ApprovalToken decides one gate, once, for one person, and opens nothing else.
type ApprovalToken struct {
	Token     string              `json:"token,omitempty"` // 64 hexadecimal digits, which no later call shows
	Gate      posthouse.ID        `json:"gate"`
	For       string              `json:"for"`      // who decides by it
	By        string              `json:"by"`       // who made it
	Verdicts  []posthouse.Verdict `json:"verdicts"` // which it may give
	Shown     posthouse.Hash      `json:"shown"`    // of what the gate shows: the decision counts for that alone
	ExpiresAt time.Time           `json:"expiresAt"`
}

// ApprovalTokenOptions refine [CreateApprovalToken]. Nil is the zero value.
type ApprovalTokenOptions struct {
	For       string              `json:"for,omitempty"`      // who decides by it; default: the token's owner, another needs the role operator
	Verdicts  []posthouse.Verdict `json:"verdicts,omitempty"` // default: approve and reject
	ExpiresAt time.Time           `json:"expiresAt,omitzero"` // default: the gate's deadline, at most 7 days
}

// CreateApprovalToken makes a token that decides a gate once. Another for the same person ends the first.
func CreateApprovalToken(ctx context.Context, c *Client, gate posthouse.ID, o *ApprovalTokenOptions) (*ApprovalToken, error) {
	if o == nil {
		o = new(ApprovalTokenOptions)
	}
	t := new(ApprovalToken)
	return t, c.ask(ctx, http.MethodPost, gatePath(gate, "token"), nil, o, t)
}
