package audit

import "evenodd/league/journal"

// The rules that findings and notes name. They are stable: programs may search
// for them.
const (
	RuleHashChain    = "hash_chain"   // every line of the journal holds the hash of the line before
	RuleEvent        = "event"        // every event can have happened after those before it
	RuleTime         = "time"         // times are valid and do not go back
	RuleRegistration = "registration" // a registration is dropped for silence only after the grace period, and its id is never granted again
	RuleSchedule     = "schedule"     // the pairings follow from the ordered players, and from the results where the format says so
	RuleOneResult    = "one_result"   // a match has one result, by a referee that had the match
	RuleCommitment   = "commitment"   // revealed secrets match the commitments made before
	RuleDraw         = "draw"         // the number follows from the secrets
	RuleVerdict      = "verdict"      // status and winner follow from choices and number
	RulePoints       = "points"       // points follow from the verdict by the league's scoring
	RuleLifecycle    = "lifecycle"    // agents are suspended, shut down and made to forfeit only for their failures, or by an organiser
	RuleStandings    = "standings"    // the standings follow from the results
	RuleRounds       = "rounds"       // rounds are played one after the other, and rounds.json agrees
	RuleAgents       = "agents"       // agents.json has the agents of the journal
	RuleHistory      = "history"      // the histories of the players agree with the journal
	RuleMatchFile    = "match_file"   // a match file is about one match of the league and agrees with the journal
	RuleTranscript   = "transcript"   // the result follows from the transcript
	RuleNonceReused  = "nonce_reused" // no two matches are drawn with the same nonce
	RuleJournalHead  = "journal_head" // the events that signed heads and other files name are in the journal
	RuleSignature    = "signature"    // the players signed the moves, entropies and commitments of the results
	RuleUnsigned     = "unsigned"     // results that no signature proves
	RuleEvidence     = "evidence"     // the grade of a result follows from what its report shows, and is one that the league records
	RuleKeys         = "keys"         // the keys are those that the auditor or a player knows
	RuleSchema       = "schema"       // files are readable
	RuleAbandoned    = "abandoned"    // attempts that were given up after the referee had committed to its nonce
	RuleDoubt        = "doubt"        // no result rests on a rejected report
	RuleDispute      = "dispute"      // a second, different result of a match, or one that a player denies
	RuleConformance  = "conformance"  // replies conform to the protocol
	RuleDecision     = "decision"     // an organiser decides only what the rules allow; each decision is noted
)

// A check is a row of the table of checks. Exactly one of its functions is set.
type check struct {
	rule     string // the rule that most of its findings name
	event    func(*auditor, *journal.Event, location)
	league   func(*auditor)
	exchange func(*transcriptCheck, *exchange)
}

// checks is the table of all checks, in their order. The audit makes one walk over
// the journal with the event checks: each sees the state before its event, and
// ends with the first event that cannot be folded. Then it makes the league
// checks; checkMatches and checkAttempts read the match files and make one walk
// over each transcript with the exchange checks.
func checks() []check {
	return []check{
		{rule: RuleRegistration, event: (*auditor).checkDrop},
		{rule: RuleLifecycle, event: (*auditor).checkSuspension},
		{rule: RuleLifecycle, event: (*auditor).checkRoundAgents},
		{rule: RuleLifecycle, event: (*auditor).checkPlayedByAbsent},
		{rule: RuleLifecycle, event: (*auditor).checkAssignmentOfAbsent},
		{rule: RuleLifecycle, event: (*auditor).checkForfeit},
		{rule: RuleEvent, event: (*auditor).checkStatement},
		{rule: RuleSchedule, event: (*auditor).checkPairings},

		{rule: RuleSchedule, league: (*auditor).checkSchedule},
		{rule: RuleStandings, league: (*auditor).checkStandings},
		{rule: RuleJournalHead, league: (*auditor).checkSignedHead},
		{rule: RuleKeys, league: (*auditor).checkKeys},
		{rule: RuleRounds, league: (*auditor).checkRounds},
		{rule: RuleAgents, league: (*auditor).checkAgentsFile},
		{rule: RuleOneResult, league: (*auditor).noteTokenless},
		{rule: RuleMatchFile, league: (*auditor).checkMatches},
		{rule: RuleAbandoned, league: (*auditor).checkAttempts},
		{rule: RuleHistory, league: (*auditor).checkHistories},
		{rule: RuleJournalHead, league: (*auditor).checkPinnedHead},
		{rule: RuleUnsigned, league: (*auditor).noteUnsigned},
		{rule: RuleEvidence, league: (*auditor).noteStated},
		{rule: RuleConformance, league: (*auditor).noteNonconforming},

		{rule: RuleTime, exchange: (*transcriptCheck).checkTime},
		{rule: RuleTranscript, exchange: (*transcriptCheck).checkOrder},
		{rule: RuleTranscript, exchange: (*transcriptCheck).checkTokens},
		{rule: RuleTranscript, exchange: (*transcriptCheck).checkMessageType},
		{rule: RuleTranscript, exchange: (*transcriptCheck).checkTiming},
		{rule: RuleTranscript, exchange: (*transcriptCheck).checkRequest},
		{rule: RuleTranscript, exchange: (*transcriptCheck).checkResponse},
	}
}
