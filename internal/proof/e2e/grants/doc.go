// Package grants holds random tests of what an approval licenses: random programs with
// effects, carried out in place and by workers, and random people who ask, change, fork,
// approve and repair. A witness outside of the programs sees each effect. The rules that it
// checks are those of docs/approvals.md.
//
//	go test ./internal/proof/e2e/grants
//	go test ./internal/proof/e2e/grants -run TestApprovals$ -cases 10000 -seed 7 -record
//
// It has no code that ships.
package grants
