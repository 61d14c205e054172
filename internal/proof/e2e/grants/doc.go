// Package grants holds random tests of what an approval licenses: random programs with
// effects, carried out in place and by workers, for the items of a Map, in a Select, beside steps
// that fail and in nodes with a time limit, and random people who ask, change, fork, approve,
// repair, release, delete and move threads to another store. A witness outside of the programs sees each effect. The rules that it
// checks are those of docs/approvals.md.
//
//	go test ./internal/proof/e2e/grants
//	go test ./internal/proof/e2e/grants -run TestApprovals$ -cases 10000 -seed 7 -record
//
// It has no code that ships.
package grants
