package filestore

// WithSegment returns options for small segments of the journal.
func WithSegment(size int64) *Options { return &Options{segment: size} }

// WaitForDrains returns when no segment of the journal is being drained.
func (s *Store) WaitForDrains() { s.drains.wait() }

// SyncData is how the store syncs a file.
var SyncData = syncData
