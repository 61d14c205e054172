// Package pains holds a test for each thing that users of checkpointers
// complain about most, as far as the models are concerned: TestPain04 is the
// fourth of them. TestExtra are cases that no suite of ours came with. All of
// them, and where those are that are tested elsewhere:
//
//	Pains
//	   1 storage grows with the square of the steps ... pains.TestPain01StorageGrowsWithWhatChanged
//	   2 no retention, no expiry, no copies ........... ledger.TestRetentionReturnsWhatHistoriesTook, ledger.TestRetainEvery; ledger/a copy has the whole history
//	   3 wrong states after forks and prunes .......... ledger.TestAForkNeverSeesTheBranchItLeft, ledger.TestRetentionKeepsWhatItMust
//	   4 an interrupt runs the node's effects again ... pains.TestPain04StepsBeforeAnInterruptRunOnce
//	   5 interrupts share an id, null is no answer .... pains.TestPain05EachInterruptHasItsOwnID
//	   6 one lock around everything ................... pains.TestPain06OneThreadDoesNotHoldUpAnother
//	   7 crashes between two writes ................... pains.TestPain07RecordedWorkIsNotDoneAgain
//	     cancelled, and not on record ................. pains.TestPain07CancelIsOnRecordInEveryMode, pains.TestPain07CancelFromElsewhereLosesNothing
//	   8 two writers on one thread .................... pains.TestPain08TwoWritersOneWins
//	   9 time travel and subgraphs .................... pains.TestPain09ForkInsideASubgraph
//	  10 bytes that build types, filters that are SQL . pains.TestPain10BytesAndFiltersAreData
//	  12 listing reads what is listed ................. pains.TestPain12ListingDoesNotReadStates
//	  13 renamed nodes after a deploy ................. pains.TestPain13ResumeAfterADeploy
//	  14 how long a subgraph's state lives ............ pains.TestPain14SubgraphLifetimes
//	  15 values that come back as others .............. pains.TestPain15TypesSurviveOrAreRefusedByName
//	Extra
//	   1 after a restart the parent is the newest head  coord.TestAfterARestartTheParentIsTheNewestHead; ledger/the parent after a restart is the newest head
//	   2 two writers on one head ...................... ledger/two writers on one head: one wins
//	   3 10,000 checkpoints in one millisecond ........ ledger/checkpoints of one millisecond keep their order
//	   4 what is handed over is copied ................ ledger/what is passed in and handed out is copied
//	   5 from a fork to the root ...................... ledger/walking to the root crosses forks
//	   6 updating a past checkpoint ................... ledger/updating a past checkpoint makes a child
//	   7 approved twice at once ....................... e2e.TestWalk; ledger/racing deciders: one winner
//	   8 a crash between an effect and its record ..... graph.TestKeyOfALostStep, flow.TestKilledFlowRunsNoRecordedStepAgain
//	   9 a failed external node runs again ............ pains.TestExtra09FailedExternalNodeRunsAgain
//	  10 only the decided arm runs .................... TestResumeDoesNotRunTheBypassedArm, graph.TestAskParksAndResumes
//	  11 as a node, and at a node ..................... graph.TestAsNodeAndGoto
//	  12 the same in a fresh process .................. graph.TestReloadInAFreshProcess; reopen/everything is there again
//	  13 a pause keeps the state ...................... pains.TestExtra21LoopDelaySurvivesARestart
//	  14 what a turn made reaches the next ............ pains.TestExtra21LoopDelaySurvivesARestart
//	  15 a stale attempt's write is fenced ............ pains.TestPain08TwoWritersOneWins; slots/a fence keeps older writers out
//	  16 eviction spares heads and questions .......... ledger/the cap evicts the oldest, never a head or a question
//	  17 as many events on every store ................ ledger/one event for each operation
//	  18 the newest question behind a thousand ........ ledger/the newest waiting one is seen behind a thousand
//	  19 verified offline, flips and drops found ...... sign.TestTamperedEntryFails, sign.TestWrongKeyFails, e2e.TestFlippedBytes
//	  20 branches merge once .......................... pains.TestExtra20BranchesMergeOnce
//	  21 retries and pauses survive a crash ........... pains.TestExtra21RetryTimersSurviveARestart, pains.TestExtra21LoopDelaySurvivesARestart
//	  22 a definition that changed .................... pains.TestExtra22ChangedDefinitionIsDetected
//
// The eleventh pain, dead connections, is for stores reached over a network.
//
// It holds tests only.
package pains
