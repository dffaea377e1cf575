package simulation_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

const rewriteSeed = 11

// signedLeague plays a league of four players that sign, and returns its folder.
func signedLeague(t *testing.T, seed uint64) store.Folder {
	t.Helper()
	dir := leaguetest.TempFolder(t).Path
	synctest.Test(t, func(t *testing.T) {
		o := simulation.Options{Seed: seed, Transport: simulation.Wire, Rules: mutated(4, 1, evenodd.Type, nil), Sign: true}
		o.LeagueID, o.Concurrency, o.Games, o.Log = "cup", 1, rules.NewRegistry(evenodd.Game{}), zerolog.Nop()
		playStored(t, o, dir)
	})
	return store.In(dir)
}

// An organiser rewrites a league. It has the manager's key, and can write every file.
type organiser struct {
	t     *testing.T
	dir   store.Folder
	match *journal.MatchReported // a match of the last round with a winner
	ids   [2]string              // of its winner and its loser

	// other changes or removes (nil) an event before it is written again, and adds events
	// before it.
	other func(e *journal.Event) []*journal.Event
}

func newOrganiser(t *testing.T) *organiser {
	t.Helper()
	o := &organiser{t: t, dir: signedLeague(t, rewriteSeed)}
	for _, e := range o.events() {
		if d, ok := e.Data.(*journal.MatchReported); ok && d.MatchID.Round == 3 && d.WinnerPlayerID != nil {
			o.match = d
		}
	}
	require.NotNil(t, o.match, "the seed has a winner in the last round")
	o.ids[0] = *o.match.WinnerPlayerID
	for _, c := range o.match.Choices {
		if c.Name != o.ids[0] {
			o.ids[1] = c.Name
		}
	}
	return o
}

func (o *organiser) events() (events []*journal.Event) {
	o.t.Helper()
	text, err := os.ReadFile(o.dir.Journal("cup"))
	require.NoError(o.t, err)
	for line := range bytes.Lines(text) {
		e, err := journal.Decode(bytes.TrimSuffix(line, []byte("\n")))
		require.NoError(o.t, err)
		events = append(events, e)
	}
	return events
}

// A chain is the text of a journal and the hash of its last line.
type chain struct {
	t    *testing.T
	n    int
	text []byte
	head string
}

func newChain(t *testing.T) *chain { return &chain{t: t, head: journal.Origin} }

// add adds an event, with its number and the hash of the event before.
func (c *chain) add(e *journal.Event) {
	c.n++
	e.Seq, e.Prev = c.n, c.head
	line, err := journal.Encode(e)
	require.NoError(c.t, err)
	line = appendfile.Seal(line)
	c.head, c.text = journal.Hash(line), append(append(c.text, line...), '\n')
}

// rewrite changes the result in the journal, and makes everything that follows from the
// journal again: the champion, the hashes, the standings, the rounds, and the signature of
// the head.
func (o *organiser) rewrite(change func(r *journal.MatchReported)) {
	t := o.t
	t.Helper()
	state, written := journal.NewState(), newChain(t)
	events := o.events()
	if o.other != nil {
		var all []*journal.Event
		for _, e := range events {
			all = append(all, o.other(e)...)
		}
		events = all
	}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *journal.MatchReported:
			if d.MatchID == o.match.MatchID {
				change(d)
				score, err := state.Score(d)
				require.NoError(t, err)
				d.Score = score[:]
			}
		case *journal.RoundCompleted:
			d.Summary = state.Summary(d.RoundID)
		case *journal.LeagueCompleted:
			first := state.Standings()[0]
			d.Champion = league.Champion{PlayerID: first.PlayerID, DisplayName: first.DisplayName, Points: first.Points}
		}
		written.add(e)
		require.NoError(t, state.Apply(e))
	}
	require.NoError(t, os.WriteFile(o.dir.Journal("cup"), written.text, 0o600))
	changeFile(t, o.dir.Standings("cup"), func(doc *store.Standings) {
		doc.Standings, doc.JournalHead = state.Standings(), written.head
		doc.JournalHeadSignature = simulation.SigningKey(rewriteSeed, "manager").SignHead("cup", written.head)
	})
	changeFile(t, o.dir.Agents("cup"), func(doc *store.Agents) {
		doc.JournalHead = written.head
		doc.Referees, doc.Players = state.AgentRecords()
	})
	changeFile(t, o.dir.Rounds("cup"), func(doc *store.Rounds) {
		doc.Rounds, doc.JournalHead = state.RoundRecords(), written.head
	})
}

// changeFile changes a document that derives from the journal.
func changeFile[T any](t *testing.T, path string, change func(doc *T)) {
	t.Helper()
	doc, err := store.Read[T](disk.Real{}, path)
	require.NoError(t, err)
	change(doc)
	require.NoError(t, store.WriteDerived(disk.Real{}, path, doc))
}

// swapChoices makes the loser the winner, by the choices that this needs, in the journal, the
// record with its digest, the match file and the histories.
func (o *organiser) swapChoices(change func(r *journal.MatchReported)) {
	t := o.t
	t.Helper()
	forge := func(r *journal.MatchReported) {
		r.WinnerPlayerID = &o.ids[1]
		r.Choices = slices.Clone(r.Choices)
		r.Choices[0].Value, r.Choices[1].Value = r.Choices[1].Value, r.Choices[0].Value
		r.Reason = strings.NewReplacer(o.ids[0], o.ids[1], o.ids[1], o.ids[0]).Replace(r.Reason)
		change(r)
	}
	forged, digest := *o.match, ""
	forge(&forged)
	changeFile(t, o.dir.Match("cup", forged.MatchID.String()), func(doc *store.Match) {
		doc.Result, doc.Signatures, doc.Draw = o.loserWins(&forged), forged.Signatures, forged.Draw
		digest = o.forgeTranscript(doc)
	})
	for _, id := range []string{"P01", "P02", "P03", "P04"} {
		o.edit(store.HistoryLines(o.dir.History(id)), func(text string) string { return o.forgeHistory(text, slices.Index(o.ids[:], id)) })
		require.NoError(t, os.Remove(o.dir.History(id)))
	}
	o.rewrite(func(r *journal.MatchReported) { r.TranscriptDigest = digest; forge(r) })
}

// loserWins is a result with the points for the loser of the match.
func (o *organiser) loserWins(r *journal.MatchReported) *protocol.MatchResult {
	points := map[string]int{o.ids[1]: league.DefaultScoring().Win}
	a, b := o.match.Choices[0].Name, o.match.Choices[1].Name
	return &protocol.MatchResult{Result: r.Result, Score: league.Both(a, points[a], b, points[b])}
}

var evenForOdd = strings.NewReplacer(`"even"`, `"odd"`, `"odd"`, `"even"`)

// forgeTranscript makes the messages of a match agree with its result, draw and signatures, and
// returns the digest.
func (o *organiser) forgeTranscript(doc *store.Match) string {
	set := func(message *protocol.Object, name string, value any) {
		text, err := json.Marshal(value)
		require.NoError(o.t, err)
		message.Set(name, text)
	}
	for i := range doc.Transcript {
		x := &doc.Transcript[i]
		message := protocol.ParseObject(x.Message)
		switch {
		case x.Method == protocol.ChooseParity.Name && x.Direction == store.Received:
			message = protocol.ParseObject([]byte(evenForOdd.Replace(string(x.Message))))
			message.Drop("signature")
			if signed, ok := doc.Signatures.Get(x.PlayerID); ok {
				set(&message, "signature", signed.Signature)
			}
		case x.Method == protocol.NotifyMatchResult.Name && x.Direction == store.Sent:
			set(&message, "game_result", doc.Result.Result)
			set(&message, "draw", doc.Draw)
		}
		x.Message = message.Append(nil)
	}
	return doc.Digest()
}

// forgeHistory makes the history of a player agree with the forged result, without decisions
// and signed heads. Side is 0 for the winner of the match, 1 for its loser, else negative.
func (o *organiser) forgeHistory(text string, side int) string {
	lines := strings.SplitAfter(withoutLines(withoutLines(text, `"head":`), `"decision":`), "\n")
	for i, line := range lines {
		if side >= 0 && strings.HasPrefix(line, `{"match_id":"`+o.match.MatchID.String()+`"`) {
			line = evenForOdd.Replace(line)
			lines[i] = strings.Replace(line, []string{`"result":"WIN"`, `"result":"LOSS"`}[side], []string{`"result":"LOSS"`, `"result":"WIN"`}[side], 1)
		}
	}
	return strings.Join(lines, "")
}

// withoutLines removes the lines that have a member.
func withoutLines(text, member string) string {
	return regexp.MustCompile(`(?m)^.*`+member+`.*\n`).ReplaceAllString(text, "")
}

// edit changes the text of a file.
func (o *organiser) edit(path string, change func(string) string) {
	o.t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(o.t, err)
	changed := change(string(text))
	require.NotEqual(o.t, string(text), changed, path)
	require.NoError(o.t, os.WriteFile(path, leaguetest.Resealed([]byte(changed)), 0o600))
}

// void makes the match a technical loss of its winner. The manager says so, and the record
// is gone.
func (o *organiser) void() {
	t := o.t
	t.Helper()
	none := func(r *journal.MatchReported) {
		r.Status, r.WinnerPlayerID, r.DrawnNumber, r.NumberParity = league.StatusTechnicalLoss, &o.ids[1], nil, nil
		r.Choices = league.Both[*string](r.Choices[0].Name, nil, r.Choices[1].Name, nil)
		r.Reason, r.Faults = "no answer", league.PerPlayer[string]{{Name: o.ids[0], Value: string(protocol.ErrTimeout)}}
		r.Evidence, r.Draw = protocol.Evidence{}, &protocol.Draw{Commitment: r.Draw.Commitment, Nonce: r.Draw.Nonce}
		r.Grade = ""
	}
	forged := *o.match
	none(&forged)
	changeFile(t, o.dir.Match("cup", o.match.MatchID.String()), func(doc *store.Match) {
		doc.Result, doc.Draw = o.loserWins(&forged), forged.Draw
		withoutRecord(doc)
	})
	o.rewrite(none)
}

// beforeTheEnd adds events before that of the end of the league.
func (o *organiser) beforeTheEnd(added ...journal.Data) {
	o.other = func(e *journal.Event) (events []*journal.Event) {
		if _, ends := e.Data.(*journal.LeagueCompleted); ends {
			for _, d := range added {
				events = append(events, &journal.Event{At: e.At, Data: d})
			}
		}
		return append(events, e)
	}
}

// withoutRecord makes a match file one that the manager writes if the record is gone.
func withoutRecord(doc *store.Match) {
	doc.Evidence, doc.Started = protocol.Evidence{}, ""
	doc.WrittenBy, doc.Digested, doc.Transcript, doc.ConversationID = store.WrittenByManager, 0, []store.Exchange{}, ""
	doc.PlayerA.EntropyCommitment, doc.PlayerB.EntropyCommitment = "", ""
	doc.Lifecycle.States = doc.Lifecycle.States[len(doc.Lifecycle.States)-1:]
}

// auditOf returns the rules of the findings, without repetition.
func auditOf(t *testing.T, dir store.Folder, o audit.Options) (names []string) {
	t.Helper()
	o.Games = rules.NewRegistry(evenodd.Game{})
	report, err := audit.Run(dir, o)
	require.NoError(t, err)
	for _, f := range report.Leagues[0].Findings {
		names = append(names, f.Rule)
		t.Log(f)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// evidence is what somebody knows of the league as it was played.
type evidence struct {
	keys      map[string]string
	head      string
	histories string // a copy
}

func (o *organiser) evidence() (e evidence) {
	t := o.t
	t.Helper()
	standings, err := store.Read[store.Standings](o.dir.Disk, o.dir.Standings("cup"))
	require.NoError(t, err)
	key := simulation.SigningKey(rewriteSeed, "P01").Public()
	e = evidence{keys: map[string]string{"P01": key}, head: standings.JournalHead, histories: t.TempDir()}
	require.NoError(t, os.CopyFS(e.histories, os.DirFS(o.dir.Players())))
	return e
}

// An organiser with the manager's key rewrites a result, and everything that follows from
// it. Without the players' keys it cannot make their signatures.
func TestRewrittenResultIsFoundByTheSignatures(t *testing.T) {
	for name, change := range map[string]func(r *journal.MatchReported){
		"with the old signatures": func(*journal.MatchReported) {},
		"without signatures": func(r *journal.MatchReported) {
			draw := *r.Draw
			draw.EntropyCommitments = nil
			r.Signatures, r.Draw = nil, &draw
		},
		"with a made-up signature": func(r *journal.MatchReported) {
			r.Signatures = slices.Clone(r.Signatures)
			r.Signatures[0].Value.Signature = strings.Repeat("0123456789abcdef", 8)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrganiser(t)
			known := o.evidence()
			o.swapChoices(change)
			assert.Equal(t, []string{audit.RuleSignature}, auditOf(t, o.dir, audit.Options{}))
			require.NoError(t, os.RemoveAll(o.dir.Players()))
			assert.Equal(t, []string{audit.RuleSignature}, auditOf(t, o.dir, audit.Options{}), "all histories are deleted")
			assert.Equal(t, []string{audit.RuleJournalHead, audit.RuleSignature}, auditOf(t, o.dir, audit.Options{Head: known.head}))
			rules := auditOf(t, o.dir, audit.Options{Histories: known.histories})
			assert.Contains(t, rules, audit.RuleJournalHead)
			assert.Contains(t, rules, audit.RuleSignature)
		})
	}
}

// A technical loss rests on the referee's report alone. An organiser can make one, unless
// somebody has a head or the histories of the players.
func TestInventedTechnicalLossIsFoundByAHeadOrByHistories(t *testing.T) {
	o := newOrganiser(t)
	known := o.evidence()
	o.void()
	require.NoError(t, os.RemoveAll(o.dir.Players()))
	assert.Empty(t, auditOf(t, o.dir, audit.Options{Keys: known.keys}), "the keys are the right ones")
	assert.Equal(t, []string{audit.RuleJournalHead}, auditOf(t, o.dir, audit.Options{Head: known.head}))
	assert.Contains(t, auditOf(t, o.dir, audit.Options{Histories: known.histories}), audit.RuleJournalHead)
}

// An organiser makes referees that relay no signatures, and removes all signatures.
func TestLeagueMadeAgainWithoutSignaturesIsFoundByAKnownKey(t *testing.T) {
	o := newOrganiser(t)
	known := o.evidence()
	strip := func(r *journal.MatchReported) {
		draw := *r.Draw
		draw.EntropyCommitments = nil
		r.Signatures, r.Draw, r.Grade = nil, &draw, journal.GradeRecomputed
	}
	o.other = func(e *journal.Event) []*journal.Event {
		switch d := e.Data.(type) {
		case *journal.AgentRegistered:
			d.RelaysSignatures = false
		case *journal.MatchReported:
			strip(d)
			d.TranscriptDigest = ""
			changeFile(t, o.dir.Match("cup", d.MatchID.String()), func(doc *store.Match) {
				doc.Draw = d.Draw
				withoutRecord(doc)
			})
		}
		return []*journal.Event{e}
	}
	o.swapChoices(func(r *journal.MatchReported) { strip(r); r.TranscriptDigest = "" })
	require.NoError(t, os.RemoveAll(o.dir.Players()))
	assert.Empty(t, auditOf(t, o.dir, audit.Options{}), "only notes")
	assert.Equal(t, []string{audit.RuleSignature}, auditOf(t, o.dir, audit.Options{Keys: known.keys}))
	assert.Contains(t, auditOf(t, o.dir, audit.Options{Histories: known.histories}), audit.RuleSignature)
}

// An organiser records that the journal has lost all heads that the players know.
func TestHeadThatTheJournalCallsLostIsFoundByHistories(t *testing.T) {
	o := newOrganiser(t)
	known := o.evidence()
	text, err := os.ReadFile(filepath.Join(known.histories, "P01", "history.jsonl"))
	require.NoError(t, err)
	var lost []journal.Data
	for _, m := range regexp.MustCompile(`"journal_head":"([0-9a-f]{64})"`).FindAllStringSubmatch(string(text), -1) {
		lost = append(lost, &journal.TailLost{Head: m[1]})
	}
	require.Len(t, lost, 4)
	o.beforeTheEnd(lost...)
	o.void()
	assert.Contains(t, auditOf(t, o.dir, audit.Options{Histories: known.histories}), audit.RuleJournalHead)
}

// An organiser that makes the whole league again, with other keys or without keys, is found
// by anything that somebody knows of the league as it was played.
func TestLeagueMadeAgainIsFoundByKnownKeysHeadsAndHistories(t *testing.T) {
	known := newOrganiser(t).evidence()
	manager := map[string]string{audit.ManagerID: simulation.SigningKey(rewriteSeed, "manager").Public()}
	t.Run("with other keys", func(t *testing.T) {
		dir := signedLeague(t, rewriteSeed+1)
		assert.Empty(t, auditOf(t, dir, audit.Options{}), "it owns every key")
		assert.Equal(t, []string{audit.RuleKeys}, auditOf(t, dir, audit.Options{Keys: known.keys}))
		assert.Equal(t, []string{audit.RuleKeys}, auditOf(t, dir, audit.Options{Keys: manager}))
		assert.Equal(t, []string{audit.RuleJournalHead}, auditOf(t, dir, audit.Options{Head: known.head}))
		assert.NotEmpty(t, auditOf(t, dir, audit.Options{Histories: known.histories}))
	})
	t.Run("without keys", func(t *testing.T) {
		dir := store.In(filepath.Join("..", "..", "testdata", "leagues", "finished"))
		assert.Empty(t, auditOf(t, dir, audit.Options{}))
		assert.Equal(t, []string{audit.RuleKeys}, auditOf(t, dir, audit.Options{Keys: known.keys}))
		assert.Equal(t, []string{audit.RuleKeys}, auditOf(t, dir, audit.Options{Keys: manager}))
		assert.Equal(t, []string{audit.RuleJournalHead}, auditOf(t, dir, audit.Options{Head: known.head}))
	})
}

// An organiser that gives a player another key could turn all its moves afterwards. In a league
// without a roster no player can have lost its key and return, which nobody needs a key to see.
func TestKeyThatAnOrganiserInsertsIsFoundWithoutAnyKey(t *testing.T) {
	for _, test := range []struct {
		name   string
		roster *journal.Roster // that the organiser adds before; nil for none
		want   string
	}{
		{"no roster", nil, "P01 gets another public key after the start"},
		{"a roster in addition", &journal.Roster{Players: 4}, "a league that has started without a roster gets none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrganiser(t)
			written, events := newChain(t), o.events()
			configuration := events[0].Data.(*journal.Created).Configuration
			configuration.Roster = test.roster
			for _, e := range events {
				written.add(e)
				if _, starts := e.Data.(*journal.Started); !starts {
					continue
				}
				if test.roster != nil {
					written.add(&journal.Event{At: e.At, Data: &journal.Configured{Configuration: &configuration}})
				}
				written.add(&journal.Event{At: e.At, Data: &journal.AgentReturned{
					AgentID: "P01", Endpoint: "memory://P01/mcp", Generation: 2,
					PublicKey: simulation.SigningKey(99, "P01").Public(),
				}})
			}
			require.NoError(t, os.WriteFile(o.dir.Journal("cup"), written.text, 0o600))
			require.NoError(t, os.RemoveAll(o.dir.Players()))
			findings, _ := audited(t, o.dir, rules.NewRegistry(evenodd.Game{}))
			inJournal := func(f audit.Finding) bool { return strings.HasSuffix(f.File, "journal.jsonl") }
			first := slices.IndexFunc(findings, inJournal)
			require.GreaterOrEqual(t, first, 0)
			assert.Contains(t, findings[first].Detail, test.want)
		})
	}
}

// The signatures of two answers to one question prove who made both.
func TestPlayerThatSignsTwoMovesIsNamed(t *testing.T) {
	for _, test := range []struct {
		name, seed, want string
	}{
		{"by its key", "P01", "P01 signed two moves in answer to one question"},
		{"by another key", "P02", "is not over this decision"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrganiser(t)
			path := store.HistoryLines(o.dir.History("P01"))
			h, _, _, err := store.ReadHistoryLines(disk.Real{}, path)
			require.NoError(t, err)
			d := h.Decisions[len(h.Decisions)-1]
			made := d.Decision.Choice
			d.Decision.Choice = map[string]string{evenodd.Even: evenodd.Odd, evenodd.Odd: evenodd.Even}[made]
			d.Decision.Signature = simulation.SigningKey(rewriteSeed, test.seed).SignMove(d.Statement("P01"))
			line, err := json.Marshal(&d)
			require.NoError(t, err)
			o.edit(path, func(text string) string {
				lines := strings.SplitAfter(text, "\n")
				lines[d.Line-1] = string(line) + "\n"
				return strings.Join(lines, "")
			})
			findings, _ := audited(t, o.dir, rules.NewRegistry(evenodd.Game{}))
			require.Len(t, findings, 1)
			f := findings[0]
			assert.Contains(t, f.Detail, test.want)
			assert.Equal(t, []any{audit.RuleSignature, "P01", d.Line}, []any{f.Rule, f.AgentID, f.Line})
		})
	}
}

// ruleForTheLoser has the league end after a ruling about the match, for its loser.
func (o *organiser) ruleForTheLoser() {
	t, winner := o.t, o.ids[1]
	t.Helper()
	ruling := &journal.Decided{
		Command: protocol.CommandRule, Decision: journal.Decision{By: "A. Smith", Reason: "a wrong draw"}, MatchID: o.match.MatchID, Winner: winner,
	}
	o.beforeTheEnd(ruling)
	result := league.Result{Status: league.StatusWin, WinnerPlayerID: &winner, Reason: "ruled by A. Smith: a wrong draw"}
	for _, c := range o.match.Choices {
		result.Choices = append(result.Choices, league.Member[*string]{Name: c.Name})
	}
	changeFile(t, o.dir.Match("cup", o.match.MatchID.String()), func(doc *store.Match) {
		require.NoError(t, store.WriteDerived(o.dir.Disk, o.dir.Attempt("cup", doc.MatchID, doc.Attempt), doc))
		doc.Attempt, doc.RefereeID, doc.Draw = 0, "", nil
		doc.Result = o.loserWins(&journal.MatchReported{Result: result})
		withoutRecord(doc)
	})
	for _, id := range []string{"P01", "P02", "P03", "P04"} { // they name the end of the journal as it was
		o.edit(store.HistoryLines(o.dir.History(id)), func(text string) string { return withoutLines(text, `"head":`) })
	}
}

// A ruling does not excuse what a referee or a manager did before it: an annulled result still
// needs the players' signatures.
func TestSignaturesOfAnAnnulledResultAreVerified(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(o *organiser, r *journal.MatchReported)
		want   []string
	}{
		{"as it was", func(*organiser, *journal.MatchReported) {}, nil},
		{"a made-up signature", func(_ *organiser, r *journal.MatchReported) {
			r.Signatures = slices.Clone(r.Signatures)
			r.Signatures[0].Value.Signature = strings.Repeat("0123456789abcdef", 8)
		}, []string{audit.RuleMatchFile, audit.RuleSignature}},
		{"no signatures", func(_ *organiser, r *journal.MatchReported) { r.Signatures = nil }, []string{audit.RuleMatchFile, audit.RuleSignature}},
		{"another winner", func(o *organiser, r *journal.MatchReported) { r.WinnerPlayerID = &o.ids[1] },
			[]string{audit.RuleHistory, audit.RuleMatchFile, audit.RuleVerdict}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrganiser(t)
			o.ruleForTheLoser()
			o.rewrite(func(r *journal.MatchReported) { tt.change(o, r) })
			assert.Equal(t, tt.want, auditOf(t, o.dir, audit.Options{}))
		})
	}
}

// A manager that is killed at the end of a knockout leaves the largest possible number of
// rounds in rounds.json.
func TestAuditAcceptsRoundsOfAKnockoutBeforeItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(4)
		o.Legs, o.Tournament = 1, &journal.Tournament{Algorithm: pairing.Knockout}
		folder := t.TempDir()
		l := playStored(t, o, folder)
		path := store.In(folder).Rounds(o.LeagueID)
		text, err := os.ReadFile(filepath.Clean(path))
		require.NoError(t, err)
		events, err := os.ReadFile(filepath.Clean(store.In(folder).Journal(o.LeagueID)))
		require.NoError(t, err)
		before, _, _ := bytes.Cut(events, []byte(`,"type":"completed"`))
		prev := before[bytes.LastIndex(before, []byte(`"prev":"`))+len(`"prev":"`):]
		text = regexp.MustCompile(`("journal_head": )"[0-9a-f]{64}"`).ReplaceAll(text, []byte(`$1"`+string(prev[:64])+`"`))
		for _, tt := range []struct {
			total    int
			findings int
		}{{8, 0}, {l.result.State.Round + 1, 1}, {0, 1}} {
			rounds := func(n int) string { return fmt.Sprintf(`"total_rounds": %d`, n) }
			edited := strings.Replace(string(text), rounds(l.result.State.Round), rounds(tt.total), 1)
			require.NotEqual(t, string(text), edited)
			require.NoError(t, os.WriteFile(path, []byte(edited), 0o600))
			findings, _ := audited(t, store.In(folder), o.Games)
			assert.Len(t, findings, tt.findings, "total_rounds %d", tt.total)
		}
	})
}
