// Package lists finds checkpoints: it plans and runs the lists of a store.
//
// A list across threads starts with a scan in order. Runs, graphs, nodes, agents and
// labels have index terms: one row for each segment of a thread's log that has the
// term. Once the scan has passed over more checkpoints than there are segments, the
// list reads the segments, merged (docs/adr/0002 says why). [Written], [Terms] and
// [Fill] maintain the rows.
package lists
