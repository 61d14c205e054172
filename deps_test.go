package posthouse_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/posthouse/posthouse"

// A law says what the shipped code of a package may import beside the standard
// library. Paths are relative to the module; one that ends in a slash stands
// for everything below it, and "*" for every package of the module.
type law struct {
	pkg    string
	inside []string // packages of this module
	third  []string // modules of others
	reason string
}

// laws holds the first match for each package, so the narrow ones come first.
var laws = []law{
	{".", []string{"internal/base/backoff", "internal/base/canon", "internal/base/strictjson", "internal/base/text", "internal/base/uuid"}, nil,
		"nouns, encodings and contracts: all that a store, a verifier or a client needs, and nothing that does I/O"},
	{"internal/encryption", []string{".", "internal/base/canon", "internal/base/delta", "internal/base/text"}, nil,
		"bodies are sealed and opened the same way for who appends and who reads"},
	{"internal/threadlog", []string{".", "grants", "internal/base/delta", "internal/encryption"}, nil,
		"a log is read the same way by who goes on from it, checks it or copies it, so reading knows no writer"},
	{"internal/core", []string{".", "internal/base/delta", "internal/base/text", "internal/encryption", "internal/threadlog"}, nil,
		"what the Ledger and its upkeep share knows none of them, or there is a circle"},
	{"internal/requesters", []string{"."}, nil, "on whose behalf a program asks is in its parts, whatever the program is"},
	{"grants", []string{"."}, nil, "what ran under an approval is read from a log alike by the Ledger and by a verifier"},
	{"deciders", []string{"."}, nil, "who may decide a gate is the same for the Ledger and for whatever offers verdicts"},
	{"runs", []string{"."}, nil,
		"the words for a run that all models share are public, so they know nothing of how one runs"},
	{"internal/base/backoff", nil, nil, "steps, tasks and calls to servers wait alike between attempts, and whoever tries them again knows nothing of the others"},
	{"internal/commit", []string{".", "deciders", "grants", "internal/base/backoff", "internal/core", "internal/base/delta", "internal/handler", "internal/threadlog", "internal/base/text", "internal/requesters"}, nil,
		"a draft, a fork, a copy and a cancellation are the same stages, so none of them may own the stages"},
	{"ledger/internal/polling", []string{"."}, nil, "a store that tells no news is asked for them: what the entries say is not its affair"},
	{"ledger", []string{".", "deciders", "grants", "internal/core", "internal/commit", "internal/handler", "internal/threadlog", "internal/base/text", "internal/requesters", "ledger/internal/polling"}, nil,
		"the front of the house: upkeep is a function over it, so it knows no upkeep"},
	{"internal/removal", []string{".", "internal/commit", "internal/core", "internal/threadlog"}, nil,
		"a thread goes the same way whether it is deleted, finished or a copy that failed"},
	{"retain", []string{".", "internal/base/text", "internal/commit", "internal/core", "internal/encryption", "internal/removal", "internal/taskslot", "internal/threadlog", "ledger"}, nil,
		"what goes is decided beside the Ledger, over the core that both share; a slot says itself whose it is"},
	{"transfer", []string{".", "internal/base/canon", "internal/commit", "internal/core", "internal/encryption", "internal/removal", "internal/threadlog", "ledger"}, nil,
		"a thread moves by its entries; a copy that failed is removed as any thread is"},
	{"diff", []string{".", "internal/core", "internal/threadlog", "ledger"}, nil, "a comparison reads"},
	{"crypt", []string{".", "internal/base/text", "internal/encryption", "ledger"}, nil,
		"keys in memory, and what wraps data keys anew; sealing is the core's"},
	{"internal/base/text", nil, nil, "what text may be in a name is the same for the root and for what checks drafts"},
	{"internal/base/canon", nil, nil, "hashes outlive every dependency"},
	{"internal/base/uuid", nil, nil, "an id's text and bytes are the same whatever it names"},
	{"internal/base/strictjson", nil, nil, "what JSON readers may take differently is refused alike by the Ledger and by HTTP"},
	{"internal/base/delta", []string{"internal/base/canon"}, []string{"github.com/klauspost/compress"},
		"how bytes are stored again in fewer bytes needs zstd and knows no noun"},
	{"internal/base/sqlschema", nil, []string{"github.com/klauspost/compress"},
		"migrations are shared by stores that may not share a driver"},
	{"internal/base/loopback", nil, nil, "what is this machine is the same for whoever listens and whoever connects"},
	{"internal/base/build", nil, nil, "a command and a server say alike what they were built from"},
	{"internal/base/prom", nil, nil, "the text format of Prometheus is small, and a client library for it would be linked into every binary"},
	{"internal/base/seldom", nil, nil, "what clients cause is logged as seldom by each server that they come to"},
	{"internal/base/filelock", nil, nil, "a lock that its holder's death gives back is the same for a store and for a file of tokens"},
	{"internal/secretfile", []string{".", "internal/base/durable"}, nil,
		"a file that is whole, durable and its owner's is the same for keys and for statements"},
	{"internal/base/durable", nil, nil, "a directory that outlives a power cut is made the same way for stores, keys and tokens"},
	{"internal/framelog", []string{".", "internal/base/canon"}, nil,
		"a file of a store is read by the store and by a command that prints it, and its format knows neither"},
	{"internal/base/groupcommit", nil, nil,
		"callers that share a commit are the same for every driver, and for the yardstick"},
	{"internal/jsontype", []string{".", "internal/base/strictjson"}, nil,
		"what JSON makes of a Go type, and loses of a value, is the same for states, results and outputs"},
	{"internal/failure", []string{".", "runs"}, nil, "what is recorded of an error knows no step"},
	{"internal/taskslot", []string{"."}, nil, "what a task's slot holds is the same for who fills it in and who removes it"},
	{"internal/handler", []string{"."}, nil, "what a handler records goes to its engine, and steps and questions know no worker"},
	{"internal/senders", []string{".", "internal/handler", "internal/requesters", "internal/threadlog"}, nil, "who sent a signal is on record, whatever runs the execution that took it"},
	{"internal/license", []string{".", "deciders", "grants", "internal/commit", "internal/handler", "internal/threadlog"}, nil,
		"what a decision licenses is the same for a program and for a handler, whoever asks"},
	{"internal/engine", []string{".", "grants", "internal/base/backoff", "internal/commit", "internal/core", "internal/engine/internal/replay", "internal/engine/session", "internal/engine/stream", "internal/failure", "internal/handler", "internal/license", "internal/senders", "internal/threadlog", "ledger", "runs"}, nil,
		"an execution is what all models share, so it may know none of them"},
	{"internal/engine/internal/replay", []string{".", "internal/threadlog"}, nil,
		"what is on record is looked up and taken, and whoever asks says what follows"},
	{"internal/engine/session", []string{".", "internal/commit", "internal/core", "internal/senders", "internal/threadlog", "ledger", "runs", "internal/requesters"}, nil,
		"a run has its lease and its head, whatever it executes"},
	{"internal/engine/stream", []string{".", "runs"}, nil,
		"a reader gets what a run sends, whatever the run is"},
	{"internal/engine/front", []string{".", "diff", "internal/base/strictjson", "internal/engine", "internal/engine/session", "internal/engine/stream", "internal/jsontype", "ledger", "runs", "transfer"}, nil,
		"callers are served alike by all models, so it may know none of them"},
	{"internal/proof/dying", []string{"."}, nil,
		"a process that is lost at an append is the same for the tests of every model"},
	{"internal/proof/stalling", []string{"."}, nil,
		"a connection that stalls is the same for the tests of every model"},
	{"internal/proof/stalling/", []string{"*"}, []string{"*"},
		"processes that are cut off from real servers; for a test and its command"},
	{"internal/baseline", []string{"internal/base/groupcommit"}, []string{"zombiezen.com/go/sqlite", "modernc.org/sqlite"},
		"the yardstick is the driver and nothing of ours"},
	{"internal/proof/service", nil, nil,
		"a private server is started the same way whatever it serves"},
	{"internal/proof/redistest", []string{"internal/proof/service"}, nil,
		"what a private Redis is, for tests only"},
	{"internal/proof/pgtest", []string{"internal/proof/service"}, nil,
		"what a private Postgres is, for tests only"},
	{"internal/proof/powercut", nil, []string{"github.com/hanwen/go-fuse"},
		"a disk that loses things knows no store; go-fuse speaks to the kernel without a helper binary"},
	{"internal/proof/powercut/", []string{"*"}, []string{"*"},
		"it loses what every store kept, by tests and commands of its own only"},
	{"internal/proof/must", nil, nil,
		"tests of any package say of errors what they must be, so it knows no package"},
	{"internal/proof/trip", nil, nil,
		"the functions that a call enters are counted alike, whatever it calls"},
	{"internal/proof/record", nil, nil,
		"what long tests found is kept and quoted the same way, whatever they try"},
	{"internal/proof/damage", []string{"internal/proof/record"}, nil,
		"what is counted and kept of damage is the same for tests of all stores, so it knows none"},
	{"internal/proof/damage/", []string{"*"}, []string{"*"}, "wiring of the same"},
	{"internal/proof/history/model", nil, []string{"github.com/anishathalye/porcupine"},
		"what a history may be is the same for the suite of stores and for clients in many processes"},
	{"internal/proof/history", []string{"*"}, []string{"*"},
		"it tries what every store promises to many at once, by tests and commands of its own only"},
	{"internal/proof/history/", []string{"*"}, []string{"*"}, "wiring of the same"},
	{"internal/proof/chaos", []string{"*"}, []string{"*"},
		"engines and workers that are killed and frozen, over servers that are; for a test and its command"},
	{"internal/proof/chaos/", []string{"*"}, []string{"*"}, "wiring of the same"},
	{"internal/proof/differential", []string{"*"}, []string{"*"},
		"it compares every store with every other, by tests and commands of its own only"},
	{"internal/proof/differential/", []string{"*"}, []string{"*"}, "wiring of the same"},
	{"internal/proof/site", []string{"*"}, []string{"*"},
		"it knows every store and every private server, for tests only"},
	{"internal/proof/shipping", nil, []string{"github.com/google/jsonschema-go", "go.yaml.in/yaml"}, "files that are released are read as they stand, by its tests"},
	{"internal/proof/certtest", nil, nil,
		"certificates are made the same way for all tests, and for tests only"},
	{"internal/proof/s3test", nil, nil,
		"a service of buckets is the same for all tests, and for tests only"},
	{"internal/proof/golden", []string{".", "ledger", "crypt", "internal/commit", "sign"}, []string{"github.com/jackc/pgx", "github.com/redis/rueidis"},
		"what is asked of stores of earlier versions is asked through the front, whatever is below; a server is given a backup by its client"},
	{"internal/proof/e2e/", []string{"*"}, []string{"*"},
		"walks through the whole house"},

	{"graph", []string{".", "diff", "graph/internal/", "internal/commit", "internal/core", "internal/engine", "internal/engine/", "internal/senders", "internal/base/strictjson", "ledger", "runs", "transfer"}, nil, "a model meets another only in the Ledger"},
	{"graph/internal/calls", []string{".", "internal/engine", "internal/engine/session", "internal/senders", "ledger", "internal/requesters"}, nil, "who called a thread is in the log, whatever the states are"},
	{"graph/internal/child", []string{".", "ledger", "internal/engine/session"}, nil, "a checkpoint made by hand goes on a branch, whatever made it"},
	{"graph/internal/edit", []string{".", "ledger", "internal/engine", "internal/senders", "graph/internal/"}, nil, "a checkpoint made by hand runs no node: it needs of the graph where its transitions lead"},
	{"graph/internal/progress", []string{".", "ledger", "graph/internal/child", "graph/internal/frontier", "graph/internal/migrate", "graph/internal/recorded"}, nil, "how far a thread is stands in the log"},
	{"graph/internal/subparts", []string{".", "ledger", "graph/internal/child", "graph/internal/calls", "graph/internal/frontier"}, nil, "what subgraphs keep has names on record, whatever runs them"},
	{"graph/internal/migrate", []string{".", "graph/internal/calls", "graph/internal/frontier", "internal/engine"}, nil, "a migration changes names and parts, and runs no node"},
	{"graph/internal/upgrade", []string{".", "ledger", "graph/internal/calls", "graph/internal/frontier", "graph/internal/migrate", "graph/internal/recorded", "graph/internal/subparts", "graph/internal/topology"}, nil, "what another version left is judged from names and types, before a node runs"},
	{"graph/internal/topology", []string{".", "internal/base/strictjson", "graph/internal/frontier", "graph/internal/migrate", "graph/internal/recorded", "graph/internal/state"}, nil, "where a graph leads is data, whatever the nodes do"},
	{"graph/internal/report", []string{".", "internal/engine/session", "internal/engine/stream", "graph/internal/state", "ledger", "runs"}, nil, "a stream is told what happened: it changes nothing of a run"},
	{"graph/internal/route", []string{"internal/engine", "graph/internal/frontier", "graph/internal/topology"}, nil, "where transitions lead is known before a node runs"},
	{"graph/internal/recorded", []string{".", "internal/engine", "internal/threadlog", "graph/internal/frontier", "graph/internal/state", "graph/internal/subparts"}, nil, "what a task left is a record, whoever takes it up"},
	{"graph/internal/frontier", []string{".", "internal/engine"}, nil, "what is yet to run is data, whatever the nodes are"},
	{"graph/internal/state", []string{".", "internal/engine", "internal/jsontype", "internal/requesters"}, nil, "how states become parts knows no node and no run"},
	{"graph/draw", []string{".", "graph"}, nil, "a picture is made from what a graph exports of itself, so a graph never knows its pictures"},
	{"flow", []string{".", "diff", "internal/engine", "internal/engine/", "internal/jsontype", "internal/base/strictjson", "ledger", "runs", "transfer"}, nil, "a model meets another only in the Ledger"},
	{"task/wire", []string{".", "internal/base/strictjson", "task"}, nil, "the calls of an engine as JSON, whatever transports them"},
	{"task/httptask", []string{".", "internal/base/loopback", "server/problem", "task", "task/wire"}, nil, "a worker links no server: what went wrong there is read as any client reads it"},
	{"task/natstask", []string{".", "task", "task/deadletter", "task/wire"}, []string{"github.com/nats-io/nats.go"},
		"requests and replies over NATS: nothing is kept there"},
	{"task/hint", []string{"."}, nil, "a hint names a task and knows nothing of it: no engine, no transport, no state"},
	{"task/deadletter", []string{"."}, nil, "what could not be used is kept alike, wherever it came from"},
	{"task/natshint", []string{".", "task/deadletter", "task/hint"}, []string{"github.com/nats-io/nats.go"},
		"hints in JetStream: only engines link it, and neither workers nor dispatch know that it is there"},
	{"task/link", []string{"task", "task/deadletter", "task/hint"}, nil, "where workers and engines meet is named alike by all that take an address, and no carrier is linked for it"},
	{"task/natslink", []string{".", "internal/base/loopback", "internal/base/seldom", "task", "task/deadletter", "task/hint", "task/link", "task/natshint", "task/natstask"}, []string{"github.com/nats-io/nats.go", "github.com/nats-io/nats-server"},
		"workers that are Go programs link task/natstask without a server; this is for binaries that may listen"},
	{"task/standalone", []string{".", "flow", "internal/commit", "ledger", "runs", "step", "task"}, nil, "a task by itself is a flow of one step: it needs no rule of its own"},
	{"task", []string{".", "internal/base/backoff", "internal/handler", "internal/base/strictjson", "internal/base/text"}, nil, "what workers and engines share knows neither of them"},
	{"worker/command", []string{".", "deciders", "internal/handler", "task", "worker"}, nil, "a handler in another language is a handler like others: it knows no engine and no transport"},
	{"worker/workertest", []string{".", "internal/handler", "task", "worker"}, nil, "a double of what handlers are given, for tests"},
	{"worker", []string{".", "internal/handler", "task"}, nil, "a handler's process needs an engine's address and nothing else"},
	{"dispatch", []string{".", "dispatch/internal/", "internal/commit", "internal/handler", "internal/license", "internal/taskslot", "ledger", "task", "task/hint"}, nil,
		"the engine's side of tasks is gates and slots: it knows no model, no transport and no worker"},
	{"dispatch/internal/board", []string{".", "task", "task/hint"}, nil,
		"which task comes first is decided in memory: the board knows no store, no session and no shared queue"},
	{"dispatch/internal/hints", []string{".", "dispatch/internal/board", "task/hint"}, nil,
		"the shared queue feeds the board: it knows no session and no log"},
	{"dispatch/internal/sessions", []string{".", "dispatch/internal/board", "internal/core", "task"}, nil,
		"a session is a worker and its liveness: it knows no claim, and of the board only how queues are named"},
	{"dispatch/internal/tasklog", []string{".", "internal/commit", "internal/handler", "internal/license", "internal/senders", "internal/threadlog", "ledger", "task", "internal/requesters"}, nil,
		"what the log says of a task is read alike for a claim, an effect and a verdict"},
	{"dispatch/internal/claims", []string{".", "dispatch/internal/board", "dispatch/internal/sessions", "dispatch/internal/tasklog", "internal/commit", "internal/core", "internal/encryption", "internal/taskslot", "ledger", "task"}, nil,
		"a claim belongs to a session and counts on the board; who tells other engines is not its affair"},
	{"dispatch/internal/control", []string{".", "dispatch/internal/", "internal/commit", "internal/taskslot", "ledger", "task"}, nil,
		"operators see what the parts of an engine have, and give no task to a worker"},
	{"step", []string{".", "internal/base/backoff", "internal/engine", "internal/engine/stream", "internal/failure", "internal/handler", "internal/jsontype", "runs"}, nil, "a model meets another only in the Ledger"},
	{"coord", []string{".", "internal/engine", "internal/engine/front", "internal/engine/session", "internal/jsontype", "ledger", "runs"}, nil, "a model meets another only in the Ledger"},
	{"gate/internal/schema", nil, nil, "schemas are code of strangers: what checks them is read in one sitting"},
	{"gate", []string{".", "deciders", "grants", "gate/internal/schema", "internal/commit", "internal/engine", "internal/handler", "internal/jsontype", "internal/license", "ledger", "runs"}, []string{"github.com/google/jsonschema-go"},
		"asking is shared by all models; the schema check is injected from here, so that the root needs no validator"},
	{"runner", []string{".", "ledger", "internal/commit", "internal/engine"}, nil,
		"it moves anything that is a Program and knows no model"},

	{"crypt/keyfile", []string{".", "crypt", "internal/secretfile"}, nil, "keys in a file know the ring they make, and nothing that is signed"},
	{"sign", []string{".", "grants", "internal/secretfile"}, nil, "a verifier must be small enough to be read in one sitting"},
	{"sign/statement", []string{".", "grants", "sign", "internal/secretfile"}, nil, "what is signed about a store is made of what a verifier knows"},
	{"store/internal/valid", []string{"."}, nil, "what no store takes is refused alike by all"},
	{"store/internal/away", []string{"."}, nil, "what a server that is gone makes of an error is the same for all stores on one"},
	{"store/internal/lifecycle", []string{"."}, nil, "closed, opened for reading and poisoned mean the same in all stores"},
	{"store/internal/newest", []string{"."}, nil, "stores without an index of activity list threads by it alike"},
	{"store/internal/servertest", []string{".", "store/internal/away", "store/storetest"}, nil, "what stores on a server promise of it is tested alike, for tests only"},
	{"store/internal/bodies", []string{"."}, nil, "how bodies are one value is the same for all that keep rows"},
	{"store/internal/slotsum", []string{"."}, nil, "the checksum of a slot is the same for all that keep one"},
	{"store/internal/terms", []string{"."}, nil, "by what lists find a checkpoint is the same for all that index it"},
	{"store/internal/wake", nil, nil, "those who wait for a commit are woken alike, and need not know what it holds"},
	{"store/internal/memindex", []string{".", "store/internal/valid", "store/internal/wake"}, nil, "an index in memory is the same wherever the entries are"},
	{"store/memstore", []string{".", "store/internal/memindex", "store/internal/valid"}, nil, "a store knows nothing of graphs, gates or other stores"},
	{"store/filestore", []string{".", "internal/base/durable", "internal/base/filelock", "internal/framelog", "internal/base/groupcommit", "store/internal/lifecycle", "store/internal/memindex", "store/internal/replay", "store/internal/valid"}, nil,
		"a store knows nothing of graphs, gates or other stores, and plain files need no driver"},
	{"store/sqlitestore/internal/db", nil, []string{"zombiezen.com/go/sqlite", "modernc.org/sqlite"},
		"how statements run is the same whatever is in the tables"},
	{"store/sqlitestore/internal/layout", []string{".", "store/internal/bodies", "store/sqlitestore/internal/db"}, []string{"zombiezen.com/go/sqlite"},
		"what a row holds is the same for what writes, lists and checks it"},
	{"store/sqlitestore/internal/lists", []string{".", "store/internal/valid", "store/sqlitestore/internal/db", "store/sqlitestore/internal/layout"}, []string{"zombiezen.com/go/sqlite"},
		"how a list is planned needs the rows, and no store"},
	{"store/sqlitestore/internal/check", []string{".", "internal/base/sqlschema", "store/sqlitestore/internal/db", "store/sqlitestore/internal/layout", "store/sqlitestore/internal/lists"}, []string{"zombiezen.com/go/sqlite"},
		"what is derived is held against the log by code that writes nothing"},
	{"store/sqlitestore", []string{".", "internal/base/delta", "internal/base/durable", "internal/base/filelock", "internal/base/groupcommit", "internal/base/sqlschema", "store/internal/bodies", "store/internal/lifecycle", "store/internal/slotsum", "store/internal/valid", "store/internal/wake", "store/sqlitestore/internal/"},
		[]string{"zombiezen.com/go/sqlite", "modernc.org/sqlite", "github.com/klauspost/compress", "golang.org/x/sys"},
		"a store knows nothing of graphs, gates or other stores"},
	{"store/pgstore/internal/wire", nil, []string{"github.com/jackc/pgx/v5"},
		"how arguments are written, which knows nothing of the tables"},
	{"store/pgstore/internal/paging", nil, nil, "how pages grow, which knows no rows"},
	{"store/pgstore/internal/recent", nil, nil, "what was read last is remembered alike, whatever it is"},
	{"store/pgstore", []string{".", "internal/base/backoff", "internal/base/groupcommit", "internal/base/sqlschema", "store/internal/", "store/pgstore/internal/"},
		[]string{"github.com/jackc/pgx", "github.com/jackc/puddle"},
		"a store knows nothing of graphs, gates or other stores; pgx pools, pipelines and listens without database/sql"},
	{"store/redisstore/internal/redis", nil, nil, "a client of one server is read in one sitting: commands, answers, and what a lost connection means"},
	{"store/redisstore", []string{".", "internal/base/backoff", "internal/base/canon", "store/internal/", "store/redisstore/internal/redis"}, nil,
		"a store knows nothing of graphs, gates or other stores; a client with generated commands takes a tenth of the time to compile the binary"},
	{"store/internal/replay", []string{".", "internal/framelog", "store/internal/memindex"}, nil, "how frames of a log become an index is the same wherever they lie"},
	{"store/natsstore/internal/embedded", []string{".", "internal/base/durable", "internal/base/filelock"}, []string{"github.com/nats-io/nats.go", "github.com/nats-io/nats-server", "github.com/minio/highwayhash"}, "the server is linked to run in this process, makes its checksums with highwayhash, and knows no stream"},
	{"store/natsstore", []string{".", "internal/base/backoff", "internal/base/canon", "internal/framelog", "store/internal/", "store/natsstore/internal/"}, []string{"github.com/nats-io/nats.go"},
		"a store knows nothing of graphs, gates or other stores"},
	{"store/s3store", []string{".", "internal/base/backoff", "internal/base/canon", "internal/framelog", "internal/base/groupcommit", "store/internal/"}, []string{"github.com/minio/minio-go"},
		"a store knows nothing of graphs, gates or other stores; minio-go is the smallest client that sends conditions with a write"},
	{"store/storetest/internal/model", []string{"."}, nil,
		"the plainest store there is, and what queries must answer by the contract's words"},
	{"store/storetest", []string{".", "store/storetest/internal/model"}, nil,
		"the suite proves the contract of the root and nothing a store adds, and a command can run it"},
	{"store/stresstest", []string{".", "store/storetest"}, nil,
		"races and random histories are cases like others, and a command can run them"},
	{"store/lineartest", []string{".", "internal/proof/history/model", "store/storetest"}, []string{"github.com/anishathalye/porcupine"},
		"what many clients saw is checked in tests: nothing that ships links the checker"},
	{"ledger/ledgertest/internal/desk", []string{".", "ledger", "crypt", "store/storetest"}, nil,
		"what cases are written with is the same for all themes"},
	{"ledger/ledgertest/internal/clocks", []string{".", "ledger", "internal/commit", "store/storetest", "ledger/ledgertest/internal/desk"}, nil,
		"the cases about clocks; deadlines end as the runner ends them"},
	{"ledger/ledgertest/internal/gates", []string{".", "deciders", "internal/commit", "internal/handler", "ledger", "retain", "ledger/ledgertest/internal/desk"}, nil,
		"the cases about gates: one decision, whoever gives it, be it a person or a worker"},
	{"ledger/ledgertest/internal/upkeep", []string{".", "internal/commit", "internal/taskslot", "ledger", "retain", "transfer", "crypt", "store/storetest", "ledger/ledgertest/internal/desk"}, nil,
		"rules about what becomes of what is there need the Ledger's upkeep, and no other theme"},
	{"ledger/ledgertest", []string{"ledger/ledgertest/internal/", "deciders", ".", "ledger", "retain", "transfer", "diff", "crypt", "internal/commit", "internal/handler", "store/storetest"}, []string{"pgregory.net/rapid"},
		"the suite proves the Ledger over any store that passes the other one"},
	{"store/local", []string{".", "store/filestore", "store/memstore", "store/sqlitestore"}, nil, "what a binary links that serves one machine"},
	{"store/all", []string{".", "store/"}, nil, "the one place that knows every store by name"},

	{"server/internal/strict", []string{".", "internal/base/strictjson"}, nil,
		"bodies of requests and the file of tokens are read by the same rules"},
	{"server/tokens", []string{".", "internal/base/filelock", "internal/secretfile", "server/internal/strict", "task"}, nil,
		"who a client is must be read in one sitting, and made without a server"},
	{"server/problem", []string{"."}, nil,
		"what went wrong is read by clients, which link no server"},
	{"server/internal/limit", []string{".", "server/problem"}, nil,
		"what clients may take is bounded the same way whatever they ask for"},
	{"server/internal/api", []string{".", "internal/base/loopback", "server/internal/limit", "server/internal/strict", "server/problem", "server/tokens"}, nil,
		"the table, its checks and its documentation know no route"},
	{"server/metrics", []string{".", "internal/base/prom"}, nil,
		"what is counted of a Ledger and of requests is made before both, so it knows neither"},
	{"server/internal/operate", []string{".", "internal/base/build", "internal/base/prom", "ledger", "server/internal/api", "server/internal/census", "server/internal/limit", "server/metrics", "server/problem", "server/tokens", "task"}, nil,
		"what operators watch and steer a process by has nothing of what its users do"},
	{"server/internal/census", []string{".", "ledger"}, nil,
		"what is open in a store is counted now and then, whoever shows it"},
	{"server/internal/feed", nil, nil, "what an agent tells is frames: it knows neither HTTP nor agents"},
	{"server/internal/session", []string{".", "internal/base/filelock", "internal/secretfile", "ledger", "server/internal/api", "server/internal/limit", "server/problem", "server/tokens"}, nil,
		"who comes back is known by cookie or token, whatever they came for"},
	{"server/internal/auth", []string{".", "internal/base/seldom", "server/internal/api", "server/internal/limit", "server/internal/session", "server/problem", "server/tokens"}, nil,
		"who sends a request is found out in one place, before any resource is asked"},
	{"server/internal/agentcall", []string{".", "gate", "ledger", "server/internal/api", "server/internal/feed", "server/internal/limit", "server/problem"}, nil,
		"what an agent works on outlives its client, whichever way that came"},
	{"server/internal/programs", []string{".", "ledger", "server/internal/agentcall", "server/internal/api", "server/problem", "server/tokens"}, nil,
		"programs are shown and begun by what they say of themselves: no model is known here"},
	{"server/internal/stream", []string{".", "ledger", "server/internal/api", "server/internal/auth", "server/internal/feed", "server/internal/limit", "server/internal/session", "server/problem", "server/tokens", "task"}, nil,
		"what stays open ends alike, and takes places of the same number"},
	{"server/internal/conversation", []string{".", "gate", "ledger", "server/internal/agentcall", "server/internal/api", "server/internal/auth", "server/internal/feed", "server/internal/session", "server/internal/stream", "server/internal/strict", "server/problem", "server/tokens"}, []string{"github.com/coder/websocket"},
		"a WebSocket is one more way to an agent: it knows no thread and no checkpoint"},
	{"server/internal/page", []string{".", "server/internal/api", "server/internal/auth", "server/internal/strict", "server/problem", "server/tokens", "ui"}, nil,
		"pages are files and the table of routes"},
	{"server", []string{".", "deciders", "grants", "internal/base/build", "internal/base/loopback", "ledger", "retain", "transfer", "diff", "gate", "server/", "sign", "task", "task/deadletter", "task/wire"}, nil,
		"HTTP in front of interfaces: never a concrete store, never a model"},
	{"ui", nil, nil, "files to embed"},

	{"app/internal/term", []string{"internal/base/text"}, []string{"github.com/rivo/uniseg"},
		"how many columns a text takes on a terminal is Unicode's to say, and changes with it"},
	{"app/internal/datadir", []string{".", "internal/base/durable", "internal/secretfile"}, nil, "where files are, and who may read them, is decided once for server and commands"},
	{"app/internal/rest", []string{".", "app/internal/address", "internal/base/loopback"}, nil, "a client of the API needs the nouns, and nothing that serves them"},
	{"app/internal/tree", []string{".", "grants", "app/internal/term", "diff"}, nil, "drawing a thread needs its nouns and a terminal"},
	{"app/internal/address", nil, nil, "an address is shown without its secrets the same way by all that show one"},
	{"app/internal/manpage", nil, []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}, "pages are written from commands, whatever they do"},
	{"app/internal/systemd", nil, nil, "a service manager is told of a server, whatever it serves"},
	{"app/internal/host", []string{".", "ledger", "retain", "crypt", "crypt/keyfile", "app/internal/address", "app/internal/datadir", "app/internal/systemd", "coord", "dispatch", "gate", "graph", "graph/draw", "runner", "server", "server/metrics", "server/tokens", "sign", "store/local", "task", "task/link", "task/standalone", "transfer"}, nil,
		"how a server is put together is the same for app.Serve and for the commands"},
	{"app/internal/scratch", []string{".", "app/internal/address"}, nil, "a user's data is left alone the same way by all that tries a server"},
	{"app/internal/conform", []string{".", "ledger", "store/storetest", "store/stresstest", "app/internal/address", "app/internal/scratch"}, nil, "a store is judged by its contract, whatever opens it"},
	{"app/internal/bench", []string{"*"}, []string{"*"}, "it measures everything"},
	{"app/internal/cli/settings", []string{".", "app/internal/address"}, []string{"github.com/spf13/pflag"}, "where a value is from is decided once for all commands"},
	{"app/internal/cli/env", []string{".", "app/internal/cli/settings", "app/internal/datadir", "app/internal/host", "app/internal/rest", "app/internal/term", "server", "server/problem", "store/local", "task/link"}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		"what commands share knows no command"},
	{"app/internal/cli/threads", []string{".", "grants", "retain", "diff", "app/internal/cli/env", "app/internal/rest", "app/internal/term", "app/internal/tree", "internal/base/text", "server", "server/problem", "server/tokens"}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		"a command that asks a server opens no store, and needs the forms of its answers only"},
	{"app/internal/cli/stores", []string{".", "ledger", "retain", "transfer", "crypt", "crypt/keyfile", "app/internal/address", "app/internal/bench", "app/internal/cli/env", "app/internal/cli/settings", "app/internal/conform", "app/internal/datadir", "app/internal/host", "app/internal/rest", "app/internal/scratch", "app/internal/term", "app/internal/tree", "internal/framelog", "server", "server/tokens", "sign", "sign/statement", "store/local"}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		"a command works on a store by its contract: never on a model or a driver"},
	{"app/internal/cli/tasks", []string{".", "app/internal/cli/env", "app/internal/rest", "app/internal/term", "app/internal/tree", "server", "server/problem", "task", "task/deadletter", "task/httptask", "task/link", "worker", "worker/command"}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		"a worker talks to an engine through a link, whatever carries it"},
	{"app/internal/cli/clitest", []string{"*"}, nil, "command lines run the same way in the tests of all packages of commands"},
	{"app/internal/cli", []string{".", "ledger", "retain", "app/internal/", "internal/base/build", "sign", "task/link"}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		"the root of the commands: it may know all of them, and never a model or a driver"},
	{"app", []string{".", "app/internal/", "coord", "flow", "graph", "internal/base/strictjson", "ledger", "retain", "runs", "server", "store/local", "task/link"}, nil,
		"wiring that users import: what it links, every binary of theirs links"},
	{"cmd/", []string{"*"}, []string{"*"}, "wiring"},
	{"examples/", []string{"*"}, []string{"*"}, "wiring"},
	{"docs/", nil, nil, "programs shown in the documentation stand on their own"},
}

// testModules may be imported by tests.
var testModules = []string{
	"github.com/nats-io", // a server in this process, and the client that examples show
	"github.com/klauspost/compress/zstd", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/rogpeppe/go-internal", "github.com/coder/websocket",
	"github.com/redis/rueidis", // a client beside store/redisstore and its own
}

// A goFile is a parsed file of this module.
type goFile struct {
	path string // slash-separated, relative to the module
	pkg  string // its directory, "." for the root
	test bool
	src  []byte
	ast  *ast.File
	fset *token.FileSet
}

func (f *goFile) at(pos token.Pos) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(pos).Line)
}

// goFiles returns the files of this module, which are read once.
func goFiles(t *testing.T) []*goFile {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine reads the whole source")
	}
	files, err := readGoFiles()
	if err != nil || len(files) == 0 {
		t.Fatalf("%d Go files, error %v", len(files), err)
	}
	return files
}

var readGoFiles = sync.OnceValues(func() (files []*goFile, err error) {
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || nested == nil) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f := &goFile{path: filepath.ToSlash(path), test: strings.HasSuffix(path, "_test.go"), fset: token.NewFileSet()}
		f.pkg = filepath.ToSlash(filepath.Dir(path))
		f.src, err = os.ReadFile(path)
		if err != nil {
			return err
		}
		f.ast, err = parser.ParseFile(f.fset, f.path, f.src, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
})

func lawFor(pkg string) *law {
	for i := range laws {
		l := &laws[i]
		if pkg == l.pkg || strings.HasSuffix(l.pkg, "/") && strings.HasPrefix(pkg+"/", l.pkg) {
			return l
		}
	}
	return nil
}

func (l *law) allows(imp string) bool {
	if rel, ok := inModule(imp); ok {
		return slices.ContainsFunc(l.inside, func(a string) bool {
			return a == "*" || a == rel || strings.HasSuffix(a, "/") && strings.HasPrefix(rel, a)
		})
	}
	return slices.ContainsFunc(l.third, func(m string) bool { return m == "*" || within(imp, m) })
}

// inModule returns the package's path relative to this module.
func inModule(imp string) (string, bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

func within(imp, mod string) bool { return imp == mod || strings.HasPrefix(imp, mod+"/") }

func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

// TestImportLawNamesEachPackageOnce refuses a second line for a package: it would never be read.
func TestImportLawNamesEachPackageOnce(t *testing.T) {
	seen := map[string]bool{}
	for i := range laws {
		l := &laws[i]
		if seen[l.pkg] {
			t.Errorf("package %s has a second line in the import law", l.pkg)
		}
		seen[l.pkg] = true
	}
}

func TestImportLaw(t *testing.T) {
	for _, f := range goFiles(t) {
		l := lawFor(f.pkg)
		if l == nil {
			t.Errorf("%s: package %s has no line in the import law; add one with its reason", f.path, f.pkg)
			continue
		}
		for _, spec := range f.ast.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if standard(imp) || imp == "C" {
				if imp == "C" {
					t.Errorf("%s imports C: the binary is built without cgo", f.at(spec.Pos()))
				}
				continue
			}
			if f.test {
				// A test may use any package below its own: examples of a model
				// need a store. It may not drag in a module for itself.
				_, ours := inModule(imp)
				if !ours && !l.allows(imp) && !slices.ContainsFunc(testModules, func(m string) bool { return within(imp, m) }) {
					t.Errorf("%s: the test imports %s, which is not among the modules for tests", f.at(spec.Pos()), imp)
				}
				continue
			}
			if !l.allows(imp) {
				t.Errorf("%s: package %s may not import %s: %s", f.at(spec.Pos()), f.pkg, imp, l.reason)
			}
		}
	}
}

func TestShippedCodeDoesNotImportTesting(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			if imp, _ := strconv.Unquote(spec.Path.Value); within(imp, "testing") {
				t.Errorf("%s imports %s: test code does not ship", f.at(spec.Pos()), imp)
			}
		}
	}
}

func TestNoInit(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: no init functions: what a program uses, it names", f.at(fn.Pos()))
			}
		}
	}
}

func generated(src []byte) bool {
	return bytes.HasPrefix(src, []byte("// Code generated ")) && bytes.Contains(src[:min(len(src), 200)], []byte("DO NOT EDIT."))
}

// TestPackagesAreDocumented asks every package for a comment.
func TestPackagesAreDocumented(t *testing.T) {
	docs := map[string]string{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		docs[f.pkg] += f.ast.Doc.Text()
	}
	for pkg, doc := range docs {
		if strings.TrimSpace(doc) == "" {
			t.Errorf("package %s has no comment; write a doc.go", pkg)
		}
	}
}

// TestNothingIsSkipped keeps a green run honest: a test may be passed over for
// -short, or for want of a browser where POSTHOUSE_REQUIRE_SERVICES does not ask
// for one, and for no other reason.
func TestNothingIsSkipped(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test && !within(f.pkg, "store/storetest") && f.pkg != "store/stresstest" && f.pkg != "store/lineartest" && !within(f.pkg, "ledger/ledgertest") {
			continue
		}
		allowed := map[ast.Node]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if cond, ok := n.(*ast.IfStmt); ok && (mentionsShort(cond.Cond) || mentionsServices(cond.Cond)) {
				for _, s := range cond.Body.List {
					if e, ok := s.(*ast.ExprStmt); ok {
						allowed[e.X] = true
					}
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || allowed[n] {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				t.Errorf("%s skips: a test that cannot run must fail and say what it needs", f.at(n.Pos()))
			}
			return true
		})
	}
}

func mentionsServices(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Value == `"POSTHOUSE_REQUIRE_SERVICES"` {
			found = true
		}
		return !found
	})
	return found
}

func mentionsShort(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Short" {
			found = true
		}
		return !found
	})
	return found
}

// TestTimeIsInjected keeps the clock in Options.Now and waiting in signals. In
// a bubble of testing/synctest time is the test's own, and a sleep waits for
// nothing.
func TestTimeIsInjected(t *testing.T) {
	for _, f := range goFiles(t) {
		wiring := strings.HasPrefix(f.pkg+"/", "app/") || strings.HasPrefix(f.pkg, "cmd/") || strings.HasPrefix(f.pkg, "examples/") || f.pkg == "internal/proof/e2e"
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if ok && x.Name == "synctest" && sel.Sel.Name == "Test" {
				return false
			}
			if !ok || x.Name != "time" {
				return true
			}
			switch {
			case sel.Sel.Name == "Sleep":
				t.Errorf("%s sleeps: wait for a signal, or use testing/synctest", f.at(n.Pos()))
			case sel.Sel.Name == "Now" && !f.test && !wiring:
				t.Errorf("%s reads the clock: time comes from Options.Now", f.at(n.Pos()))
			}
			return true
		})
	}
}
