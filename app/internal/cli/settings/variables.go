package settings

import "github.com/spf13/pflag"

// A Known is a variable that is read, by us or by a library that we link, and is no flag's.
type Known struct{ Name, Group, Help string }

// The groups of variables that are no flag's.
const (
	ours      = "Posthouse's own"
	fallbacks = "Of hosting platforms"
	system    = "Of the system"
	libraries = "Of what Posthouse talks to"
	commands  = "Set for the commands of workers"
)

// Variables returns all variables that are no flag's, by group.
func Variables() []Known {
	return []Known{
		{tokenVariable, ours, "the access token itself, for commands, where no file is named. A context's server never gets it"},
		{VariableOf("store") + fileSuffix, ours, "a file with the store's address on one line, for one with a password in it; an error beside " + VariableOf("store")},
		{VariableOf("nats") + fileSuffix, ours, "a file with the NATS servers' address on one line; an error beside " + VariableOf("nats")},

		{DatabaseURL, fallbacks, "the store, where nothing else names one and the data directory has no store of its own: postgres://, postgresql://, redis://, rediss://, nats:// or s3://"},
		{RedisURL, fallbacks, "the store by the same rule, where DATABASE_URL is not set: redis:// or rediss://"},
		{NATSURL, fallbacks, "NATS servers, for serve without --nats-listen"},
		{Port, fallbacks, "the port of --addr, for serve, dev and health"},

		{"XDG_CONFIG_HOME", system, "where posthouse/config.yaml is; ~/.config unless it is set"},
		{"XDG_DATA_HOME", system, "where the data directory posthouse is; ~/.local/share unless it is set"},
		{"HOME", system, "where both are unless those are set"},
		{"LocalAppData", system, "where the data directory is on Windows"},
		{"NO_COLOR", system, "set to anything: no colours"},
		{"TERM", system, "dumb: no colours"},
		{"NOTIFY_SOCKET", system, "systemd's: serve tells it when it is ready and when it ends"},
		{"GOGC", system, "Go's: how often memory is collected. Without it and GOMEMLIMIT the heap has some room from the start"},
		{"GOMEMLIMIT", system, "Go's: how much memory the process should stay within"},
		{"SSL_CERT_FILE", system, "Go's: certificates that other servers are trusted by"},
		{"HTTPS_PROXY", system, "Go's, and HTTP_PROXY and NO_PROXY beside it: the way of commands to a server"},

		{"AWS_ACCESS_KEY_ID", libraries, "of a store in a bucket, with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; else those of the AWS configuration or of the instance"},
		{"AWS_ENDPOINT_URL_S3", libraries, "the server of buckets, where the address of the store names none"},
		{"AWS_REGION", libraries, "the region of buckets, where the address of the store names none"},
		{"PGHOST", libraries, "of a store in Postgres, with the other variables of libpq, for what its address leaves out"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", libraries, "where traces and metrics go, in released binaries; with the other OTEL_ variables of OTLP over HTTP"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", libraries, "http/protobuf, the only one that is spoken"},
		{"OTEL_TRACES_EXPORTER", libraries, "otlp or none; OTEL_METRICS_EXPORTER likewise"},
		{"OTEL_SDK_DISABLED", libraries, "true: nothing is exported"},

		{"POSTHOUSE_TASK_NAME", commands, "the name of the task"},
		{"POSTHOUSE_TASK_KEY", commands, "what an outside service may take for a key, so that it does a thing once"},
		{"POSTHOUSE_TASK_THREAD", commands, "the thread that waits for it"},
		{"POSTHOUSE_TASK_STEP", commands, "the step that waits for it"},
		{"POSTHOUSE_TASK_ATTEMPT", commands, "which attempt it is, from 1"},
		{"POSTHOUSE_TASK_ITERATION", commands, "how often the handler went on with it, from 0"},
	}
}

// FallbacksOf returns the variables that a flag falls back on, the first that counts first.
func FallbacksOf(f *pflag.Flag) []string {
	by := f.Annotations[fallbackKey]
	switch {
	case len(by) == 0:
		return nil
	case by[0] == DatabaseURL:
		return []string{DatabaseURL, RedisURL}
	}
	return by[:1]
}

// FileVariableOf returns the variable that names a file with a flag's value, "" if there is no such variable.
func FileVariableOf(flag string) string {
	if !secret(flag) {
		return ""
	}
	return VariableOf(flag) + fileSuffix
}
