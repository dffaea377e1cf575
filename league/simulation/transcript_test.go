package simulation_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// exchangeChanges change the i-th exchange of a match. They return whether the audit must find that without the digest
// of the transcript.
var exchangeChanges = map[string]func(r *rand.Rand, d *store.Match, i int) (found bool){
	"left out": func(_ *rand.Rand, d *store.Match, i int) bool {
		found := isNeeded(&d.Transcript[i])
		d.Transcript = slices.Delete(d.Transcript, i, i+1)
		return found
	},
	"twice": func(_ *rand.Rand, d *store.Match, i int) bool {
		found := isNeeded(&d.Transcript[i])
		d.Transcript = slices.Insert(d.Transcript, i, d.Transcript[i])
		return found
	},
	"copied": func(r *rand.Rand, d *store.Match, i int) bool {
		found := isNeeded(&d.Transcript[i])
		d.Transcript = slices.Insert(d.Transcript, r.IntN(len(d.Transcript)), d.Transcript[i])
		return found
	},
	"swapped": func(r *rand.Rand, d *store.Match, i int) bool {
		k := r.IntN(len(d.Transcript))
		d.Transcript[i], d.Transcript[k] = d.Transcript[k], d.Transcript[i]
		return false
	},
	"of the other player": func(_ *rand.Rand, d *store.Match, i int) bool {
		ids := []string{d.PlayerA.PlayerID, d.PlayerB.PlayerID}
		d.Transcript[i].PlayerID = ids[1-slices.Index(ids, d.Transcript[i].PlayerID)]
		return isNeeded(&d.Transcript[i])
	},
	"in the other direction": func(_ *rand.Rand, d *store.Match, i int) bool {
		e := &d.Transcript[i]
		e.Direction = map[string]string{store.Sent: store.Received, store.Received: store.Sent}[e.Direction]
		return true
	},
	"of another method": func(r *rand.Rand, d *store.Match, i int) bool {
		e, was := &d.Transcript[i], d.Transcript[i].Method
		e.Method = []string{"", protocol.Invite.Name, protocol.ChooseParity.Name, protocol.MakeMove.Name,
			protocol.NotifyGameError.Name, protocol.NotifyMatchResult.Name}[r.IntN(6)]
		return e.Method != was
	},
	"of another try": func(r *rand.Rand, d *store.Match, i int) bool {
		d.Transcript[i].Try += []int{-1 << 30, -1, 1, 2, 1 << 30}[r.IntN(5)]
		return isNeeded(&d.Transcript[i])
	},
	"at another time": func(r *rand.Rand, d *store.Match, i int) bool {
		d.Transcript[i].At = varyText(d.Transcript[i].At, r)
		return false
	},
	"with another message": func(r *rand.Rand, d *store.Match, i int) bool {
		d.Transcript[i].Message = d.Transcript[r.IntN(len(d.Transcript))].Message
		return false
	},
	"with another failure": func(r *rand.Rand, d *store.Match, i int) bool {
		e, was := &d.Transcript[i], protocol.ValueOf(d.Transcript[i].Error)
		code := protocol.Code([]string{"", "E001", "E002", "E004", "E009", "E010", "E012", "E015", "E022"}[r.IntN(9)])
		e.Error = &store.ExchangeError{ErrorCode: string(code), ErrorName: code.Name()}
		return was.ErrorCode != "" && was.ErrorCode != string(code) && isNeeded(e)
	},
	"without a failure": func(_ *rand.Rand, d *store.Match, i int) bool {
		e := &d.Transcript[i]
		found := e.Error != nil && isNeeded(e)
		e.Error = nil
		return found
	},
	"void": func(r *rand.Rand, d *store.Match, i int) bool {
		e := &d.Transcript[i]
		e.Void, e.Local, e.Stalled = "the referee was slow", r.IntN(2) == 0, []float64{0, -1, 1e6, 1e300}[r.IntN(4)]
		return e.Direction == store.Sent || e.Error == nil
	},
	"with another timing": func(r *rand.Rand, d *store.Match, i int) bool {
		long := func() time.Duration { return []time.Duration{0, -1, time.Second, 1 << 62}[r.IntN(4)] }
		d.Transcript[i].Timing = &protocol.Timing{Queued: long(), Waiting: long()}
		return d.Transcript[i].Direction == store.Sent
	},
	"omitted": func(r *rand.Rand, d *store.Match, i int) bool {
		e := &d.Transcript[i]
		e.Message, e.MessageOmitted = nil, []string{store.OmittedTooLarge, "secret"}[r.IntN(2)]
		return false
	},
}

// isNeeded tells whether the course of a match depends on an exchange.
func isNeeded(e *store.Exchange) bool {
	return e.Direction == store.Sent || e.Method != protocol.NotifyGameError.Name
}

// TestNoTranscriptEndsTheAudit audits matches whose transcript somebody has changed. The audit ends, and it finds each
// change on which the result depends, also if the digest of the transcript is that of the changed one.
func TestNoTranscriptEndsTheAudit(t *testing.T) {
	t.Parallel()
	leagues := mutationLeagues(t)
	number := 100
	if leaguetest.All() {
		number = 5000
	}
	r := rand.New(rand.NewPCG(mutationSeed, 1))
	names := slices.Sorted(maps.Keys(exchangeChanges))
	for range number {
		l := leagues[r.IntN(len(leagues))]
		kind := l.kinds[slices.Index(l.kinds, "match.json")]
		path := l.files[kind][r.IntN(len(l.files[kind]))]
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		doc := new(store.Match)
		require.NoError(t, json.Unmarshal(text, doc))
		found, changes := false, []string{}
		for range 1 + r.IntN(4)/3*2 { // most often one
			i := r.IntN(max(min(doc.Digested, len(doc.Transcript)), 1))
			if i >= len(doc.Transcript) {
				break
			}
			name := names[r.IntN(len(names))]
			e := doc.Transcript[i]
			found = exchangeChanges[name](r, doc, i)
			changes = append(changes, strings.Join([]string{e.Direction, e.PlayerID, e.Method, name}, " "))
		}
		changed, err := json.Marshal(doc)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		findings, _ := l.audit(t)
		l.auditRulesAway(t)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		if len(changes) != 1 || !found {
			continue
		}
		assert.True(t, slices.ContainsFunc(findings, func(f audit.Finding) bool { return !strings.Contains(f.Detail, "the digest of the transcript") }),
			"%s: %s", path, changes[0])
	}
}
