// Package s3test is a service of buckets in memory, over HTTP in the test's own process. It
// does what a store needs: objects with tags, conditions of writes, ranges and lists.
//
//	server := s3test.New(t)
//	url := server.URL("bucket", "prefix") // s3://bucket/prefix?endpoint=...
//
// It is strict: a request that it does not know fails, and so does a body that does not
// have the checksum it came with. A [Fault] makes it fail as services do.
package s3test
