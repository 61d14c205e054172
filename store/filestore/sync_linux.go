package filestore

import (
	"errors"
	"os"
	"syscall"
)

// syncData makes a file's content and length durable, and not its times: that saves a
// write where the length did not change.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
