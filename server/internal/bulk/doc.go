// Package bulk has the resources /api/bulk/resume, /api/bulk/cancel and /api/bulk/release: one request
// about all threads that a filter names, with a report of what was done to each, and of what failed.
//
// A request takes a bounded number of threads, in the order of their names; next goes on after them. So
// a client shows progress, and one that leaves has done what its last report says, and nothing more than
// the rest of its last request.
package bulk
