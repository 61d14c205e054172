package control

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/hints"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// Options are needed by a [Control], all of them.
type Options struct {
	Ledger   *ledger.Ledger
	Slots    *claims.Slots
	Sessions *sessions.Sessions
	Claims   *claims.Claims
	Board    *board.Board
	Hints    *hints.Queue

	Opened  func(g *posthouse.Gate) // is called with each task that an operator has opened
	Decided func(gate posthouse.ID) // is called with the gate of each that an operator has replaced
}

// A Control is for the operators of one engine. It is safe for concurrent use.
type Control struct {
	ledger   *ledger.Ledger
	core     *commit.Committer
	slots    *claims.Slots
	sessions *sessions.Sessions
	claims   *claims.Claims
	board    *board.Board
	hints    *hints.Queue
	opened   func(*posthouse.Gate)
	decided  func(posthouse.ID)
}

var _ task.Control = (*Control)(nil)

// New returns a Control.
func New(o Options) *Control {
	return &Control{
		ledger: o.Ledger, core: o.Ledger.Core(), slots: o.Slots, sessions: o.Sessions, claims: o.Claims, board: o.Board, hints: o.Hints,
		opened: o.Opened, decided: o.Decided,
	}
}
