package protocol

// Names of the events in log files: the member event_type of a line (spec 003 §9.5). Readers of
// logs match these names, not the sentences beside them. The events of a journal have names of
// their own, in league/journal.

// Log events of the league manager.
const (
	EventRegistered              = "REGISTERED"
	EventAgentAnswered           = "AGENT_ANSWERED_ITS_FIRST_PING"
	EventAgentsUnlisted          = "THE_ROSTER_NO_LONGER_LISTS_REGISTERED_AGENTS"
	EventAgentSilent             = "NO_ANSWER_FROM_THE_AGENTS_ENDPOINT_WITHIN_THE_GRACE_PERIOD_A"
	EventRegistrationDropped     = "REGISTRATION_DROPPED"
	EventTooFewAtStart           = "THE_TIME_OF_THE_START_HAS_COME_BUT_TOO_FEW_HAVE_REGISTERED"
	EventStartPlanned            = "THE_START_IS_PLANNED"
	EventTooFewRegistered        = "THE_REGISTRATION_WINDOW_IS_OVER_BUT_TOO_FEW_HAVE_REGISTERED"
	EventOrganiserDecided        = "ORGANISER_DECIDED"
	EventRematchBegins           = "REMATCH_BEGINS"
	EventLeagueStarted           = "THE_LEAGUE_BEGINS"
	EventSeedsMissing            = "NO_PLAYER_HAS_THESE_NAMES_OF_THE_SEEDING"
	EventSettingsChanged         = "THE_SETTINGS_OF_GAME_LEGS_SCORING_AUTH_OR_REGISTRATION_GRACE"
	EventRoundAnnounced          = "ROUND_ANNOUNCEMENT_SENT"
	EventRoundCompleted          = "ROUND_COMPLETED"
	EventLeagueCompleted         = "THE_LEAGUE_IS_OVER"
	EventAssignmentFailed        = "THE_MATCH_COULD_NOT_BE_HANDED_OVER"
	EventAssignmentRefused       = "THE_REFEREE_DOES_NOT_TAKE_THE_MATCH"
	EventReportMissing           = "NO_REPORT_IN_TIME_ANOTHER_ATTEMPT"
	EventCommitmentChanged       = "THE_REFEREE_HAS_BEGUN_THIS_ATTEMPT_AGAIN_WITH_ANOTHER_COMMIT"
	EventMatchForfeited          = "MATCH_FORFEITED"
	EventResultRecorded          = "RESULT_RECORDED"
	EventResultDisputed          = "DISPUTED_A_DIFFERENT_RESULT_OF_A_MATCH_THAT_HAS_ONE"
	EventDrawMissing             = "REFEREE_COMMITS_TO_NO_DRAW"
	EventResultStated            = "RESULT_RESTS_ON_THE_WORD_OF_ITS_REFEREE"
	EventResultDenied            = "RESULT_DENIED_BY_A_PLAYER"
	EventRefereeTokenless        = "REFEREE_SENDS_NO_TOKEN"
	EventResultUnsigned          = "RESULT_UNSIGNED"
	EventScoreDiffers            = "THE_REPORTED_SCORE_DIFFERS_FROM_THE_LEAGUES_SCORING_WHICH_CO"
	EventReportRejected          = "REPORT_REJECTED_ASSIGNING_THE_MATCH_TO_ANOTHER_REFEREE"
	EventLostAttemptRecorded     = "MATCH_RECORDED_WITHOUT_A_REPORT"
	EventRefereeFailed           = "A_REFEREE_FAILED"
	EventAgentSuspended          = "AN_AGENT_GETS_NOTHING_TO_DO_ANY_MORE"
	EventAgentBack               = "AN_AGENT_IS_BACK"
	EventRequestRefused          = "REQUEST_REFUSED"
	EventRefusalsOmitted         = "REFUSED_REQUESTS_OMITTED"
	EventBroadcastDropped        = "THE_AGENT_IS_TOO_SLOW_A_BROADCAST_TO_IT_WAS_DROPPED"
	EventBroadcastUnacknowledged = "A_BROADCAST_WAS_NOT_ACKNOWLEDGED"
	EventBroadcastsCounted       = "BROADCASTS_NOT_ACKNOWLEDGED_OR_DROPPED"
	EventFileNotWritten          = "A_FILE_COULD_NOT_BE_WRITTEN_THE_JOURNAL_HAS_WHAT_BELONGS_IN"
	EventResultFileNotWritten    = "A_MATCH_FILE_COULD_NOT_BE_WRITTEN_THE_JOURNAL_HAS_THE_RESULT"
	EventUpdatesStopped          = "MCP_CLIENTS_GET_NO_MORE_UPDATES_OF_RESOURCES"
	EventPageFailed              = "PAGE_CANNOT_BE_SHOWN"
)

// Log events of every agent process.
const (
	EventRegistrationRetried = "CANNOT_REGISTER_YET_TRYING_AGAIN"
	EventRegistrationLost    = "THE_MANAGER_DOES_NOT_KNOW_THIS_AGENT_ANY_MORE_REGISTERING_AN"
	EventIdentityNotStored   = "CANNOT_KEEP_THIS_AGENTS_IDENTITY_STARTED_AGAIN_IT_WILL_NOT_B"
	EventManagerKeyChanged   = "MANAGER_KEY_CHANGED"
	EventListening           = "LISTENING"
	EventManagerAway         = "THE_MANAGER_IS_AWAY_THIS_AGENT_WAITS_FOR_IT"
	EventManagerBack         = "THE_MANAGER_IS_BACK"
	EventDiskSpaceLow        = "DISK_SPACE_IS_LOW"
	EventDiskSpaceBack       = "DISK_SPACE_IS_NOT_LOW_ANY_MORE"
	EventHistoryIncomplete   = "THE_HISTORY_IS_NOT_COMPLETE_ON_DISK"
	EventInterrupted         = "INTERRUPTED_AFTER_THE_LEAGUE_WAS_OVER"
)

// Log events of referees.
const (
	EventMatchReported                = "MATCH_REPORTED"
	EventReportRetried                = "CANNOT_REPORT_YET_TRYING_AGAIN"
	EventReportRefused                = "THE_MANAGER_REFUSES_THE_REPORT"
	EventReportResumed                = "FINISHED_BEFORE_AND_NOT_ACKNOWLEDGED_REPORTING_IT_AGAIN"
	EventPlayerFailed                 = "A_PLAYER_FAILED"
	EventPlayerAsksToWait             = "A_PLAYER_ASKS_TO_WAIT"
	EventRepliesNotConforming         = "A_PLAYERS_REPLIES_DO_NOT_CONFORM"
	EventGameOverUnacknowledged       = "GAME_OVER_WAS_NOT_ACKNOWLEDGED"
	EventGameErrorUnacknowledged      = "GAME_ERROR_WAS_NOT_ACKNOWLEDGED"
	EventAttemptVoid                  = "A_QUESTION_WAS_PUT_TO_NO_AVAIL_BY_NO_FAULT_OF_THE_PLAYER"
	EventAbandonedMatchesNotRequested = "CANNOT_ASK_THE_MANAGER_FOR_THE_MATCHES_THAT_WERE_GIVEN_UP_IT"
	EventMatchFileNotWritten          = "A_MATCHS_FILE_CANNOT_BE_WRITTEN"
	EventMatchFileUnnamable           = "THESE_IDS_CANNOT_NAME_A_FILE_NOTHING_IS_WRITTEN_OF_THE_MATCH"
	EventAttemptFileLeft              = "AN_ATTEMPTS_FILE_IS_LEFT_ALTHOUGH_THE_MATCHS_OWN_IS_THERE"
	EventMatchFileUnusable            = "A_MATCHS_FILE_IS_OF_NO_USE_AND_THE_MATCH_IS_PLAYED_AGAIN_WHE"
	EventFinishedMatchesUnreadable    = "CANNOT_LOOK_FOR_FINISHED_MATCHES_THOSE_THAT_ARE_THERE_WILL_B"
	EventTranscriptNotDelivered       = "A_REFEREE_DID_NOT_DELIVER_A_TRANSCRIPT"
	EventResultsTorn                  = "AN_INCOMPLETE_LINE_OF_THE_RESULTS_WAS_REMOVED"
	EventOldMatchFilesNotMoved        = "THE_MATCH_FILES_OF_AN_OLDER_LEAGUE_CANNOT_BE_MOVED_THEY_MAY"
	EventOldMatchFilesMoved           = "THERE_WERE_MATCH_FILES_OF_AN_OLDER_LEAGUE_OF_THIS_NAME_THEY"
)

// Log events of players.
const (
	EventStrategyFailed         = "THE_STRATEGY_CANNOT_DECIDE"
	EventRefereeUnauthenticated = "THE_REFEREE_OF_THIS_MATCH_DOES_NOT_PROVE_ITSELF"
	EventDrawCommitmentChanged  = "THE_REFEREE_BINDS_ITSELF_TO_ANOTHER_DRAW_THAN_BEFORE_THE_FIR"
	EventDrawCommitmentBroken   = "THE_DRAW_IS_NOT_THE_ONE_THAT_THE_REFEREE_WAS_BOUND_TO_THE_AU"
	EventSignatureRefused       = "QUESTION_NOT_SIGNED"
	EventDecisionContradicted   = "RESULT_CONTRADICTS_THE_PLAYERS_DECISION"
	EventDecisionNotStored      = "DECISION_NOT_STORED"
	EventHeadInvalid            = "JOURNAL_HEAD_SIGNATURE_INVALID"
	EventMatchResumed           = "TAKING_UP_A_MATCH_THAT_BEGAN_BEFORE_THIS_PLAYER_WAS_RESTARTE"
	EventGameErrorReceived      = "THE_REFEREE_REPORTS_AN_ERROR"
	EventResultFromStandings    = "NO_GAME_OVER_COULD_BE_READ_THE_RESULT_IS_TAKEN_FROM_THE_STAN"
	EventTotalsMissing          = "MANAGER_DID_NOT_RETURN_THIS_PLAYERS_TOTALS"
	EventHistoryUnnamable       = "NO_HISTORY_IS_KEPT_THE_PLAYERS_ID_CANNOT_NAME_A_FOLDER"
	EventHistoryUnusable        = "THE_HISTORY_CANNOT_BE_USED"
	EventHistoryNotMoved        = "NO_HISTORY_IS_KEPT_THE_ONE_THAT_IS_THERE_CANNOT_BE_MOVED_ASI"
	EventHistoryMoved           = "THE_HISTORY_THAT_WAS_THERE_IS_NOW_HERE"
	EventHistoryNotWritten      = "THE_HISTORY_CANNOT_BE_WRITTEN_TRYING_AGAIN_AFTER_THE_NEXT_RO"
)

// Log events of strategies that run outside the process.
const (
	EventBotStarted   = "THE_BOT_IS_STARTED"
	EventBotChose     = "THE_BOT_HAS_CHOSEN"
	EventBotChattered = "THE_BOT_PRINTS_WHAT_IS_NO_ANSWER_STANDARD_OUTPUT_IS_FOR_ANSW"
	EventBotSaid      = "THE_BOT_SAYS"
	EventBotExited    = "THE_BOT_HAS_ENDED_BY_ITSELF_AND_IS_STARTED_AGAIN"
	EventBotFlooded   = "THE_BOT_PRINTS_WITHOUT_END_AND_IS_STARTED_AGAIN"
	EventBotStopped   = "THE_BOT_HAS_ENDED"
	EventServerChose  = "MCP_SERVER_HAS_CHOSEN"
	EventServerFailed = "MCP_SERVER_DID_NOT_CHOOSE"
	EventHostChose    = "HOST_HAS_CHOSEN"
	EventHostSilent   = "HOST_DID_NOT_CHOOSE_IN_TIME"
	EventModelChose   = "THE_LANGUAGE_MODEL_HAS_CHOSEN"
	EventModelFailed  = "THE_LANGUAGE_MODEL_HAS_NOT_CHOSEN_SO_CHANCE_HAS"
	EventModelRetried = "ASKING_THE_LANGUAGE_MODEL_ONCE_MORE"
	EventModelStopped = "THE_LANGUAGE_MODEL_IS_NOT_ASKED_ANY_MORE"
)

// Log events of the translation of third-party forms.
const (
	EventFormLearned                = "LEARNED_THE_FORM_THAT_A_THIRD_PARTY_AGENT_UNDERSTANDS"
	EventToolsListed                = "MCP_TOOLS_LISTED"
	EventFormsRejected              = "THE_AGENT_REJECTED_EVERY_FORM_OF_THIS_CALL"
	EventVersionAssumed             = "PROTOCOL_VERSION_LEAGUE_V2_IS_NOT_A_VERSION_ASSUMING_2_1_0"
	EventDeferredAnswerRefused      = "AN_ANSWER_THAT_WAS_POSTED_LATER_IS_REFUSED"
	EventAnnouncedMatchesNotStarted = "MATCHES_OF_AN_ANNOUNCED_ROUND_CANNOT_BE_BEGUN"
)
