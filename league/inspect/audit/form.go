package audit

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A matchKind is where a match was read from.
type matchKind int

const (
	finalFile     matchKind = iota // the file of a match
	attemptFile                    // the file of an attempt
	attemptRecord                  // a results file
)

// checkForm checks what a match file says about itself.
func (a *auditor) checkForm(f *matchFile, kind matchKind) {
	d := f.value
	if kind != attemptRecord {
		checkHeader(a, &f.document, RuleMatchFile, location{matchID: f.match.id})
	}
	for member, p := range map[jsontext.Pointer]store.MatchPlayer{"/player_A": d.PlayerA, "/player_B": d.PlayerB} {
		agent := a.state.Agents[p.PlayerID]
		if agent.DisplayName != p.DisplayName && string(protocol.HideTokens([]byte(agent.DisplayName))) != p.DisplayName {
			f.find(a, RuleMatchFile, member+"/display_name", "%s is called %s, but registered as %s", agent.AgentID, quoted(&p.DisplayName), quoted(&agent.DisplayName))
		}
	}
	switch d.WrittenBy {
	case store.WrittenByReferee:
	case store.WrittenByManager:
		for member, present := range map[jsontext.Pointer]bool{
			"/transcript": len(d.Transcript) > 0, "/transcript_omitted": d.Omitted != 0, "/conversation_id": d.ConversationID != "",
			"/player_A/entropy_commitment": d.PlayerA.EntropyCommitment != "", "/player_B/entropy_commitment": d.PlayerB.EntropyCommitment != "",
		} {
			if present {
				f.find(a, RuleMatchFile, member, "written_by is manager, but only a referee knows %s", name(member))
			}
		}
	default:
		f.find(a, RuleMatchFile, "/written_by", "written_by is %s; it must be referee or manager", quoted(&d.WrittenBy))
	}
	if d.Refusal != nil && d.Lifecycle.State != store.StateDisputed {
		f.find(a, RuleMatchFile, "/refusal", "it has a refusal by the manager, but is in state %s", quoted(&d.Lifecycle.State))
	}
	a.checkStates(f)
	a.checkFinalState(f, kind)
}

// stateOrder is the order of a match's states; 0 for an unknown one.
func stateOrder(state string) int {
	order := []string{
		store.StateAssigned, store.StateWaitingForPlayers, store.StateCollectingChoices, store.StateDrawingNumber,
		store.StateFinished, store.StateDisputed, store.StateAcknowledged, store.StateAbandoned,
	}
	return min(1+slices.Index(order, state), len(order)-1) // either of the last two is the end
}

// checkStates checks the order of the states that a match passed.
func (a *auditor) checkStates(f *matchFile) {
	states, before := f.value.Lifecycle.States, ""
	for i, s := range states {
		at := jsontext.Pointer(fmt.Sprintf("/lifecycle/states/%d", i))
		switch {
		case stateOrder(s.State) == 0:
			f.find(a, RuleMatchFile, at+"/state", "%s is no state of a match", quoted(&s.State))
		case stateOrder(s.State) <= stateOrder(before) && (s.State != store.StateDisputed || before != s.State),
			s.State == store.StateAbandoned && passed(states[:i], store.StateFinished):
			f.find(a, RuleMatchFile, at+"/state", "state %s cannot follow %s", quoted(&s.State), quoted(&before))
		case i == 0 && f.value.WrittenBy == store.WrittenByReferee && s.State != store.StateAssigned:
			f.find(a, RuleMatchFile, at+"/state", "state %s is the first, but a match is assigned before", quoted(&s.State))
		}
		if _, err := protocol.ParseTimestamp(s.At); err != nil {
			f.find(a, RuleMatchFile, at+"/at", "at: %v", err)
		}
		before = s.State
	}
}

func passed(states []store.StateEntry, state string) bool {
	return slices.ContainsFunc(states, func(s store.StateEntry) bool { return s.State == state })
}

// checkFinalState checks the present state of a match against its other states,
// its result and the kind of its file.
func (a *auditor) checkFinalState(f *matchFile, kind matchKind) {
	d, state, last := f.value, f.value.Lifecycle.State, ""
	if n := len(d.Lifecycle.States); n > 0 {
		last = d.Lifecycle.States[n-1].State
	}
	wrong := ""
	switch {
	case state != last:
		wrong = "the last of its states is " + orNone(last)
	case kind == finalFile && state != store.StateAcknowledged:
		wrong = "the file of a match is written when the manager has acknowledged the result"
	case kind == attemptFile && state == store.StateAcknowledged:
		wrong = "an acknowledged attempt has no file of its own, only the match has"
	case kind == attemptRecord && state == store.StateAcknowledged && !f.counts():
		wrong = "another attempt counts"
	case kind != finalFile && stateOrder(state) < stateOrder(store.StateFinished):
		wrong = "an attempt is recorded when it is finished or given up"
	case d.Result == nil && state != store.StateAbandoned && kind != finalFile: // compareResult finds it in the file of a match
		wrong = "there is no result"
	case d.Result != nil && state == store.StateAbandoned:
		f.find(a, RuleMatchFile, "/result", "it was given up, but has a result")
	case d.Result != nil && d.WrittenBy == store.WrittenByReferee:
		required := []string{store.StateFinished}
		if d.Result.Status != protocol.StatusTechnicalLoss {
			required = []string{store.StateCollectingChoices, store.StateDrawingNumber, store.StateFinished}
		}
		for _, state := range required {
			if !passed(d.Lifecycle.States, state) {
				f.find(a, RuleMatchFile, "/lifecycle/states", "it ended with %s, but was never in state %s", quoted(&d.Result.Status), state)
				return
			}
		}
	}
	if wrong != "" {
		f.find(a, RuleMatchFile, "/lifecycle/state", "state is %s, but %s", quoted(&state), wrong)
	}
}
