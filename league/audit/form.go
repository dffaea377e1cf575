package audit

import (
	"fmt"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// checkForm holds what a match file says about itself against what its writer
// can have written. Final is the match's own file, not that of an attempt.
func (x *examination) checkForm(d *matchFile, f *fixture, final bool) {
	wrong := func(path []any, format string, args ...any) {
		x.find(RuleMatchFile, spot{file: d.file, line: d.line(path...), matchID: f.id}, format, args...)
	}
	if _, err := protocol.ParseTimestamp(d.LastUpdated); err != nil {
		wrong([]any{"last_updated"}, "last_updated: %v", err)
	}
	for i, p := range []*store.MatchPlayer{&d.PlayerA, &d.PlayerB} {
		if a := x.state.Agents[f.ids[i]]; a != nil && a.Name != "" && p.DisplayName != a.Name {
			wrong([]any{[]string{"player_A", "player_B"}[i], "display_name"}, "%s is called %s, but registered as %s", a.ID, quoted(&p.DisplayName), quoted(&a.Name))
		}
	}
	switch d.WrittenBy {
	case store.WrittenByReferee:
	case store.WrittenByManager:
		x.checkSecondHand(d, wrong)
	default:
		wrong([]any{"written_by"}, "written_by is %s: referee or manager", quoted(&d.WrittenBy))
	}
	if d.Refusal != nil && d.Lifecycle.State != store.StateDisputed {
		wrong([]any{"refusal"}, "it has a refusal by the manager, but is in state %s", quoted(&d.Lifecycle.State))
	}
	x.checkLifecycle(d, final, wrong)
}

// checkSecondHand looks for what a manager, who writes of a match what was
// reported, cannot know.
func (x *examination) checkSecondHand(d *matchFile, wrong func(path []any, format string, args ...any)) {
	for _, c := range []struct {
		member string
		there  bool
	}{
		{"transcript", len(d.Transcript) > 0},
		{"transcript_omitted", d.Omitted != 0},
		{"conversation_id", d.ConversationID != ""},
		{"player_A", d.PlayerA.EntropyCommitment != ""},
		{"player_B", d.PlayerB.EntropyCommitment != ""},
	} {
		if c.there {
			path := []any{c.member}
			if c.member == "player_A" || c.member == "player_B" {
				path = append(path, "entropy_commitment")
			}
			wrong(path, "it is said to be written by the manager, but its %v is what only a referee knows", path[len(path)-1])
		}
	}
}

// standing is how far along its states a match is; 0 for none that is known.
func standing(state string) int {
	switch state {
	case store.StateAssigned:
		return 1
	case store.StateWaitingForPlayers:
		return 2
	case store.StateCollectingChoices:
		return 3
	case store.StateDrawingNumber:
		return 4
	case store.StateFinished:
		return 5
	case store.StateDisputed:
		return 6
	case store.StateAcknowledged, store.StateAbandoned:
		return 7
	}
	return 0
}

// checkLifecycle follows a match through its states.
func (x *examination) checkLifecycle(d *matchFile, final bool, wrong func(path []any, format string, args ...any)) {
	l := &d.Lifecycle
	been := map[string]bool{}
	before := ""
	for i, s := range l.States {
		at := []any{"lifecycle", "states", i, "state"}
		switch {
		case standing(s.State) == 0:
			wrong(at, "%s is no state of a match", quoted(&s.State))
		case standing(s.State) <= standing(before) && (s.State != store.StateDisputed || before != s.State),
			s.State == store.StateAbandoned && been[store.StateFinished]:
			wrong(at, "state %s does not come after %s", quoted(&s.State), quoted(&before))
		case i == 0 && d.WrittenBy == store.WrittenByReferee && s.State != store.StateAssigned:
			wrong(at, "state %s is the first: a match is assigned before", quoted(&s.State))
		}
		if _, err := protocol.ParseTimestamp(s.At); err != nil {
			wrong([]any{"lifecycle", "states", i, "at"}, "at: %v", err)
		}
		been[s.State], before = true, s.State
	}
	if l.State != before {
		wrong([]any{"lifecycle", "state"}, "state is %s, but %s is the last of its states", quoted(&l.State), orNone(before))
		return
	}
	at := []any{"lifecycle", "state"}
	switch {
	case final && l.State != store.StateAcknowledged:
		wrong(at, "state is %s, but a match's own file is written when the manager has acknowledged the result", quoted(&l.State))
	case !final && l.State == store.StateAcknowledged:
		wrong(at, "state is %s, but an attempt that was acknowledged has no file of its own: the match's has all of it", quoted(&l.State))
	case !final && l.State != store.StateFinished && l.State != store.StateDisputed && l.State != store.StateAbandoned:
		wrong(at, "state is %s: an attempt's file is written when it is finished or given up", quoted(&l.State))
	case d.Result == nil && l.State != store.StateAbandoned:
		if !final { // the absence in a match's own was named
			wrong(at, "state is %s, but there is no result", quoted(&l.State))
		}
	case d.Result != nil && l.State == store.StateAbandoned:
		wrong([]any{"result"}, "it was given up, but has a result")
	case d.Result != nil && d.WrittenBy == store.WrittenByReferee:
		passed := []string{store.StateFinished}
		if d.Result.Status != protocol.StatusTechnicalLoss {
			passed = []string{store.StateCollectingChoices, store.StateDrawingNumber, store.StateFinished}
		}
		for _, state := range passed {
			if !been[state] {
				wrong([]any{"lifecycle", "states"}, "it ended with %s, but was never in state %s", quoted(&d.Result.Status), state)
				return
			}
		}
	}
}

// left tells of an attempt's file that is still there.
func (x *examination) left(d *matchFile, f *fixture, at spot) {
	r := f.Report
	who := fmt.Sprintf("attempt %d at %s by %s", d.Attempt, f.id, clip(d.RefereeID))
	counts := r != nil && r.Number == d.Attempt && r.RefereeID == d.RefereeID
	switch state := d.Lifecycle.State; {
	case state == store.StateFinished && counts:
		x.compareFile(d, f)
		if x.completed() {
			x.note(RuleAbandoned, at, "%s has the result that counts; its referee stopped before it could tidy the file away", who)
		}
	case state == store.StateFinished && r != nil:
		x.note(RuleAbandoned, at, "%s came to a result, but attempt %d by %s counts", who, r.Attempt, clip(r.RefereeID))
	case state == store.StateFinished:
		x.note(RuleAbandoned, at, "%s came to a result that was never reported", who)
	case state == store.StateDisputed && d.Refusal != nil:
		x.note(RuleDispute, at, "%s came to a result that the manager did not take: %s %.200q", who, quoted(&d.Refusal.ErrorCode), d.Refusal.Detail)
	case state == store.StateDisputed:
		x.note(RuleDispute, at, "%s came to a result that the manager did not take", who)
	case state == store.StateAbandoned:
		x.note(RuleAbandoned, at, "%s was given up", who)
	}
}
