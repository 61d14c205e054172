package origins

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/retain"
)

// Twins of Atmosphere, by the names of its own tests. Nearly all are tested
// elsewhere; "here" says where Posthouse differs on purpose.
//
//	InMemoryCheckpointStoreTest, SqliteCheckpointStoreTest, PostgresCheckpointStoreTest
//	  saveAndLoadRoundTrip, saveAndLoad .................. ledger/a saved checkpoint is got by its id
//	  loadMissingReturnsEmpty ............................ ledger/an unknown id is not found
//	  saveReplacesExistingId, saveOverwritesExisting ..... ledger/replace adds a revision
//	  saveReplacesExistingId without asking (here refused) ledger/saving again with equal content changes nothing
//	  forkCreatesChildWithParentLink, fork ............... ledger/a fork is a child with its source recorded
//	  forkUnknownSourceThrows ............................ ledger/an unknown id is not found
//	  listFiltersByCoordinationId, ByAgentName, ByTimeRange  ledger/lists filter and order
//	  listSinceUntilNarrowsByTimestamp ................... list/each filter
//	  listAppliesLimit, listReturnsStableOrderByCreatedAt  ledger/lists filter and order; ledger/checkpoints of one millisecond keep their order
//	  deleteRemovesSnapshot .............................. ledger/delete refuses, orphans or takes the subtree
//	  deleteCoordinationRemovesAllMatching ............... ledger/delete a thread, a coordination; ledger/a coordination is deleted from among others
//	  listenersFireOnSaveLoadForkAndDelete ............... ledger/one event for each operation
//	  listenerExceptionsDoNotAbortOperation .............. ledger/a panicking observer harms nothing
//	  listenerReceivesDeleteEvents ....................... ledger/one event for each operation
//	  removeListenerStopsDelivery (here who comes and goes watches)  watch/ends with its context
//	  enforcesMaxSnapshotsByEvictingOldest ............... ledger/the cap evicts the oldest, never a head or a question
//	  evictsOldestBeyondCap, capIsGlobalAcrossCoordinations  ledger/the cap evicts the oldest, never a head or a question
//	  dormantCoordinationsResumeAnchorSurvivesUnrelatedTraffic  ledger/the cap evicts the oldest, never a head or a question
//	  rejectsNonPositiveMaxSnapshots ..................... ledger.TestOptionsAreRefusedByField
//	  rejectsInvalidTableName (no name is a setting; one too odd is data)  ids/foreign ids with odd characters
//	  concurrentSavesArePersistedWithoutLoss ............. ledger/concurrent saves of many threads lose nothing
//	  persistsAcrossRestart .............................. reopen/everything is there again
//	  metadataRoundTrips ................................. ledger/a saved checkpoint is got by its id
//	  typedRecordStateRoundTripsFaithfully ............... pains.TestPain15TypesSurviveOrAreRefusedByName
//	  collectionStateFallsBackToGenericMapping (here refused by name)  pains.TestPain15TypesSurviveOrAreRefusedByName
//	  migratesLegacySchemaMissingStateType ............... sqlschema.TestMigrateRunsWhatIsMissing
//	  the store that keeps nothing ....................... memstore.TestNoop
//	ReviewRegressionTest
//	  overwriteWithDifferentCoordinationUpdatesIndex ..... ledger/replace adds a revision
//	WorkflowSnapshotTest
//	  rootSnapshotHasNoParent ............................ TestCheckpointsAsValues
//	  deriveWithLinksToParentAndKeepsCoordinationId ...... TestCheckpointsAsValues
//	  builderDefaultsFillInIdAndCreatedAt ................ TestCheckpointsAsValues
//	  coordinationIdIsRequired (here there is a default) . TestCheckpointsAsValues
//	  nullMetadataIsTreatedAsEmpty ....................... TestCheckpointsAsValues
//	  metadataIsImmutableCopy ............................ ledger/what is passed in and handed out is copied
//	CheckpointIdTest
//	  randomProducesUniqueValues ......................... internal/core.TestIDsAscend
//	  ofWrapsValue, equalByValue ......................... ledger/foreign ids are kept as they are
//	  rejectsNullValue, rejectsBlankValue ................ TestBlankIDs
//	CheckpointCipherTest
//	  cipherRoundTripsAndDbHoldsOnlyCiphertext ........... ledger/with a cipher nothing is stored in the clear; sqlitestore.TestNothingInTheClearOnDisk
//	  legacyPlaintextRowsStayReadable .................... ledger/plain records of before stay readable
//	  wrongKeyFailsClosed ................................ ledger/without the right key nothing opens
//	  defaultStoreStaysPlaintext ......................... ledger.TestEncryptionStatus
//	SchemaMigrationsTest
//	  fresh, reopen is a no-op ........................... sqlschema.TestMigrateRunsWhatIsMissing
//	  adopt unstamped, independent components (here a file that is not a ledger's is refused)  sqlitestore.TestOpenRefuses
//	  newer refuses ...................................... sqlschema.TestNewerIsRefused, sqlitestore.TestNewerSchema
//	  failing step rolls back ............................ sqlschema.TestMigrateFailsAtAnyCallAndGoesOnFromThere
//	CheckpointingCoordinationJournalTest
//	  delegatesRecord .................................... coord.TestCheckpointingDelegatesRecord
//	  persistsSnapshotForMatchingEvent ................... coord.TestCheckpointingPersistsACheckpointForAMatchingEvent
//	  buildsParentChainAcrossEventsInSameCoordination .... coord.TestCheckpointingBuildsAParentChain
//	  separateCoordinationsHaveIndependentChains ......... coord.TestCheckpointingKeepsCoordinationsApart
//	  onAgentBoundariesFilter ............................ coord.TestCheckpointingFilters
//	  lastSnapshotReflectsMostRecentEvent ................ coord.TestLastCheckpointIsTheMostRecent
//	  stopClearsInternalState (here there is none) ....... coord.TestCheckpointingHasNoStateOfItsOwn
//	  queryDelegates ..................................... coord.TestCheckpointingQueriesBelow
//	  missing there: the chain after a restart ........... coord.TestAfterARestartTheParentIsTheNewestHead
//	  missing there: events at once ...................... coord.TestConcurrentEventsBecomeAChain
//	WorkflowTest
//	  linearExecutionAdvances, emptyStepsRejected ........ flow.TestFlowParksAndGoesOn, flow.TestBadCalls
//	  hibernateReturnsImmediatelyAndPersistsState ........ flow.TestFlowParksAndGoesOn
//	  resumeAfterHibernateContinuesAtNextStep ............ flow.TestPassivation
//	  freshRunSkipsInitialStateWhenSnapshotExists ........ flow.TestWorkflowResumesAcrossSQLiteClose
//	  retrySucceedsWithinBudget .......................... step.TestRetryWithinItsBudget
//	  retryExhaustedReturnsFailed ........................ step.TestRetryBudgetIsOnRecord
//	  explicitFailIsPropagated ........................... flow.TestFlowFailsAndGoesOn
//	  duplicateStepNamesRejected (here a result each) .... flow.TestWorkflowStepsOfOneName
//	  deleteAllSnapshots ................................. flow.TestWorkflowStepsOfOneName
//	WorkflowSqliteResumeTest
//	  workflowResumesAcrossSqliteStoreClose .............. flow.TestWorkflowResumesAcrossSQLiteClose
//	AgentPassivationTest
//	  round trip, unique ids, no signal (here it waits on)  flow.TestPassivation
//	  resume merges over base, missing checkpoint throws   flow.TestPassivation
//	DurableTimerServiceTest
//	  firesDueTimerExactlyOnce, doesNotFireBeforeDue ..... runner.TestTimerFiresOnce
//	  claimMakesFiringExactlyOnceAcrossTwoServices ....... runner.TestTimerFiresOnce
//	  reArmsAnOverdueTimerAfterRestart ................... runner.TestOverdueTimerFiresAtStartUp
//	  callbackFailureIsContained ......................... runner.TestFailureAfterATimerIsContained
//	  autoRejectsAnApprovalWhenTheTimerFires ............. gate.TestOnTimeout
//	DurableApprovalExpiryTest
//	  firedTimerMarksThePendingApprovalFailed ............ ledger/an expired gate is never an approval
//	  committedDecisionIsNeverDemotedByAFiringTimer ...... runner.TestDeadlineDoesNotDemoteADecision
//	  cancelDisarms ...................................... runner.TestDeadlineDoesNotDemoteADecision
//	  timerArmedBeforeARestartFires ...................... runner.TestDeadlineArmedBeforeARestartFires
//	SqliteEffectJournalTest
//	  durableRoundTripAcrossReopen ....................... flow.TestWorkflowResumesAcrossSQLiteClose
//	  appendIsIdempotentReturningSameSeq ................. append/the same entry again is success; ledger/a step's result is stored once
//	  commitWithoutAppendThrows .......................... step.TestBadUse
//	  markFailedRefusesToDemote .......................... flow.TestCommittedEffectIsNeverDemoted
//	  maxEffectsPerRunOverflowFailsRatherThanDrops ....... flow.TestEffectsBeyondTheOriginsLimit
//	  retentionEvictsOldestTerminalButNeverNonTerminal ... ledger.TestRetentionKeepsWhatItMust
//	  leaseIsSingleWriterAndExpires ...................... flow.TestOneProcessRunsAThread
//	CoordinationForkTest
//	  forkExecutesUnderNewCoordinationIdAndRecordsForkLink  flow.TestCoordinationFork, coord.TestForkAtAnEvent
//	  forkRejectsUnknownParentEventId, forkAcceptsExplicitNewCoordinationId  coord.TestForkAtAnEvent
//	  forkProjectionShowsForkCreatedAsRoot ............... ledger/a fork into a new thread remembers its source
//	ApprovalRegistryTest, ApprovalRegistryRichTest
//	  approve, deny, edited arguments, respond, malformed  gate.TestAnswersByMessage
//	  non-approval text, expired id ...................... gate.TestRouting
//	  await times out .................................... gate.TestNoAnswer
//	  concurrent ones are independent, ids are unique .... gate.TestApprovalsAreIndependent
//	  cancelAllPending ................................... gate.TestCloseDeniesAll
//	ClusterApprovalRelayTest
//	  answered on another node, duplicate ................ gate.TestAnswersFromAnywhere, server.TestApprovalAnsweredAtAnotherServer
//	  unowned dropped .................................... server.TestUnknownApprovalIsDropped
//	  reinstall does not resolve twice ................... gate.TestFirstOnRecordWins, gate.TestRelayedApprovalEndsWithItsCall
//	VirtualThreadApprovalStrategyTest, ToolExecutionHelperApprovalTest
//	  registersBeforeEmitting ............................ gate.TestRegisteredBeforeAnnounced
//	  failsClosedWhenStrategyIsNullAndApprovalRequired ... gate.TestFailsClosed
//	ToolApprovalDurabilityTest
//	  approvedDecisionSurvivesCrashResumeWithoutRePrompting  gate.TestAnswerSurvivesACrashWithoutAskingAgain, coord.TestApprovedToolSurvivesACrash
//	  timeoutIsNotReplayedAsADecision .................... gate.TestTimeoutIsNotReplayedAsADecision
//	  differentPrincipalCannotInheritARecordedApproval ... gate.TestAnotherPrincipalCannotInheritAnApproval
//	  nonDurableGatePromptsEveryDrive .................... gate.TestWithoutATaskEachCallIsAsked
//	ExecutionHandleTest
//	  native cancel once, late error and complete ignored  coord.TestHandleTellsTheEnd, graph.TestHandleCancels
//	  the first writer's reason stays .................... coord.TestHandleTellsTheEnd, graph.TestHandleCancels; ledger/cancelled or done: one wins
//	CommitmentRecordTest (here entries are signed, not single records)
//	  round trip ......................................... sign.TestSignedEntryRoundTrip
//	  tamper fails, wrong key fails ...................... sign.TestTamperedEntryFails, sign.TestWrongKeyFails
//	  unsigned ........................................... sign.TestUnsignedStore
//	JournalingAgentFleetCommitmentTest
//	  flag off is none (here a signer is an option) ...... sign.TestUnsignedStore
//	  one for each parallel and pipeline call (here for each call)  coord.TestEventsInOrderWithTheirCauses
//	  signer failure does not block (here it stops) ...... sign.TestSignerFailureStopsTheCommit
//	CheckpointApprovalE2ETest
//	  default approve recovers the request ............... refund.TestApprovedAfterARestart, server.TestRecover
//	checkpoint-agent.spec.ts
//	  REST reachable, 404 of show, delete and approve .... server.TestUnknownParametersAndIDs
//	  SQLite by default and the file exists .............. e2e.TestWalkEncrypted
//	  live probe writes coordination "dispatch" .......... refund.TestApprovedAfterARestart
//	  approve creates a child with parentId .............. server.TestApproveCheckpoint
//	  survives a restart ................................. e2e.TestWalk, e2e.TestKill
//	  store started exactly once ......................... sqlitestore.TestOneProcessWrites

// WorkflowSnapshotTest: what a checkpoint has before it is saved, and what
// saving fills in.
func TestCheckpointsAsValues(t *testing.T) {
	l := newLedger(t)
	before := time.Now().Truncate(time.Millisecond)
	root := posthouse.Root("dispatch", posthouse.State{})
	root.Agent, root.Metadata = "analyzer", map[string]string{"risk": "low"}
	if !root.IsRoot() {
		t.Fatalf("a root has the parent %q", root.Parent)
	}
	saved := must(l.Save(t.Context(), root, nil))(t)
	if !saved.IsRoot() || saved.ID == "" || saved.CreatedAt.Before(before) {
		t.Fatalf("saved as %+v", saved.Header)
	}
	child := saved.Derive(posthouse.State{})
	if child.Parent != saved.ID || child.ID != "" || child.Coordination != "dispatch" || child.Agent != "analyzer" || child.Metadata["risk"] != "low" {
		t.Fatalf("derived %+v", child)
	}
	child.Metadata = nil
	if got := must(l.Save(t.Context(), child, nil))(t); len(got.Metadata) != 0 || got.Coordination != "dispatch" {
		t.Fatalf("saved without metadata as %+v", got)
	}
	if got := must(l.Save(t.Context(), posthouse.Root("", posthouse.State{}), nil))(t); got.Coordination != posthouse.DefaultThread {
		t.Fatalf("of no coordination: %+v", got.Header)
	}
}

// CheckpointIdTest: no call takes a blank id for one that is not there.
func TestBlankIDs(t *testing.T) {
	l := newLedger(t)
	for _, id := range []posthouse.ID{"", " ", "\t\n"} {
		_, get := l.Get(t.Context(), id)
		_, fork := l.Fork(t.Context(), id, nil)
		_, del := retain.Delete(t.Context(), l, id, nil)
		c := posthouse.Root("c", posthouse.State{})
		c.Parent = id
		_, save := l.Save(t.Context(), c, nil)
		for i, err := range []error{get, fork, del, save} {
			if root := i == 3 && id == ""; !root {
				wantCode(t, err, posthouse.ErrInvalid)
			}
		}
	}
}
