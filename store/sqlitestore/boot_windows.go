package sqlitestore

// bootID is not known here.
func bootID() string { return "unknown" }
