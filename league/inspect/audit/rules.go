package audit

// The rules that findings and notes name. They are stable: programs may search
// for them.
const (
	RuleHashChain = "hash_chain" // every line of the journal holds the hash of the line before
	RuleEvent     = "event"      // every event can have happened after those before it
	RuleTime      = "time"       // times are valid and do not go back
	// a registration is dropped for silence only after the grace period, and its id is never granted again
	RuleRegistration = "registration"
	// the pairings follow from the ordered players, and from the results where the format says so
	RuleSchedule   = "schedule"
	RuleOneResult  = "one_result" // a match has one result, by a referee that had the match
	RuleCommitment = "commitment" // revealed secrets match the commitments made before
	RuleDraw       = "draw"       // the number and the draws during a match follow from the secrets
	RuleVerdict    = "verdict"    // status and winner follow from choices and number
	RuleGame       = "game"       // the program of a game is that of the league
	RuleOpening    = "opening"    // the opening of a match follows from the start of the league and the pair
	RuleView       = "view"       // each player was shown what the history of its match lets it see
	RulePoints     = "points"     // points follow from the verdict by the league's scoring
	// agents are suspended, shut down and made to forfeit only for their failures, or by an organiser
	RuleLifecycle   = "lifecycle"
	RuleStandings   = "standings"    // the standings follow from the results
	RuleRounds      = "rounds"       // rounds are played one after the other, and rounds.json agrees
	RuleAgents      = "agents"       // agents.json has the agents of the journal
	RuleHistory     = "history"      // the histories of the players agree with the journal
	RuleMatchFile   = "match_file"   // a match file is about one match of the league and agrees with the journal
	RuleTranscript  = "transcript"   // the result follows from the transcript
	RuleNonceReused = "nonce_reused" // no two matches are drawn with the same nonce
	RuleJournalHead = "journal_head" // the events that signed heads and other files name are in the journal
	RuleSignature   = "signature"    // the players signed the moves, entropies and commitments of the results
	RuleUnsigned    = "unsigned"     // results that no signature proves
	// the grade of a result follows from what its report shows, and is one that the league records
	RuleEvidence    = "evidence"
	RuleKeys        = "keys"        // the keys are those that the auditor or a player knows
	RuleConfig      = "config"      // the files below config are those of the start
	RuleSchema      = "schema"      // files are readable
	RuleAbandoned   = "abandoned"   // attempts that were given up after the referee had committed to its nonce
	RuleDoubt       = "doubt"       // no result rests on a rejected report
	RuleDispute     = "dispute"     // a second, different result of a match, or one that a player denies
	RuleConformance = "conformance" // replies conform to the protocol
	RuleDecision    = "decision"    // an organiser decides only what the rules allow; each decision is noted
)

// checks are the checks of files against the journal that was read before, in their order.
func (a *auditor) checks() []func() {
	return []func(){
		a.checkSignedHead, a.checkKeys, a.noteConfig, a.noteTokenless, a.checkMatches, a.checkAttempts, a.checkHistories,
		a.checkPinnedHead, a.noteUnsigned, a.noteStated, a.noteNonconforming,
	}
}
