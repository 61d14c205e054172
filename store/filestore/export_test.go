package filestore

// WithSegment returns options for small segments of the journal.
func WithSegment(size int64) *Options { return &Options{segment: size} }
