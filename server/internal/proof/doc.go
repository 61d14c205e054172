// Package proof has the resources that show what is on record and who signed it: /api/verifications,
// /api/keys, /api/witness, /api/threads/{id}/export and /api/threads/{id}/entries/{seq}.
//
// A verification walks the whole store, so it is a job: one at a time, with its progress, and with a
// report at its end. Jobs are kept in memory; what they found can be found again.
package proof
