package sqlitestore

// Commits returns how many transactions the store has committed since it was
// opened. With [SyncFull] each of them was one sync of the write-ahead log, so
// appends divided by commits is how many shared a sync.
func (s *Store) Commits() uint64 { return s.commits.Load() }
