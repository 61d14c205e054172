//go:build !unix

package chaos

import "errors"

// halt can stop no process here.
func (p *process) halt() error { return errors.ErrUnsupported }

func (p *process) thaw() error { return errors.ErrUnsupported }
