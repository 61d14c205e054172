// Package durable makes directories and names of files that are there after a
// power cut.
//
// A file system may keep a file's bytes and lose its name: on one that promises
// no more than POSIX, a name is on the disk once the directory that holds it was
// synced, and so is that directory's own name. So a new directory is made by
//
//	err := durable.Dirs{}.MakeAll(dir, 0o700)
//
// which syncs each directory that it makes, and the parent that holds its name.
// Call [Dirs.Sync] after a file was made, renamed or removed. Ext4 and xfs carry
// names along with the file that is synced; others need not.
//
// On Windows there is no such call, and NTFS keeps names in its journal.
package durable
