package inbox

import (
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
)

// A Memory keeps in main memory what walks and lists have read of questions, so that the next [Walk] or list of
// decisions reads only threads with new entries. It is safe for concurrent use.
//
// It knows a thread by the hash that the next entry would link to ([posthouse.ThreadInfo.Link]), which is
// over the thread's name and all its entries: an entry more, and the thread is read again. So it cannot
// disagree with the log, whichever process appends or deletes, and a thread that the store no longer lists is not
// looked for. It does not notice by itself that what it has read can no longer be opened, as after a
// key was destroyed.
type Memory struct {
	most int

	mu      sync.Mutex
	threads map[posthouse.Hash]*cachedThread
	quiet   map[posthouse.Hash]uint64 // logs without a decision, of one stretch, with the newest walk that came by
	size    int
	walks   uint64 // that began
	cleared uint64 // the walk for which room was made last
}

// DefaultMemory is for how many bytes a Memory has room unless it is said: about 800,000 threads without
// questions, or 40,000 questions.
const DefaultMemory = 64 << 20

// NewMemory returns a Memory with room for about so many bytes, [DefaultMemory] for 0. When it is full it
// forgets what the newest walks had no use for; if that is nothing, it takes nothing more.
func NewMemory(most int) *Memory {
	if most <= 0 {
		most = DefaultMemory
	}
	return &Memory{most: most, threads: map[posthouse.Hash]*cachedThread{}, quiet: map[posthouse.Hash]uint64{}}
}

// Size returns how many threads the Memory knows, and about how many bytes that takes. A thread with open gates
// counts twice if it has no decisions.
func (m *Memory) Size() (threads, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.threads) + len(m.quiet), m.size
}

// A cachedThread is what a Memory has of a thread. Its fields are the Memory's to change; what they lead to never
// changes.
type cachedThread struct {
	used      uint64 // the newest walk that came by
	link      posthouse.Hash
	size      int
	stretches []*stretch // of its log, from the end
	settled   map[recordRef]*decidedGate
	open      map[posthouse.ID]*posthouse.Gate
}

// A recordRef names a record of a log.
type recordRef struct {
	seq    uint64
	record int
}

// A decidedGate is a gate with its decision, without what was asked.
type decidedGate struct {
	gate    *posthouse.Gate
	program string // that asked, once it was looked for
	asked   bool
}

// Sizes in bytes, without texts.
const (
	sizeOfQuiet    = 80
	sizeOfKnown    = 160
	sizeOfStretch  = 150
	sizeOfNumber   = 8
	sizeOfItem     = 200 // a decision in a stretch, an assignment, a requester
	sizeOfDecision = 380 // or a vote
	sizeOfGate     = 900
	sizeOfName     = 24
)

// recentWalks is how many walks do not forget what one of them used. A report is two of them.
const recentWalks = 8

// begin says that a walk begins.
func (m *Memory) begin() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.walks++
}

// thread returns what is known of a thread with this link, to be added to. It is nil without a Memory.
func (m *Memory) thread(link posthouse.Hash) *cachedThread {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.threads[link]
	if k == nil {
		k = &cachedThread{link: link}
	}
	k.used = m.walks
	return k
}

// log is thread for the log of a thread alone.
func (m *Memory) log(link posthouse.Hash) *cachedThread {
	if m == nil {
		return nil
	}
	if k := m.quietLog(link); k != nil {
		return k
	}
	return m.thread(link)
}

// quietLog returns a log of one stretch without decisions, if that is known of the thread.
func (m *Memory) quietLog(link posthouse.Hash) *cachedThread {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.quiet[link]; !ok {
		return nil
	}
	m.quiet[link] = m.walks
	return &cachedThread{link: link, stretches: noDecision[:]}
}

var noDecision = [1]*stretch{{}}

// knows reports whether the end of a thread's log is known.
func (m *Memory) knows(link posthouse.Hash) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.quiet[link]; ok {
		return true
	}
	k := m.threads[link]
	return k != nil && len(k.stretches) > 0
}

func (m *Memory) stretch(k *cachedThread, n int) *stretch {
	if k == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < len(k.stretches) {
		return k.stretches[n]
	}
	return nil
}

func (m *Memory) keepStretch(k *cachedThread, n int, p *stretch) {
	if k == nil {
		return
	}
	if n == 0 && p.to == 0 && len(p.decisions) == 0 {
		m.keepQuiet(k.link)
		return
	}
	p = p.clone()
	size := sizeOfStretch + sizeOfNumber*len(p.removals)
	for i := range p.decisions {
		d := p.decisions[i].info
		size += sizeOfItem + len(d.Gate) + len(d.By)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k = m.current(k)
	if n == len(k.stretches) && m.add(k, size) {
		k.stretches = append(k.stretches, p)
	}
}

func (m *Memory) keepQuiet(link posthouse.Hash) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.quiet[link]; !ok && m.room(sizeOfQuiet) {
		m.quiet[link] = m.walks
		m.size += sizeOfQuiet
	}
}

func (m *Memory) settled(k *cachedThread, at spot) *decidedGate {
	if k == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return k.settled[recordRef{at.seq, at.record}]
}

func (m *Memory) keepSettled(k *cachedThread, at spot, g *decidedGate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k = m.current(k)
	key := recordRef{at.seq, at.record}
	if k.settled[key] != nil || !m.add(k, sizeOf(g.gate)) {
		return
	}
	if k.settled == nil {
		k.settled = map[recordRef]*decidedGate{}
	}
	k.settled[key] = g
}

func (m *Memory) program(g *decidedGate) (string, bool) {
	if m == nil {
		return "", false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return g.program, g.asked
}

func (m *Memory) keepProgram(k *cachedThread, g *decidedGate, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !g.asked && m.add(m.current(k), len(name)) {
		g.program, g.asked = strings.Clone(name), true
	}
}

func (m *Memory) openGate(k *cachedThread, id posthouse.ID) *posthouse.Gate {
	m.mu.Lock()
	defer m.mu.Unlock()
	return k.open[id]
}

func (m *Memory) keepOpen(k *cachedThread, g *posthouse.Gate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k = m.current(k)
	if k.open[g.ID] != nil || !m.add(k, sizeOf(g)) {
		return
	}
	if k.open == nil {
		k.open = map[posthouse.ID]*posthouse.Gate{}
	}
	k.open[g.ID] = g
}

// current returns k, or what another walk knows of the thread.
func (m *Memory) current(k *cachedThread) *cachedThread {
	if have := m.threads[k.link]; have != nil {
		return have
	}
	return k
}

// add counts so many bytes more of a thread, which is known from then on, and reports whether there is room.
func (m *Memory) add(k *cachedThread, size int) bool {
	k.used = m.walks
	in := m.threads[k.link] != nil
	if !in {
		size += sizeOfKnown
	}
	if !m.room(size) {
		return false
	}
	m.threads[k.link] = k
	m.size += size
	k.size += size
	return true
}

// room makes room for so many bytes, and reports whether there is.
func (m *Memory) room(size int) bool {
	if m.size+size <= m.most {
		return true
	}
	if m.cleared == m.walks {
		return false
	}
	m.cleared = m.walks
	for link, k := range m.threads {
		if k.used+recentWalks <= m.walks {
			delete(m.threads, link)
			m.size -= k.size
			*k = cachedThread{link: link} // a walk that has it adds to nothing that is not counted
		}
	}
	for link, used := range m.quiet {
		if used+recentWalks <= m.walks {
			delete(m.quiet, link)
			m.size -= sizeOfQuiet
		}
	}
	return m.size+size <= m.most
}

// bare returns what a gate says of people and times, with nothing of what is asked and answered.
func bare(g *posthouse.Gate) *posthouse.Gate {
	c := &posthouse.Gate{
		ID: cloneID(g.ID), Thread: strings.Clone(g.Thread), Branch: strings.Clone(g.Branch), Checkpoint: cloneID(g.Checkpoint), Hash: g.Hash, Seq: g.Seq,
		Name: strings.Clone(g.Name), Kind: strings.Clone(g.Kind), Verdicts: slices.Clone(g.Verdicts), Assignees: cloneAll(g.Assignees),
		RequestedBy: strings.Clone(g.RequestedBy), AllowRequest: g.AllowRequest, CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt,
		Supersedes: cloneID(g.Supersedes), Origin: cloneID(g.Origin),
	}
	for _, r := range g.Requesters {
		c.Requesters = append(c.Requesters, posthouse.Requester{Name: strings.Clone(r.Name), How: strings.Clone(r.How), At: r.At})
	}
	if g.Quorum != nil {
		q := *g.Quorum
		c.Quorum = &q
	}
	if e := g.Escalation; e != nil {
		c.Escalation = &posthouse.Escalation{At: e.At, To: cloneAll(e.To), Replace: e.Replace}
	}
	for i := range g.Votes {
		c.Votes = append(c.Votes, *bareDecision(&g.Votes[i]))
	}
	for i := range g.Assignments {
		a := g.Assignments[i]
		a.Gate, a.By, a.Actor, a.To, a.Reason = cloneID(a.Gate), strings.Clone(a.By), strings.Clone(a.Actor), cloneAll(a.To), ""
		a.Substitution = cloneID(a.Substitution)
		c.Assignments = append(c.Assignments, a)
	}
	if g.Decision != nil {
		c.Decision = bareDecision(g.Decision)
	}
	return c
}

func bareDecision(d *posthouse.Decision) *posthouse.Decision {
	return &posthouse.Decision{
		Gate: cloneID(d.Gate), Verdict: d.Verdict, By: strings.Clone(d.By), For: strings.Clone(d.For), Actor: strings.Clone(d.Actor),
		Successor: cloneID(d.Successor), At: d.At, Seq: d.Seq, Trail: d.Trail,
	}
}

func cloneID(id posthouse.ID) posthouse.ID { return posthouse.ID(strings.Clone(string(id))) }

func cloneAll(names []string) (all []string) {
	for _, n := range names {
		all = append(all, strings.Clone(n))
	}
	return all
}

// sizeOf returns about how many bytes a bare gate takes.
func sizeOf(g *posthouse.Gate) int {
	n := sizeOfGate + len(g.ID) + len(g.Checkpoint) + len(g.Supersedes) + len(g.Origin) +
		len(g.Thread) + len(g.Branch) + len(g.Name) + len(g.Kind) + len(g.RequestedBy)
	names := func(all []string) {
		for _, s := range all {
			n += sizeOfName + len(s)
		}
	}
	decision := func(d *posthouse.Decision) {
		n += sizeOfDecision + len(d.Gate) + len(d.Successor) + len(d.By) + len(d.For) + len(d.Actor)
	}
	names(g.Assignees)
	for i := range g.Requesters {
		n += sizeOfItem + len(g.Requesters[i].Name)
	}
	if g.Escalation != nil {
		names(g.Escalation.To)
	}
	for i := range g.Assignments {
		a := &g.Assignments[i]
		n += sizeOfItem + len(a.Gate) + len(a.Substitution) + len(a.By) + len(a.Actor)
		names(a.To)
	}
	for i := range g.Votes {
		decision(&g.Votes[i])
	}
	if g.Decision != nil {
		decision(g.Decision)
	}
	return n
}
