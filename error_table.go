package posthouse

// What each code means outside Go: the status of an HTTP answer and the exit
// code of the command line. docs/errors.md prints this table; a test compares.
var errorTable = map[Code]struct{ status, exit int }{
	CodeInvalid:     {400, ExitUsage},
	CodeForbidden:   {403, ExitForbidden},
	CodeNotFound:    {404, ExitNotFound},
	CodeExists:      {409, ExitConflict},
	CodeConflict:    {409, ExitConflict},
	CodeFenced:      {409, ExitConflict},
	CodeBusy:        {409, ExitConflict},
	CodeDecided:     {409, ExitConflict},
	CodeVoted:       {409, ExitConflict},
	CodeAmbiguous:   {409, ExitConflict},
	CodeCancelled:   {409, ExitConflict},
	CodeExpired:     {410, ExitExpired},
	CodeTooLarge:    {413, ExitUsage},
	CodeCorrupt:     {500, ExitCorrupt},
	CodeNewer:       {500, ExitUnavailable},
	CodeUnsupported: {501, ExitFailure},
	CodeSealed:      {503, ExitUnavailable},
	CodeReadOnly:    {503, ExitUnavailable},
	CodeLocked:      {503, ExitUnavailable},
	CodeUnknown:     {503, ExitUnavailable},
	CodeClosed:      {503, ExitUnavailable},
	CodeFull:        {507, ExitUnavailable},
}

// The exit codes of the command line.
const (
	ExitOK          = 0
	ExitFailure     = 1 // the work that was followed failed; or anything without a code of its own
	ExitUsage       = 2 // the command line or the input is wrong
	ExitNotFound    = 3
	ExitConflict    = 4 // something else won: exists, conflict, fenced, busy, decided, ambiguous, cancelled
	ExitExpired     = 5
	ExitForbidden   = 6 // not allowed, or no valid token
	ExitUnavailable = 7 // the store cannot be used now: locked, sealed, read-only, full, closed, unknown, newer-schema
	ExitCorrupt     = 8 // damage, or verify found faults
)

// HTTPStatus returns the status of an HTTP answer that reports the code: 500
// for a code that is not one of the constants.
func (c Code) HTTPStatus() int {
	if t, ok := errorTable[c]; ok {
		return t.status
	}
	return 500
}

// ExitCode returns the command line's exit code for the code: [ExitFailure] for
// one that is not among the constants.
func (c Code) ExitCode() int {
	if t, ok := errorTable[c]; ok {
		return t.exit
	}
	return ExitFailure
}
