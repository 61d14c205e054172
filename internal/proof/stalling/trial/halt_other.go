//go:build !unix

package trial

import "os"

// halt can stop no process here.
func halt(*os.Process, bool) bool { return false }

// halts says that halt can.
const halts = false
