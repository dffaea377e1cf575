package manager_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

func requiring(o *manager.Options) { o.Signatures = journal.SignaturesRequired }

// signerOf is the signing key of an agent.
func signerOf(name string) *protocol.SigningKey {
	return protocol.NewSigningKey(leaguetest.SecretOf("key of", name))
}

// visitJournal calls visit with each event in the journal of a folder, and its hash.
func visitJournal(w *leaguetest.World, folder store.Folder, visit func(e *journal.Event, hash string)) {
	w.T.Helper()
	for line := range bytes.Lines(leaguetest.ReadJournal(w, folder)) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		e, err := journal.Decode(line)
		require.NoError(w.T, err)
		visit(e, journal.Hash(line))
	}
}

// startHash is the hash of the event that started the league of a folder.
func startHash(t *testing.T, w *leaguetest.World, folder store.Folder) (hash string) {
	t.Helper()
	visitJournal(w, folder, func(e *journal.Event, h string) {
		if _, starts := e.Data.(*journal.Started); starts {
			hash = h
		}
	})
	require.NotEmpty(t, hash)
	return hash
}

// playerWithKey registers a player with a script and the public key signerOf(name).
func playerWithKey(t *testing.T, w *leaguetest.World, name string) *protocol.LeagueRegisterResponse {
	t.Helper()
	w.PingOnly(name)
	q := w.Application(name)
	q.PlayerMeta.PublicKey = signerOf(name).Public()
	accepted := mustApply(w, q)
	require.Equal(t, protocol.StatusAccepted, accepted.Status, "%v", accepted.Reason)
	return accepted
}

func TestRegistrationRecordsTheKey(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1, signed)
		accepted := playerWithKey(t, w, "alpha")
		w.PingOnly("beta")
		mustApply(w, w.Application("Beta"))
		x.Kill()
		state, _ := w.FoldJournal(x.Folder)
		assert.Equal(t, map[string]string{"P01": signerOf("alpha").Public()}, state.PublicKeys())
		assert.Equal(t, state.Created.ManagerKey, accepted.ManagerKey)
		assert.True(t, protocol.ValidPublicKey(accepted.ManagerKey))
	})
}

// An attacker with the token of a player, for example from a copied folder, cannot replace
// the key.
func TestAgentKeepsItsKey(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1, signed)
		first := playerWithKey(t, w, "alpha")
		again := func(key string) *protocol.LeagueRegisterResponse {
			q := w.Application("Alpha")
			q.AuthToken, q.ConversationID, q.PlayerMeta.PublicKey = first.AuthToken, "conv-again", key
			return mustApply(w, q)
		}
		rejected := again(signerOf("attacker").Public())
		assert.Equal(t, protocol.StatusRejected, rejected.Status)
		assert.Contains(t, *rejected.Reason, "another public_key")
		assert.Equal(t, protocol.StatusAccepted, again("").Status, "an agent of an earlier version")
		assert.Equal(t, protocol.StatusAccepted, again(signerOf("alpha").Public()).Status)

		w.PingOnly("beta")
		without := mustApply(w, w.Application("Beta"))
		q := w.Application("Beta")
		q.AuthToken, q.ConversationID, q.PlayerMeta.PublicKey = without.AuthToken, "conv-later", signerOf("beta").Public()
		assert.Equal(t, protocol.StatusAccepted, mustApply(w, q).Status)
		x.Kill()
		state, _ := w.FoldJournal(x.Folder)
		assert.Equal(t, map[string]string{"P01": signerOf("alpha").Public()}, state.PublicKeys(), "a key counts only from the beginning")
	})
}

// The response to a registration is repeated only for the same key: it contains the token.
func TestRepeatedRegistrationWithAnotherKeyGetsNoToken(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, signed)
		first := playerWithKey(t, w, "alpha")
		q := w.Application("alpha")
		q.PlayerMeta.PublicKey = signerOf("alpha").Public()
		assert.Equal(t, first.AuthToken, mustApply(w, q).AuthToken)
		q.PlayerMeta.PublicKey = signerOf("attacker").Public()
		other := mustApply(w, q)
		assert.Equal(t, protocol.StatusRejected, other.Status)
		assert.Empty(t, other.AuthToken)
	})
}

func TestLeagueThatRequiresSignaturesRejectsAgentsWithoutThem(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, requiring)
		w.PingOnly("alpha")
		w.PingOnly("arbiter")
		rejected := mustApply(w, w.Application("Alpha"))
		assert.Equal(t, protocol.StatusRejected, rejected.Status)
		assert.Contains(t, *rejected.Reason, "player_meta.public_key")
		q := w.RefereeApplication("Arbiter")
		q.RefereeMeta.PublicKey = signerOf("arbiter").Public()
		referee := mustApplyReferee(w, q)
		assert.Equal(t, protocol.StatusRejected, referee.Status)
		assert.Contains(t, *referee.Reason, "referee_meta.relays_signatures")

		q.RefereeMeta.RelaysSignatures = true
		referee = mustApplyReferee(w, q)
		assert.Equal(t, protocol.StatusAccepted, referee.Status)
		playerWithKey(t, w, "beta")
	})
}

func TestChangedConfigurationIsRecorded(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		slower := func(o *manager.Options) { o.Timeouts.Move, o.Broadcast = 60, journal.BroadcastMatch }
		for _, run := range []func(*manager.Options){requiring, requiring, slower, slower, requiring} {
			w.StartManagerIn(folder, 0, 1, run).Kill()
		}
		var moves []float64
		visitJournal(w, folder, func(e *journal.Event, _ string) {
			switch d := e.Data.(type) {
			case *journal.Created:
				moves = append(moves, d.Timeouts.Move)
			case *journal.Configured:
				moves = append(moves, d.Configuration.Timeouts.Move)
				assert.Equal(t, journal.SignaturesRequired, d.Configuration.Signatures, "a league keeps this rule")
			}
		})
		assert.Equal(t, []float64{30, 60, 30}, moves)
	})
}

func TestManagerWithAnotherSecretDoesNotResume(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		w.StartManagerIn(folder, 0, 1, signed).Kill()
		other := leaguetest.SecretOf("another manager")
		x, o := w.OpenManager(leaguetest.CrashPoint{}, folder, 0, 1, func(o *manager.Options) { o.Secret = &other })
		require.ErrorContains(t, x.Start(o), "manager_key")
		require.NoError(t, x.CloseFiles())
	})
}

// signingAgents are two players and a referee with keys; the referee accepts matches and
// leaves the reports to the test.
func signingAgents(t *testing.T, w *leaguetest.World) {
	t.Helper()
	for _, name := range []string{"alpha", "beta"} {
		playerWithKey(t, w, name)
	}
	thirdPartyReferee(w, "arbiter", w.AcceptMatch, func(q *protocol.RefereeRegisterRequest) {
		q.RefereeAuth, q.RefereeMeta.RelaysSignatures = protocol.RefereeAuthAccessToken, true
	})
	w.Unchecked["arbiter"], w.Unchecked["alpha"], w.Unchecked["beta"] = true, true, true
	w.WaitUntil(w.Now() + 5*leaguetest.Second)
}

// signedReport is the report that P01 wins R1M1 with even against odd, with signatures.
func signedReport(w *leaguetest.World, started string, names ...string) *protocol.MatchResultReport {
	q := w.WinReport("REF01")
	q.Attempt, q.Draw = 1, &protocol.Draw{
		Commitment: protocol.DrawCommitment(leaguetest.LeagueID, "R1M1", 1, "REF01", protocol.Secret{}), Nonce: protocol.Secret{}.Hex(),
	}
	number := evenodd.Game{}.Start().Play([2]string{"even", "odd"}).Judge(rules.Chance{}).Number
	winner := map[string]string{"even": "P01", "odd": "P02"}[evenodd.Parity(number)]
	q.Result.DrawnNumber, q.Result.WinnerPlayerID = &number, &winner
	for i, id := range []string{"P01", "P02"} {
		s := protocol.MoveStatement{
			Started: started, MatchID: "R1M1", Attempt: 1, RefereeID: "REF01", PlayerID: id, DrawCommitment: q.Draw.Commitment,
			Turn: 1, Move: []string{"even", "odd"}[i],
		}
		q.Signatures = append(q.Signatures, league.Member[protocol.MoveSignature]{
			Name: id, Value: protocol.MoveSignature{Turn: 1, Signature: signerOf(names[i]).SignMove(&s)},
		})
	}
	return q
}

func TestSignedLeagueFromAssignmentToHead(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1, requiring)
		signingAgents(t, w)
		started := startHash(t, w, folder)

		assignment := leaguetest.Decode[protocol.MatchAssignment](w.Calls(protocol.StartMatch.Name)[0].Message)
		assert.Equal(t, started, assignment.Started)
		assert.Equal(t, signerOf("alpha").Public(), assignment.PlayerA.PublicKey)
		assert.Equal(t, signerOf("beta").Public(), assignment.PlayerB.PublicKey)
		announcement := leaguetest.Decode[protocol.RoundAnnouncement](w.Calls(protocol.NotifyRound.Name)[0].Message)
		assert.Equal(t, started, announcement.Started)

		lie := signedReport(w, started, "alpha", "beta")
		lie.Result.Choices = league.Both("P01", lie.Result.Choices[1].Value, "P02", lie.Result.Choices[0].Value)
		assertReportRefused(w, lie, protocol.ErrInvalidFieldType, -32602)
		assertReportRefused(w, signedReport(w, journal.Origin, "alpha", "beta"), protocol.ErrInvalidFieldType, -32602)
		mustReport(w, signedReport(w, started, "alpha", "beta"))
		final := x.Finish()

		state, hashes := w.FoldJournal(folder)
		key := state.Created.ManagerKey
		assert.Len(t, state.Match(league.MatchID{Round: 1, Number: 1}).Report.Signatures, 2)
		assert.True(t, hashes[final.JournalHead])
		assert.True(t, protocol.VerifyHead(key, final.JournalHeadSignature, leaguetest.LeagueID, final.JournalHead))
		for _, e := range w.Calls(protocol.NotifyRoundCompleted.Name) {
			q := leaguetest.Decode[protocol.RoundCompleted](e.Message)
			assert.True(t, protocol.VerifyHead(key, q.JournalHeadSignature, leaguetest.LeagueID, q.JournalHead))
			if e.To == "arbiter" {
				assert.Empty(t, q.Results, "referees accept only short messages")
				continue
			}
			require.Len(t, q.Results, 1)
			assert.Equal(t, "R1M1", q.Results[0].MatchID)
			assert.Equal(t, 1, q.Results[0].Attempt)
			assert.Equal(t, final.Champion.PlayerID, *q.Results[0].Winner)
			even, _ := q.Results[0].Choices.Get("P01")
			assert.Equal(t, "even", *even)
		}
		assertSealed(t, w, folder, x.Manager.Seal())
	})
}

// assertSealed checks that the signed head in standings.json covers the last line of the
// journal.
func assertSealed(t *testing.T, w *leaguetest.World, folder store.Folder, head manager.SignedHead) {
	t.Helper()
	last := ""
	visitJournal(w, folder, func(_ *journal.Event, hash string) { last = hash })
	standings, err := store.Read[store.Standings](folder.Disk, folder.Standings(leaguetest.LeagueID))
	require.NoError(t, err)
	assert.Equal(t, last, standings.JournalHead)
	assert.Equal(t, manager.SignedHead{Hash: last, Signature: standings.JournalHeadSignature, Key: head.Key}, head)
	assert.True(t, protocol.VerifyHead(head.Key, standings.JournalHeadSignature, leaguetest.LeagueID, last))
}

// The manager repeats the end of a round after a restart, when it has recorded results of
// the next round. The head must still be that of the end: the audit knows no other.
func TestRepeatedEndOfARoundHasTheHeadOfThatRound(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder, files := leaguetest.TempFolder(t), leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		w.RefereeWithFiles("REF01", files)
		w.Players(4, leaguetest.WithDelays(0, 4*leaguetest.Second, 0))
		w.WaitUntil(6 * leaguetest.Second) // in the second round
		x.Kill()
		x = w.StartManagerIn(folder, 4, 1)
		x.Finish()
		ends := map[int]string{}
		visitJournal(w, folder, func(e *journal.Event, hash string) {
			if d, ok := e.Data.(*journal.RoundCompleted); ok {
				ends[d.RoundID] = hash
			}
		})
		told := map[int]int{}
		for _, e := range w.Calls(protocol.NotifyRoundCompleted.Name, "p01") {
			q := leaguetest.Decode[protocol.RoundCompleted](e.Message)
			assert.Equal(t, ends[q.RoundID], q.JournalHead, "round %d", q.RoundID)
			told[q.RoundID]++
		}
		assert.Equal(t, map[int]int{1: 2, 2: 1, 3: 1}, told)
	})
}

// An event after the end, such as the return of an agent, is covered as well.
func TestSealCoversEventsAfterTheEnd(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signed)
		signingAgents(t, w)
		mustReport(w, signedReport(w, startHash(t, w, x.Folder), "alpha", "beta"))
		x.Finish()
		before := x.Manager.Seal()
		w.PingOnly("elsewhere")
		q := w.Application("alpha")
		q.AuthToken, q.ConversationID, q.PlayerMeta.ContactEndpoint = w.Token("P01"), "conv-back", leaguetest.EndpointOf("elsewhere")
		for _, a := range w.Agents() {
			if a.Host == "alpha" {
				a.Stop()
			}
		}
		back := mustApply(w, q)
		require.Equal(t, protocol.StatusAccepted, back.Status, "%v", back.Reason)
		after := x.Manager.Seal()
		assert.NotEqual(t, before, after)
		assertSealed(t, w, x.Folder, after)
	})
}

func TestResumedLeagueKeepsItsStart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1, signed)
		signingAgents(t, w)
		started := startHash(t, w, folder)
		x.Kill()
		x = w.StartManagerIn(folder, 2, 1) // also if the operator forgets the option
		w.WaitUntil(w.Now() + leaguetest.Second)
		for _, e := range w.Calls(protocol.StartMatch.Name) {
			assert.Equal(t, started, leaguetest.Decode[protocol.MatchAssignment](e.Message).Started)
		}
		unsigned := signedReport(w, started, "alpha", "beta")
		unsigned.Signatures = nil
		assertReportRefused(w, unsigned, protocol.ErrInvalidFieldType, -32602)
		mustReport(w, signedReport(w, started, "alpha", "beta"))
		x.Finish()
		assertSealed(t, w, folder, x.Manager.Seal())
	})
}

// Without a journal, `started` is the hash of the line that would begin one.
func TestLeagueWithoutJournalSigns(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1, signed)
		signingAgents(t, w)
		started := leaguetest.Decode[protocol.MatchAssignment](w.Calls(protocol.StartMatch.Name)[0].Message).Started
		require.Len(t, started, 64)
		assertReportRefused(w, signedReport(w, started, "beta", "alpha"), protocol.ErrInvalidFieldType, -32602)
		mustReport(w, signedReport(w, started, "alpha", "beta"))
		w.Finish()
		assert.Equal(t, manager.SignedHead{}, w.Manager.Seal())
	})
}

func TestRefereeThatRelaysNothingIsToldNoKeys(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1, signed)
		playerWithKey(t, w, "alpha")
		playerWithKey(t, w, "beta")
		thirdPartyReferee(w, "arbiter", w.AcceptMatch)
		w.WaitUntil(5 * leaguetest.Second)
		assignment := w.Calls(protocol.StartMatch.Name)[0].Message
		assert.NotContains(t, string(assignment), "public_key")
		assert.NotContains(t, string(assignment), "started")
		mustReport(w, w.WinReport("REF01"))
		w.Finish()
	})
}

// The journal is public and has 128 bits of an HMAC over the conversation of each
// registration. An applicant chooses the conversation, and an operator may call a league
// "registration": then the input of that HMAC equals the input of P01's token.
func TestJournalHoldsNoPartOfAToken(t *testing.T) {
	for _, leagueID := range []string{"registration", "evenodd-registration-v2", "evenodd-token-v2"} {
		leaguetest.RunInMemory(t, leagueID, func(t *testing.T, w *leaguetest.World) {
			x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1, func(o *manager.Options) { o.LeagueID = leagueID })
			w.PingOnly("alpha")
			q := w.Application("Alpha")
			q.ConversationID = "P01/1"
			accepted := mustApply(w, q)
			_, secret, _ := strings.Cut(strings.TrimPrefix(accepted.AuthToken, "tok-"), "-")
			token, err := base64.RawURLEncoding.DecodeString(secret)
			require.NoError(t, err)
			x.Kill()
			state, _ := w.FoldJournal(x.Folder)
			published, err := hex.DecodeString(state.Agents["P01"].Registration)
			require.NoError(t, err)
			require.Len(t, published, 16)
			assert.NotEqual(t, published, token[:16])
		})
	}
}
