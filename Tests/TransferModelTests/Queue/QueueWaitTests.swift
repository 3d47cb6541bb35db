import Testing
import TransferModel

@Suite struct QueueWaitTests {
    private static func wait(
        closure: String? = nil,
        ofHost: Int? = nil,
        runningAtHost: Int = 0,
        ofSession: Int? = nil,
        runningOfSession: Int = 0,
        isDiscretionary: Bool = false,
        hasWorker: Bool = true
    ) -> QueueWait {
        QueueWait(
            host: "h:80",
            closure: closure,
            connectionsOfHost: ofHost,
            runningAtHost: runningAtHost,
            connectionsOfSession: ofSession,
            runningOfSession: runningOfSession,
            isDiscretionary: isDiscretionary,
            hasWorker: hasWorker
        )
    }

    @Test(arguments: [
        (wait(), QueueWait.Cause.slot),
        (wait(runningAtHost: 5), .slot),
        (wait(runningAtHost: 6), .host),
        (wait(ofHost: 10, runningAtHost: 6), .slot),
        (wait(ofHost: 1, runningAtHost: 1), .host),
        (wait(runningAtHost: 2, ofSession: 2, runningOfSession: 2), .session),
        (wait(runningAtHost: 6, ofSession: 2, runningOfSession: 1), .host),
        (wait(isDiscretionary: true), .discretionary),
        (wait(runningAtHost: 6, isDiscretionary: true), .host),
        (wait(closure: "503", runningAtHost: 6), .closedHost),
        (wait(closure: "503", hasWorker: false), .worker),
    ])
    func theCauseThatLastsLongestIsTold(wait: QueueWait, cause: QueueWait.Cause) {
        #expect(wait.cause(connectionsDefault: 6) == cause)
    }
}
