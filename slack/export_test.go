package slack

import "time"

// SetPatience has answers to Slack wait no longer than d.
func (a *App) SetPatience(d time.Duration) { a.patience = d }
