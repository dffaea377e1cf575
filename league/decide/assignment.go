package decide

import (
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// Holder is the referee to which a match was handed last; "" for none, and for a
// referee that declined it, failed with it, lost it by rejected reports, or is suspended, and
// for the attempts before a match was reopened.
func Holder(s *journal.State, id league.MatchID) string {
	recorded, _, _, _ := s.Find(id)
	attempts := recorded.Current()
	if len(attempts) == 0 {
		return ""
	}
	last := attempts[len(attempts)-1]
	if last.Declined || last.Failed || recorded.IsLost(last.Number) || s.Agents[last.Referee].Inactive() {
		return ""
	}
	return last.Referee
}

// NextReferee is the referee that gets the next attempt at a match; "" for none. It
// goes through the referees in turn, from the announced one plus the number of offers,
// without those that are suspended or have failed with this match. A referee that the
// players would refuse (see Unannounced) gets the match only if there is no other, and so does one
// that is the last choice (LastChoice). If players deny the results of the announced
// one, it keeps the match unless another is free.
func NextReferee(s *journal.State, announced string, offers int, failed func(id string) bool) (chosen string) {
	const unannounced, last, none = 1, 2, 4
	referees, least := s.Started.Referees, none
	first := slices.Index(referees, announced) + offers
	keeps := !s.Agents[announced].Tokenless && LastChoice(s, s.Agents[announced])
	for i := range referees {
		id := referees[(first+i)%len(referees)]
		if s.Agents[id].Inactive() || failed(id) {
			continue
		}
		against := 0
		if s.Agents[announced].ShowsAccessTokens() && !s.Agents[id].ShowsAccessTokens() { // its players would refuse it
			against += unannounced
		}
		if LastChoice(s, s.Agents[id]) || keeps && offers == 0 && id != announced && full(s, id) {
			against += last
		}
		if against < least {
			chosen, least = id, against
		}
	}
	return chosen
}

// full tells whether a referee has as many matches of the round as it can conduct at once.
func full(s *journal.State, id string) bool {
	announced := lists.Filter(s.Rounds[s.Round-1].Referees, func(other string) bool { return other == id })
	return len(announced) >= s.Agents[id].Capacity
}

// AttemptFor is the attempt under which a referee gets a match: an earlier one of its
// own if that still stands, unless fresh asks for the next one. Again tells that the
// referee may have the match already.
func AttemptFor(recorded *journal.Match, refereeID string, fresh bool) (number int, again bool) {
	if fresh {
		return recorded.NextAttempt(), false
	}
	attempts := recorded.Current()
	for i, at := range slices.Backward(attempts) {
		last := i == len(attempts)-1
		untouched := at.Declined && !at.Accepted
		switch {
		case at.Referee == refereeID && (last || untouched):
			return at.Number, true
		case !untouched: // the referee of a later attempt may play the match
			return recorded.NextAttempt(), false
		}
	}
	return recorded.NextAttempt(), false
}

// Acceptance decides about a MATCH_ASSIGNMENT_ACK with which a referee accepts an
// attempt. The event binds the referee to its draw; nil if the journal has it already.
// Restarted tells that the referee has begun an attempt again, and would draw again: its
// draw commitment is another one than before.
func Acceptance(recorded *journal.Match, attempt league.Attempt, refereeID string,
	ack *protocol.MatchAssignmentAck) (event *journal.MatchAccepted, restarted bool) {
	assigned := recorded.Attempt(ack.Attempt, refereeID)
	if assigned == nil { // a third-party agent may name none
		assigned = recorded.Attempt(attempt.Number, refereeID)
	}
	attempt.Number = assigned.Number
	switch {
	case assigned.Accepted && !assigned.Declined && assigned.Commitment == ack.DrawCommitment:
		return nil, false
	case assigned.Commitment != "" && assigned.Commitment != ack.DrawCommitment:
		return nil, true
	}
	return &journal.MatchAccepted{Attempt: attempt, RefereeID: refereeID, DrawCommitment: ack.DrawCommitment}, false
}

// AsksInvited tells whether players can say that an attempt which its referee declines has reached them. They
// remember one of a third-party referee, which may name no attempt, for all attempts at the match; and a referee that
// accepted the attempt before may have invited them then.
func AsksInvited(recorded *journal.Match, attempt league.Attempt, refereeID string,
	thirdParty func(refereeID string) bool) bool {
	assigned := recorded.Attempt(attempt.Number, refereeID)
	if assigned == nil || assigned.Accepted || recorded.Report != nil || recorded.IsLost(attempt.Number) {
		return false
	}
	for _, earlier := range recorded.Attempts[:attempt.Number-1] {
		if thirdParty(earlier.Referee) {
			return false
		}
	}
	return true
}

// Discarded decides about an attempt that its referee declines although it had invited these players: the referee could
// have seen the result and discarded it. It keeps the attempt, without an event, if one player alone says so and no
// other referee can conduct the match: that player could lie. An error, other than a status that declines, may be a
// defect: without another referee the first one gives an event that makes Discarded take the second one as a decline.
func Discarded(s *journal.State, attempt league.Attempt, refereeID string, invited []string,
	fault *protocol.Error) (lost *journal.AttemptLost, erred *journal.MatchDeclined) {
	alone := !hasOther(s, attempt.MatchID, refereeID)
	if len(invited) == 0 || len(invited) == 1 && alone {
		return nil, nil
	}
	if fault != nil && alone && !s.Match(attempt.MatchID).Attempt(attempt.Number, refereeID).Erred {
		return nil, &journal.MatchDeclined{
			Attempt: attempt, RefereeID: refereeID, Reason: reasonOf(fault.Error()), Error: true}
	}
	return &journal.AttemptLost{
		Attempt: attempt, RefereeID: refereeID, Cause: journal.CauseDiscarded,
		Reason: "it declined the match after it had invited " + strings.Join(invited, " and "),
	}, nil
}

// Decline decides about a MATCH_ASSIGNMENT_ACK with which a referee does not accept an
// attempt. Nil if the journal knows that, or if the referee accepted the attempt before:
// then it may still have a result.
func Decline(recorded *journal.Match, attempt league.Attempt, refereeID string,
	ack *protocol.MatchAssignmentAck) *journal.MatchDeclined {
	if assigned := recorded.Attempt(attempt.Number, refereeID); assigned.Accepted || assigned.Declined {
		return nil
	}
	return &journal.MatchDeclined{Attempt: attempt, RefereeID: refereeID, Reason: reasonOf(ack.Reason)}
}

// reasonOf is a reason that a referee gives, as the journal records it.
func reasonOf(text string) string {
	const longest = 200
	return protocol.WithoutTokens(strings.ToValidUTF8(text[:min(len(text), longest)], ""))
}
