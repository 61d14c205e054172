package filelock

// bootID is unknown on this system.
func bootID() string { return "unknown" }
