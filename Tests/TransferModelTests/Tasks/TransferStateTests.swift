import Testing
import TransferModel

@Suite struct TransferStateTests {
    /// Every existing step; all other pairs of state and event must be refused.
    private static let steps: [(from: TransferState, event: TransferEvent, to: TransferState)] = [
        (.suspended, .resumed, .queued),
        (.suspended, .scheduled, .scheduled),
        (.suspended, .cancelled, .cancelled),
        (.scheduled, .suspended, .suspended),
        (.queued, .suspended, .suspended),
        (.running, .suspended, .suspended),
        (.waitingForRetry, .suspended, .suspended),
        (.waitingForConnectivity, .suspended, .suspended),
        (.waitingForConnectivity, .promoted, .queued),
        (.waitingForConnectivity, .cancelled, .cancelled),
        (.running, .connectivityLost, .waitingForConnectivity),
        (.running, .askedForCredential, .waitingForAuthentication),
        (.waitingForAuthentication, .answered, .queued),
        (.waitingForAuthentication, .suspended, .suspended),
        (.waitingForAuthentication, .failed, .failed),
        (.waitingForAuthentication, .cancelled, .cancelled),
        (.scheduled, .askedToBegin, .waitingToBegin),
        (.waitingToBegin, .answered, .queued),
        (.waitingToBegin, .scheduled, .scheduled),
        (.waitingToBegin, .suspended, .suspended),
        (.waitingToBegin, .failed, .failed),
        (.waitingToBegin, .cancelled, .cancelled),
        (.scheduled, .promoted, .queued),
        (.scheduled, .cancelled, .cancelled),
        (.queued, .claimed, .running),
        (.queued, .cancelled, .cancelled),
        (.running, .released, .queued),
        (.running, .retryScheduled, .waitingForRetry),
        (.running, .completed, .completed),
        (.running, .failed, .failed),
        (.running, .cancelled, .cancelled),
        (.waitingForRetry, .promoted, .queued),
        (.waitingForRetry, .cancelled, .cancelled),
        (.failed, .retried, .queued),
        (.failed, .scheduled, .scheduled),
        (.cancelled, .retried, .queued),
        (.cancelled, .scheduled, .scheduled),
    ]

    @Test(arguments: TransferState.allCases, TransferEvent.allCases)
    func movesOnlyAsTheTableSays(state: TransferState, event: TransferEvent) {
        let expected = Self.steps.first { $0.from == state && $0.event == event }?.to
        #expect(state.after(event) == expected)
    }

    @Test(arguments: TransferState.allCases)
    func onlyACompletedTaskIsNeverLeft(state: TransferState) {
        let isLeft = TransferEvent.allCases.contains { state.after($0) != nil }
        #expect(isLeft == (state != .completed))
    }

    @Test func everyStateCanBeReachedFromSubmission() {
        // A task is created in one of these three.
        var reached: Set<TransferState> = [.suspended, .scheduled, .queued]
        for _ in TransferState.allCases {
            for state in reached {
                reached.formUnion(TransferEvent.allCases.compactMap { state.after($0) })
            }
        }
        #expect(reached == Set(TransferState.allCases))
    }

    @Test(arguments: TransferState.allCases)
    func hasOneOfTheFourStatesOfURLSession(state: TransferState) {
        let expected =
            switch state {
            case .suspended: "suspended"
            case .completed, .failed, .cancelled: "completed"
            case .scheduled, .waitingToBegin, .queued, .running, .waitingForRetry,
                .waitingForConnectivity, .waitingForAuthentication:
                "running"
            }
        #expect(state.urlSessionState == expected)
    }
}
