// Package settings reads the flags of a command from the environment: POSTHOUSE_ variables,
// files that such variables name, and the variables of the field that a flag falls back on. It
// says of each flag where its value is from, and which POSTHOUSE_ variables name no setting.
package settings
