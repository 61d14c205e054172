package origins

// Twins of dagnats, by the names of its own tests without the Test in front, and by what its
// users rely on; "here" says where Posthouse differs on purpose, as docs/coming-from-dagnats.md
// does.
//
//	task context
//	  TaskContextCheckpoint .............................. dispatch.TestATaskIsClaimedAndCompleted, worker.TestSlotsThatAreEmpty
//	  TaskContextCheckpointNilKV ......................... worker.TestNoSlot
//	  TaskContextPause (here it keeps the state) ......... worker.TestLoops, dispatch.TestPausesAndIterations
//	  TaskContextPausePanicsOnEmptyName (here an error) .. worker.TestVerbsThatAreRefused
//	  TaskContextPausePanicsOnZeroDuration, OnNegativeDuration (here an error)  worker.TestVerbsThatAreRefused, task.TestVerdictsAreChecked
//	  TaskContextPauseNilCheckpointKV (here a pause needs no slot)  worker.TestPauseWithoutASlot
//	  TaskContextContinue ................................ worker.TestLoops
//	  TaskContextFail .................................... worker.TestVerdicts, dispatch.TestRetrySchedule
//	  TaskContextFailPermanent ........................... worker.TestVerdicts
//	  TaskContextFailRetryAfter, ClampsBounds ............ worker.TestRetryAfter, task.TestVerdictsAreChecked
//	  TaskContextHeartbeat ............................... worker.TestHeartbeat, worker.TestAThawedWorker
//	  TaskContextPutStream ............................... worker.TestChunks
//	  TaskContextSignal .................................. worker.TestSignalsAreSentOnce, worker.TestWaitSignal
//	  TaskContextSignalNilKV (here signals are no option)  worker.TestWaitSignal
//	  TaskContextRetryCount .............................. worker.TestHandlerKnowsItsTaskAndAttempt
//	HTTP bridge
//	  ResolvePause, Checkpoint, SendSignal ............... httptask.TestVerbsOverHTTP
//	  ResolveWaitSignalImmediate, WaitSignalTimeout ...... httptask.TestVerbsOverHTTP
//	  ResolveContinuePublishesEvent ...................... httptask.TestVerbsOverHTTP, dispatch.TestPausesAndIterations
//	  ResolvePauseInvalidDuration ........................ httptask.TestActionsThatDoNotFit
//	agent loop
//	  AgentLoop on one node .............................. worker.TestAConversationRepeatsOnlyTheCurrentCall, agent.TestAKilledWorkerRepeatsOnlyTheCurrentCall
//	  AgentLoop on a cluster ............................. natstask.TestAgentLoopOnACluster
//	  AgentLoop on a supercluster (here refused) ......... natstask.TestSuperclusterIsRefused
//	  Advance_AgentLoopContinueIncrementsIteration ....... TestContinueCountsOnce, dispatch.TestPausesAndIterations
//	  OrchestratorStepContinueWithLoopDelay .............. dispatch.TestTimesSurviveAnEngine, dispatch.TestPausesAndIterations
//	approval step
//	  TokenStoredAndEventPublished (here an operator makes the token)  server.TestApprovalTokenDecidesOnce, server.TestApprovalTokenIsKeptAsAHash, server.TestEventsAndLastEventID
//	  ApproveUnblocksDownstream .......................... TestApprovalStep, server.TestApprovalTokenDecidesOnce
//	  RejectFailsWorkflow (here the program decides) ..... TestApprovalStep
//	  TimeoutFails (here the program decides) ............ TestApprovalStep, gate.TestOnTimeout, runner.TestRecordsExpiry
//	  DoubleApproveFails ................................. server.TestApprovalTokenDecidesOnce, server.TestApprovalTokenRaces, server.TestSecondDecisionIsToldTheFirst
//	  ZeroTimeoutReturnsError (here it waits for ever; negative is refused)  TestApprovalStep, gate.TestBadQuestions
//	signals
//	  SignalWait ......................................... worker.TestWaitSignal, runner.TestSignalWakesItsThread
//	  ServiceSendSignal .................................. ledger/a signal answers what waits
//	  RESTSendSignal, RunSignal_success .................. server.TestSendSignal
//	  RunSignal_missingName, invalidJSON ................. server.TestSendSignal, server.TestBodies, ledger.TestSignalsThatAreRefused
//	  RunSignal_terminalRejected (here the next run finds it)  TestSignalToARunThatIsOver
//	  RunSignal_readOnly ................................. server.TestRoles
//	  RunSignal_csrf ..................................... server.TestForeignPagesAreRefused
//	recovery
//	  RetryExhaustion .................................... dispatch.TestAttemptsRunOut, standalone.TestTaskFails
//	  NonRetryableError .................................. worker.TestVerdicts
//	  retry_backoff_e2e .................................. dispatch.TestRetrySchedule
//	  fail_fast_e2e ...................................... TestFailFastEndsSiblings, graph.TestRemoteNodeFails
//	  step_timeout_e2e ................................... dispatch.TestAttemptsRunOut, worker.TestHeartbeat
//	  RestartedOrchestratorDoesNotReplayHistory .......... TestRestartedOrchestratorDoesNotReplayHistory
//	  DLQReplay_PreservesOriginalBody .................... TestReplayOfAFailedTaskKeepsItsBody, dispatch.TestRetry
//	  OnEvent_StepQueued_DuringReplay_ReconstructsState .. TestRestartedOrchestratorDoesNotReplayHistory, graph.TestRemoteNodeOutlivesItsEngine
//	  dagnatstest.MockTaskContext ........................ workertest.TestTaskEnforcesWhatAnEngineWould, workertest.TestWaits
//	the contract of a handler (D1 to D14)
//	  1 Checkpoint: a late attempt's write is fenced ..... dispatch.TestASilentWorkersTaskGoesToAnother, dispatch.TestFrozenWorkers, dispatch.TestFrozenWorkersOverACarelessStore
//	  1 Checkpoint without a bucket, or behind the end ... worker.TestNoSlot, dispatch.TestATaskIsClaimedAndCompleted
//	  2 LoadCheckpoint: nothing, empty, an error ......... worker.TestSlotsThatAreEmpty, worker.TestNoSlot, dispatch.TestDamagedSlots
//	  3 kept over retries, redeliveries, iterations ...... worker.TestLoops, worker.TestItemsAreSkippedOnRetry, batch.TestAKilledBatchSkipsWhatIsDone
//	  3 kept until retention says otherwise .............. dispatch.TestSlotsOutliveTheirRun, dispatch.TestClaimAfterItsSlotWasDeleted
//	  4 the largest value ................................ dispatch.TestLargestOfEach, httptask.TestActionsThatDoNotFit, natstask.TestAnAnswerThatNoMessageCarries
//	  5 Pause: no state lost, no attempt used up ......... worker.TestLoops, dispatch.TestPausesAndIterations
//	  5 Pause: seen from outside, ended by hand .......... dispatch.TestTasksAreShown, dispatch.TestResumeBeforeItsTime
//	  5 Pause: survives, and ends in time ................ dispatch.TestTimesSurviveAnEngine
//	  6 Continue counts once ............................. TestContinueCountsOnce, dispatch.TestRepeatedVerdict, dispatch.TestDeliveries
//	  7 bounds of a loop; its delay is durable ........... dispatch.TestLoopLimits, dispatch.TestTimesSurviveAnEngine
//	  8 one verdict, enforced; none, two, a panic ........ worker.TestVerdicts, worker.TestVerbsThatAreRefused
//	  8 a verdict whose answer is lost ................... dispatch.TestRepeatedVerdict, dispatch.TestDeliveries
//	  9 identity: run, step, attempt, metadata ........... worker.TestHandlerKnowsItsTaskAndAttempt, standalone.TestMetadata
//	  9 the control plane (here beside the handler) ...... server.TestTasksOverHTTP, server.TestFailedTasksOverHTTP
//	  10 redelivery when a worker is silent .............. dispatch.TestASilentWorkersTaskGoesToAnother, agent.TestAKilledWorkerRepeatsOnlyTheCurrentCall
//	  10 how many at once ................................ dispatch.TestLimitOfATask, worker.TestTypedHandlers
//	  10 tasks of cancelled runs are skipped ............. TestTasksOfACancelledRunAreNotHandedOut, dispatch.TestCancelledTaskIsLost
//	  10 what does not parse (here a dead letter) ........ natstask.TestMessagesThatDoNotFit, natshint.TestMalformedHints, server.TestDeadLettersOverHTTP
//	  11 buckets are optional (here slots alone are) ..... worker.TestNoSlot, worker.TestPauseWithoutASlot
//	  12 role interfaces ................................. worker.TestRoles
//	  13 workers over HTTP, in any language .............. httptask.TestWorkersOverHTTP, httptask.TestVerbsOverHTTP, command.TestVerdicts
//	  14 checkpoints over REST and CLI ................... server.TestTasksOverHTTP, tasks.TestTaskCommands
//	beside the checkpoints
//	  signals are latched ................................ TestLatchedSignalInAHandler, step.TestSignalsAsInDagnats, ledger.TestLatchedSignalAnswersEveryWait
//	  signals are a queue; a wait holds nothing (here only)  worker.TestWaitSignal, ledger.TestSignalsAnswerTheOldestWait
//	  a signal to a run that is not there (here early, if it says so)  ledger.TestEarlySignal
//	  streaming to who follows, lossy .................... worker.TestChunks, server.TestEventsTellWhatIsReported, natstask.TestRelay
//	  what is recorded is replayed by its id ............. server.TestEventsAndLastEventID
//	  loops: iterations, duration, delay ................. dispatch.TestLoopLimits
//	  loops: a step's timeout is of one iteration ........ TestTimeoutIsOfOneIteration
//	  retries: backoff, its bound, attempts .............. dispatch.TestRetrySchedule, step.TestRetryWaitSurvivesARestart
//	  approval gate: token, deadline, once ............... server.TestApprovalTokenDecidesOnce, server.TestApprovalTokenEnds, server.TestUnusableApprovalTokens
//	  approval gate: decision and wake-up are one ........ runner.TestGoesOnAfterADecision, runner.TestSweepsFindChangesWithoutAWatch, refund.TestApprovedAfterARestart
//	missing there
//	  13 a pause keeps the user's state .................. worker.TestLoops, dispatch.TestPausesAndIterations
//	  14 Continue's output reaches the next iteration .... worker.TestLoops, TestContinueCountsOnce
//	  15 a zombie attempt's write is fenced .............. dispatch.TestFrozenWorkers, dispatch.TestASilentWorkersTaskGoesToAnother, hosts.TestThreeHosts
//	  21 loop delay and retry timers survive a crash ..... dispatch.TestTimesSurviveAnEngine
//
// Their tests are in tasks_test.go.
