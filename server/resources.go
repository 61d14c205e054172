package server

import (
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/server/internal/access"
	"github.com/posthouse/posthouse/server/internal/accounts"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/audit"
	"github.com/posthouse/posthouse/server/internal/bulk"
	"github.com/posthouse/posthouse/server/internal/conversation"
	"github.com/posthouse/posthouse/server/internal/files"
	"github.com/posthouse/posthouse/server/internal/letters"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/internal/lookup"
	"github.com/posthouse/posthouse/server/internal/operate"
	"github.com/posthouse/posthouse/server/internal/outline"
	"github.com/posthouse/posthouse/server/internal/page"
	"github.com/posthouse/posthouse/server/internal/people"
	"github.com/posthouse/posthouse/server/internal/probe"
	"github.com/posthouse/posthouse/server/internal/programs"
	"github.com/posthouse/posthouse/server/internal/proof"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/internal/stream"
	"github.com/posthouse/posthouse/server/internal/webhooks"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// A resource is a noun of the API. Its routes and their handlers are in the file of its name,
// and it holds only what these use.
type resource interface {
	Routes() []*api.Route
}

// newResources makes all resources, in the order in which their routes are documented. The
// options are complete.
func (s *Server) newResources(o *Options) []resource {
	l, limits := o.Ledger, &o.Limits
	traces, _ := traceid.ParseLink(o.TraceURL) // it is checked
	waits := &outcomes{ledger: l, runner: o.Runner, timeout: s.timeout}
	requests := &recovery{ledger: l, request: o.Recover}
	streams := &stream.Streams{
		Quota:           limit.NewQuota(s.life, limit.Bounds{All: limits.Streams, Token: limits.TokenStreams, Noun: "streams", Held: "streams open"}),
		Unauthenticated: limit.NewUnauthenticated(s.life, max(limits.Streams/10, 1)),
		Unread:          limit.NewUnread(limits.Unread, 8*limits.Unread),
		Life:            s.life,
	}
	calls := &agentcall.Calls{
		Agents: adaptAgents(o.Agents), Known: agentcall.NewRegistry(o.Now, limits.Concurrency), Timeout: limits.Call, Ledger: l, Life: s.life, Log: o.Logger,
		Quota: limit.NewQuota(s.life, limit.Bounds{All: limits.Concurrency, Token: limits.TokenConcurrency, Noun: "requests", Held: "requests that are worked on"}),
	}
	keys := agentcall.NewKeys(calls, s.keys)
	sessions := &session.Sessions{
		Store: session.NewStore(l.Store(), o.Now, limits.Client, limits.Clients), Ledger: l, Running: calls.Known.Working,
		Life: s.life, Log: o.Logger, Now: o.Now, TTL: limits.Client,
	}
	tools := conversation.NewToolApprovals(l)
	s.tokens = &approvalTokens{ledger: l, recovery: requests, auth: s.auth, notifier: o.Notifier, now: o.Now}
	s.events = &stream.Events{Ledger: l, Sessions: sessions, Streams: streams, Auth: s.auth}
	served := make([]programs.Program, len(o.Programs))
	for i, p := range o.Programs {
		served[i] = programs.Program(p)
	}
	gauged, _ := o.Tasks.(task.Gauged)
	watched := &operate.Watched{Counts: o.Metrics, Ledger: l, Tasks: gauged, Streams: streams.Quota, Notifier: o.Notifier, Version: o.Version, Now: o.Now, Life: s.life}
	asked, book := inbox.NewMemory(0), accounts.New(l)
	names := people.NewNames(l, asked, o.Tokens, s.life, o.Now, o.SignIn != nil)
	s.auth.Ended = func(t tokens.Token) bool { return book.HasEnded(s.life.Work(), t) }
	rs := []resource{
		// /api/programs
		programs.New(served, l, asked, o.Runner, o.Logger),
		// /api/checkpoints, /api/diff; resume and replay below /api/gates/{id}
		&checkpoints{ledger: l, runner: o.Runner, outcomes: waits, pageBytes: limits.Page, traces: traces},
		// /api/gates; approve, reject and so on below /api/checkpoints/{id}
		&gates{ledger: l, asked: asked, outcomes: waits, recovery: requests},
		// /api/people; /api/gates/{id}/delegate, /api/gates/{id}/take-back
		names, people.NewDelegations(l, names), accounts.NewRoutes(book, s.auth, o.Logger),
		// /api/substitutes; /api/waits, /api/processes
		people.NewSubstitutes(l, names), people.NewWaits(l, asked),
		// /api/gates/{id}/token, /api/gates/{id}/decide-by-token
		s.tokens,
		// /api/gates/{id}/grant, /api/threads/{id}/effects
		&effects{ledger: l},
		// /api/approvals
		&approvals{ledger: l, tools: tools},
		// /api/threads, /api/coordinations
		&threads{ledger: l, pageBytes: limits.Page},
		// /api/bulk
		bulk.New(l, o.Runner, s.timeout),
		// /api/verifications, /api/keys, /api/witness, /api/threads/{id}/export
		proof.New(l, o.PublicKeys, s.life, o.Now),
		// /api/audit; /api/files, /api/threads/{id}/outline; /api/find
		audit.New(l, s.life, o.Now), files.New(o.Scratch, o.PublicKeys), outline.New(l), lookup.New(l),
		// /api/threads/{id}/releases, /api/threads/{id}/copy; /api/threads/{id}/hold
		&releases{ledger: l}, &holds{ledger: l},
		// /api/threads/{id}/signals, /api/threads/{id}/cancel
		&signals{ledger: l},
		// /api/retain
		&retention{ledger: l, timeout: s.timeout},
		// /api/session
		sessions,
		// /api/tasks, /api/queues; POST /api/tasks, /api/standalone
		&tasks{control: o.Tasks}, &operate.Queues{Tasks: gauged, Now: o.Now}, &standaloneTasks{starter: o.Starter},
		// /api/dead-letters
		&letters.Letters{Box: o.Letters},
		// /api/tokens
		access.New(o.Tokens, s.auth, o.Logger, o.Now),
		// /api/webhooks, /api/gates/{id}/deliveries
		&webhooks.Webhooks{Notifier: o.Notifier, Gate: l.Gate}, &webhooks.Channels{Notifier: o.Notifier},
		// /api/workers, /api/worker
		&workers{tasks: o.Tasks, streams: streams, timeout: s.timeout},
		// /api/agents, /api/run
		&agents{
			calls: calls, keys: keys,
			sessions: sessions, streams: streams, outcomes: waits, auth: s.auth, timeout: s.timeout,
		},
		// /agent, /atmosphere/agent
		&conversation.Sockets{Calls: calls, Sessions: sessions, Tools: tools, Auth: s.auth, Streams: streams, TokenWait: limits.Token, Now: o.Now},
		// /api/events
		s.events,
		// /healthz, /readyz
		probe.New(o.Ledger, o.Ready, o.Now, o.Logger),
		// /metrics, /api/status
		operate.NewMetrics(watched), operate.NewStatus(watched),
		// /api/log-level
		&operate.LogLevel{Level: o.LogLevel, Log: o.Logger},
		// /api/me, /api/encryption, /openapi.json, /version
		s.about,
		// /, /gates/{id}, /docs, /login, /logout and the files of the pages
		s.pages,
	}
	if o.SignIn != nil { // /login/begin, /login/callback
		key, err := session.SignInKey(o.Tokens.Dir())
		if err != nil {
			o.Logger.Warn("the key of logins by a provider cannot be kept: a login has to end at the server where it began", "error", err)
		}
		rs = append(rs, page.NewSignIn(o.SignIn, s.auth, book, s.pages, key, o.Logger, o.Now))
	}
	if o.Profiles {
		rs = append(rs, operate.Profiles{}) // /debug/pprof
	}
	return rs
}
