// Package programs has the resource /api/programs: what programs are served, how they describe
// themselves, and the beginning of their runs.
//
//	ps := programs.New([]programs.Program{{Info: *refund.Describe(), Starter: refund}}, ledger, asked, runner, log)
//
// A run begins with JSON, which the program checks. It is on record when the answer goes out, and
// a runner goes on with it: the client need not stay, and a server that dies loses no run.
package programs
