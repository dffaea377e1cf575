package journalstream

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// The times of a lease. A leader stops before a standby takes over, although they share no clock: the leader
// counts from the moment at which it sent its last renewal, the standby from the moment at which it saw it.
const (
	RenewEvery = time.Second
	LeadFor    = 7 * time.Second  // after the last renewal was sent: then the leader calls and answers nobody
	TakeAfter  = 10 * time.Second // without a change of the lease a standby takes over
	lookEvery  = 500 * time.Millisecond
	leaseLimit = 2 * time.Second // of each request to the bucket
)

// A Claim is the value of a lease: which manager leads a league.
type Claim struct {
	Manager string `json:"manager"` // its name, for people
	Process string `json:"process"` // random: two managers may have the same name
	Term    int    `json:"term"`    // grows with each leader, from 1
	Counter int    `json:"counter"` // grows with each renewal
	Given   bool   `json:"given_up,omitzero"`

	// Files are the SHA-256 of the operator's files that the leader uses, by what they are, and the name of the stream
	// of its journal. A league must not change its rules or its participants because another manager takes over.
	Files map[string]string `json:"files"`
}

// ErrChanged is the error of Cell.Write when the value is not of the expected revision.
var ErrChanged = errors.New("the lease has changed")

// A Cell holds a claim that is replaced only by a writer that knows its revision. It is safe for concurrent use.
type Cell interface {
	// Read returns the claim and its revision; 0 if there is none.
	Read(ctx context.Context) (c Claim, revision uint64, err error)
	// Write replaces the claim of a revision. The outcome of another error than ErrChanged is unknown: the claim
	// may be written, also later.
	Write(ctx context.Context, c Claim, expected uint64) (revision uint64, err error)
}

// A LostError says that another manager leads the league.
type LostError struct{ Leader Claim }

// Error names the other manager.
func (e *LostError) Error() string {
	return fmt.Sprintf("manager %.100q leads this league now (term %d)", e.Leader.Manager, e.Leader.Term)
}

// A Lease is the part of one manager in the choice of a league's leader. Await it, then Keep it, and Release it at
// the end. Holds and Leader are safe for concurrent use.
type Lease struct {
	cell  Cell
	files func() map[string]string
	log   zerolog.Logger

	mu     sync.Mutex
	own    Claim     // as it was sent last
	sentAt time.Time // when own was sent
	leader Claim     // as it was seen last
	held   time.Time // when the last renewal that succeeded was sent; zero for none
	differ []string  // what of the operator's files is not as the leader has it
}

// NewLease makes the part of a manager with a name. Files returns Claim.Files of this manager.
func NewLease(cell Cell, manager string, files func() map[string]string, log zerolog.Logger) *Lease {
	return &Lease{cell: cell, files: files, log: log, own: Claim{Manager: manager, Process: crand.Text()}}
}

// Holds tells whether this manager leads: it may make a call, or send a reply, at this moment. A machine that
// slept has no time in its monotonic clock for that; its wall clock shows it.
func (l *Lease) Holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return !l.held.IsZero() && now.Sub(l.held) <= LeadFor && now.Round(0).Sub(l.held.Round(0)) <= LeadFor
}

// Leader is the claim as this manager saw it last, and what keeps this manager from taking over.
func (l *Lease) Leader() (leader Claim, differ []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leader, l.differ
}

// A watch is what a manager has seen of the lease of another.
type watch struct {
	revision uint64
	since    time.Time // when it saw this revision first
	known    bool      // there was a lease
	alive    bool      // the lease has changed while it watched
}

// see notes a revision that was asked for at one time and received at another. It tells for how long the
// lease has certainly not changed.
func (w *watch) see(revision uint64, asked, received time.Time) (unchanged time.Duration) {
	if w.since.IsZero() || revision != w.revision {
		w.alive = w.known && revision != w.revision
		w.revision, w.since, w.known = revision, received, w.known || revision != 0
	}
	return asked.Sub(w.since)
}

// Await waits until this manager leads: until there is no other leader, the other has given its lease up, or it has
// not renewed it for TakeAfter. A manager that is no standby does not wait for a leader that is alive: that is a
// *LostError. A standby whose files differ from the leader's goes on waiting.
func (l *Lease) Await(ctx context.Context, standby bool) error {
	var seen watch
	for {
		asked := time.Now()
		leader, revision, err := l.read(ctx)
		if err != nil {
			l.log.Warn().Err(err).Str("event_type", "LEASE_NOT_READ").Msg("the lease of the league cannot be read")
		} else if leads, err := l.consider(ctx, standby, leader, revision, &seen, asked); leads || err != nil {
			return err
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// consider takes the lease over if it may, by the claim that was asked for last. It tells whether this manager leads.
func (l *Lease) consider(ctx context.Context, standby bool, leader Claim, revision uint64, seen *watch,
	asked time.Time) (leads bool, err error) {
	unchanged := seen.see(revision, asked, time.Now())
	switch {
	case leader.Process == l.own.Process: // the answer to an earlier write was lost
		l.adopt(leader)
		return true, nil
	case !standby && seen.alive && !leader.Given:
		return false, &LostError{leader}
	case revision != 0 && standby && l.differs(leader), seen.known && !leader.Given && unchanged < TakeAfter:
		return false, nil
	}
	if _, err := l.write(ctx, leader.Term+1, revision); err != nil {
		seen.since = time.Time{} // not at once again
		l.log.Warn().Err(err).Str("event_type", "LEASE_NOT_TAKEN").Msg("the lease of the league cannot be taken over")
		return false, nil
	}
	return true, nil
}

// differs tells whether files of this manager differ from those of the leader, and logs each change of that.
func (l *Lease) differs(leader Claim) bool {
	own, others := l.files(), maps.Clone(leader.Files)
	maps.DeleteFunc(others, func(name, digest string) bool { return own[name] == digest })
	differ := slices.Sorted(maps.Keys(others)) // names of digests
	l.mu.Lock()
	changed := !slices.Equal(differ, l.differ)
	l.differ = differ
	l.mu.Unlock()
	switch {
	case changed && len(differ) > 0:
		var what []string
		for _, name := range differ {
			what = append(what, name+partsIn(own[name], leader.Files[name]))
		}
		l.log.Error().Strs("differ", differ).Str("leader", leader.Manager).Str("event_type", "STANDBY_DIFFERS").Msg(
			"this standby does not take over: it has not the same " + strings.Join(what, ", ") + " as the leader. Start it " +
				"with what the leader has; if no manager has that any more, start one with --new-league")
	case changed:
		l.log.Info().Str("leader", leader.Manager).Str("event_type", "STANDBY_AGREES").
			Msg("this standby has the files of the leader")
	}
	return len(differ) > 0
}

// partsIn names the parts in which two digests of several parts differ, in parentheses: "legs=12ab players=34cd" and
// "legs=12ab players=56ef" in " (players)". It is "" for digests of a whole.
func partsIn(one, other string) string {
	var names []string
	for _, pair := range [][2]string{{one, other}, {other, one}} {
		known := strings.Fields(pair[1])
		for _, part := range strings.Fields(pair[0]) {
			if name, _, several := strings.Cut(part, "="); several && !slices.Contains(known, part) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (" + strings.Join(slices.Compact(names), ", ") + ")"
}

// Keep renews the lease until ctx ends; then it returns nil. It returns a *LostError when another manager leads.
// While the bucket does not answer it tries again, and Holds tells when the time is over.
func (l *Lease) Keep(ctx context.Context) error {
	var revision uint64 // 0: unknown
	for {
		wait := time.After(RenewEvery)
		var err error
		if revision, err = l.renew(ctx, revision); err != nil {
			if lost, ok := errors.AsType[*LostError](err); ok {
				return lost
			}
			if revision = 0; errors.Is(err, ErrChanged) {
				wait = time.After(lookEvery)
			} else if ctx.Err() == nil {
				l.log.Warn().Err(err).Str("event_type", "LEASE_NOT_RENEWED").Msg("the lease of the league is not renewed")
			}
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil
		}
	}
}

// renew renews the lease of a revision; 0 if that is not known, because the answer to the last renewal was lost.
func (l *Lease) renew(ctx context.Context, revision uint64) (uint64, error) {
	if revision == 0 {
		leader, now, err := l.read(ctx)
		switch {
		case err != nil:
			return 0, err
		case now != 0 && leader.Process != l.own.Process:
			return 0, &LostError{leader}
		case now != 0: // else an operator has deleted it
			l.adopt(leader)
		}
		revision = now
	}
	return l.write(ctx, l.own.Term, revision)
}

// Release gives the lease up, so that a standby takes over at once. No call of Keep may run. This manager
// does not lead from then on, whether or not the error is nil.
func (l *Lease) Release(ctx context.Context) error {
	held := l.Holds()
	l.mu.Lock()
	l.held, l.own.Given = time.Time{}, true
	l.mu.Unlock()
	if !held {
		return nil
	}
	for {
		leader, revision, err := l.read(ctx)
		if err != nil || leader.Process != l.own.Process {
			return err
		}
		// A renewal that Keep no longer waits for may arrive between the read and the write.
		if _, err = l.write(ctx, l.own.Term, revision); !errors.Is(err, ErrChanged) {
			return err
		}
	}
}

func (l *Lease) read(ctx context.Context) (Claim, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	leader, revision, err := l.cell.Read(ctx)
	if err == nil {
		l.mu.Lock()
		l.leader = leader
		l.mu.Unlock()
	}
	return leader, revision, err
}

// write sends the next claim of this manager.
func (l *Lease) write(ctx context.Context, term int, expected uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	files := l.files()
	l.mu.Lock()
	l.own.Term, l.own.Counter, l.own.Files, l.sentAt = term, l.own.Counter+1, files, time.Now()
	own := l.own
	l.mu.Unlock()
	revision, err := l.cell.Write(ctx, own, expected)
	if err == nil {
		l.adopt(own)
	}
	return revision, err
}

// adopt notes that a claim of this manager is in the cell. Of an earlier one than the last it is not known when
// it was sent.
func (l *Lease) adopt(own Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leader, l.differ, l.own.Term = own, nil, own.Term
	if own.Counter == l.own.Counter && !own.Given {
		l.held = l.sentAt
	}
}

// A bucketCell is a cell in a key–value bucket of JetStream: the last message of a subject in a stream. The library's
// functions for buckets have no context.
type bucketCell struct {
	js  nats.JetStreamContext
	key string
}

// LeaseBucket is the name of the key–value bucket with the leases, one key for each league.
const (
	LeaseBucket   = "evenodd"
	bucketStream  = "KV_" + LeaseBucket
	bucketSubject = "$KV." + LeaseBucket + "."
)

// OpenCell opens the lease of the league of a stream. It makes the bucket, with the replicas of the stream, if there is
// none. It waits, and refuses other settings, as Open does.
func (s *Stream) OpenCell(leagueID string) (Cell, error) {
	want := settings(bucketStream, "evenodd: which manager leads each league", bucketSubject+">")
	want["max_msgs_per_subject"], want["allow_rollup_hdrs"], want["allow_direct"] = 1, true, true // as in each bucket
	want["num_replicas"] = s.replicas
	err := s.patiently(func(ctx context.Context) error {
		has, err := openStream(ctx, s.conn, bucketStream, want)
		if err != nil {
			return err
		}
		return check(bucketStream, want, has)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open the bucket %s of NATS, which has the lease of the league: %w", LeaseBucket, err)
	}
	return &bucketCell{s.js, leagueID}, nil
}

// last is the last message about the key; nil if there is none.
func (b *bucketCell) last(ctx context.Context) (*nats.RawStreamMsg, error) {
	m, err := b.js.GetLastMsg(bucketStream, bucketSubject+b.key, nats.Context(ctx))
	if errors.Is(err, nats.ErrMsgNotFound) {
		return nil, nil //nolint:nilnil // no message
	}
	return m, inWords(err)
}

// deletes tells whether a message marks the deletion of its key.
func deletes(m *nats.RawStreamMsg) bool { return m.Header.Get("KV-Operation") != "" }

// Read implements Cell. A lease that an operator has deleted is none.
func (b *bucketCell) Read(ctx context.Context) (c Claim, revision uint64, err error) {
	m, err := b.last(ctx)
	if err != nil || m == nil || deletes(m) {
		return c, 0, err
	}
	if err := json.Unmarshal(m.Data, &c); err != nil {
		return c, 0, fmt.Errorf("the key %s of the bucket %s is no lease: %w", b.key, LeaseBucket, err)
	}
	return c, m.Sequence, nil
}

// Write implements Cell.
func (b *bucketCell) Write(ctx context.Context, c Claim, expected uint64) (revision uint64, err error) {
	value, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	if expected == 0 { // there may be the mark of a deletion
		switch m, err := b.last(ctx); {
		case err != nil:
			return 0, err
		case m != nil && !deletes(m):
			return 0, ErrChanged
		case m != nil:
			expected = m.Sequence
		}
	}
	written, err := b.js.PublishMsg(&nats.Msg{Subject: bucketSubject + b.key, Data: value}, nats.Context(ctx),
		nats.ExpectLastSequencePerSubject(expected), nats.RetryAttempts(0))
	failure, refused := errors.AsType[*nats.APIError](err)
	switch {
	case refused && (failure.ErrorCode == nats.JSErrCodeStreamWrongLastSequence ||
		failure.ErrorCode == nats.JSErrCodeStreamWrongLastSequenceConstant): // the last message is another one
		return 0, ErrChanged
	case err != nil:
		return 0, inWords(err)
	}
	return written.Sequence, nil
}
