import Glibc
import HTTPTypes
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite struct ProblemRemedyTests {
    private func detail(_ problem: Problem) -> String? {
        ProblemDetails(problem, requestID: "r").detail
    }

    @Test func whatIsUnknownHasADetail() {
        for code in ProblemDetails.Code.allCases where code.status == 404 {
            let problem = code == .unknownClient ? Problem.unknownClient : Problem(code)
            #expect(detail(problem)?.hasSuffix(".") == true, "\(code.rawValue)")
        }
    }

    @Test func whatAProblemSaysItselfComesFirst() {
        #expect(detail(Problem(.unknownSession, "Other words.")) == "Other words.")
        #expect(detail(Problem(.storageFull)) == nil)
    }

    @Test(arguments: Quota.Limit.allCases)
    func aLimitSaysWhatCountsOrHowToGetBelowIt(limit: Quota.Limit) throws {
        let problem = Problem(Quota(limit, maximum: 10_000))
        let said = try #require(detail(problem))
        let number = "The limit `\(limit.rawValue)` is 10000. "
        #expect(said.hasPrefix(number) && said.hasSuffix(".") && said.count > number.count)
    }

    @Test func theLimitOfSessionsSaysHowToEndOne() {
        let problem = Problem(Quota(.sessions, maximum: Quota.sessionsMax))
        #expect(detail(problem)?.contains("DELETE /v1/sessions/{identifier} ends one") == true)
    }

    @Test func aFailureNamesTheLogAndNothingElse() {
        let problem = Problem(any: CancellationError())
        #expect(problem.code == .internalError)
        #expect(detail(problem)?.hasPrefix("The service's log has the cause under") == true)
    }

    /// As with `ulimit -f`.
    @Test func aFileThatMayNotGrowHasTooManyBytes() throws {
        let folder = try TestFolder("problem")
        let container = try Container(directory: folder.path)
        let problem = Problem(StorageError(operation: "pwrite", errno: EFBIG), in: container)
        #expect(problem.code == .bodyTooLarge)
        #expect(problem.closesConnection)
    }

    @Test func aForceQuitAtWorkIsNoFaultOfTheDatabase() {
        let problem = Problem(any: StoreError.forceQuitInProgress)
        #expect(problem.code == .unavailable)
        #expect(problem.headers[.retryAfter] != nil)
        #expect(detail(problem) == "The force-quit of this client is still at work.")
    }

    @Test func theMethodsOfAPathAreNamed() {
        var problem = Problem(.methodNotAllowed)
        problem.headers[.allow] = "GET, HEAD"
        #expect(detail(problem) == "The methods of this path are GET, HEAD.")
    }
}
