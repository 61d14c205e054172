// Package tokens keeps the access tokens of a data directory. A token says who a client
// is and what it may do.
//
//	ts, err := tokens.Open(dir, nil)
//	path, made, err := ts.First()                         // an operator's, at the first start
//	secret, err := ts.Create("alice", tokens.Approver, nil) // shown once
//	tok, ok, err := ts.Authenticate(secret)
//	err = ts.Revoke("alice", nil)
//
// A token has a name, under which what is done with it is recorded, and a [Role]:
// a [Viewer] reads, an [Approver] also decides gates, an [Operator] does
// everything, a [Worker] handles tasks and nothing else, those of the groups and names that its
// token says. It may expire. The directory keeps the hashes of the secrets, in the
// file [File], mode 0600, and when each was last used, to the minute.
//
// An approval token ([NewApproval]) is not one of these. The server keeps its hash beside
// the gate that it decides.
//
// Several processes may use one directory. A change takes a lock of the operating
// system, and each check of a token sees what others changed. While the file is
// damaged no client is authenticated. A file of a later version, or one that other users
// can reach, is refused.
package tokens
